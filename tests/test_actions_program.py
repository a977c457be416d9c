"""Programs that react: in a run, in batches, in a session; functions, crashes, and replays."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from receivers import Receiver, receiver

import thence

RULES = """
event order(id string, qty int);
event shipped(id string);
big(id, qty) <- order(id, qty) where qty > 1;
overdue(id) <- o: order(id, _), w: extend(o, 6h), while w: not shipped(id);
"""
CALLS = RULES + "on big(id, qty) where qty < 9: call notify(id, twice = qty * 2);"
Got = list[dict[str, Any]]


def orders(*quantities: int, hour: int = 0) -> dict[str, Any]:
    return {
        "order": [
            {"id": f"o{hour}{n}", "qty": qty, "time": f"2026-01-01T{hour:02}:00:0{n}Z"}
            for n, qty in enumerate(quantities)
        ]
    }


@pytest.fixture
def alerts() -> Iterator[Receiver]:
    with receiver() as made:
        yield made


@pytest.fixture
def quick(tmp_path: Path) -> thence.Delivery:
    return thence.Delivery(dead_letters=tmp_path / "dead.jsonl", first_wait="1 ms")


def dead(tmp_path: Path) -> Got:
    path = tmp_path / "dead.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


# -- functions


def test_a_function_is_given_a_dict_for_each_result(quick: thence.Delivery) -> None:
    program, got = thence.compile(RULES), Got()
    assert program.on("big", got.append) is not None
    found = program.run(orders(1, 3, 2), delivery=quick)
    time = datetime(2026, 1, 1, 0, 0, 1, tzinfo=UTC)
    key = got[0].pop("idempotency_key")
    assert got[0] == {"type": "big", "id": "o01", "qty": 3, "start": time, "end": time}
    assert [each["id"] for each in got] == found["big"].column("id").to_pylist() == ["o01", "o02"]
    assert key != got[1]["idempotency_key"]


def test_call_gives_a_function_what_stands_in_its_brackets(quick: thence.Delivery) -> None:
    got = Got()
    thence.compile(CALLS).run(orders(1, 3, 9), actions={"notify": got.append}, delivery=quick)
    assert [{**each, "idempotency_key": ""} for each in got] == [
        {"id": "o01", "twice": 6, "idempotency_key": ""}
    ]


def test_a_function_can_be_registered_by_a_decorator(quick: thence.Delivery) -> None:
    program, got = thence.compile(RULES), Got()

    @program.on("big")
    def tell(result: dict[str, Any]) -> None:
        got.append(result)

    program.run(orders(5), delivery=quick)
    assert [each["qty"] for each in got] == [5]


def test_a_function_that_fails_is_called_again(quick: thence.Delivery, tmp_path: Path) -> None:
    program, keys = thence.compile(RULES), []

    def fail_once(result: dict[str, Any]) -> None:
        keys.append(result["idempotency_key"])
        if len(keys) == 1:
            raise ValueError("not now")

    program.on("big", fail_once)
    program.run(orders(5), delivery=quick)
    assert len(keys) == 2
    assert len(set(keys)) == 1
    assert dead(tmp_path) == []


@pytest.mark.parametrize(
    "problem", [KeyError("x"), ValueError("half \ud800 a sign"), SystemExit(3), KeyboardInterrupt()]
)
def test_a_function_that_always_fails_leaves_dead_letters_and_the_results(
    quick: thence.Delivery, tmp_path: Path, problem: BaseException
) -> None:
    program = thence.compile(RULES)

    def fail(result: dict[str, Any]) -> None:
        raise problem

    program.on("big", fail, name="failing")
    found = program.run(orders(5), delivery=quick)
    assert found["big"].num_rows == 1
    (left,) = dead(tmp_path)
    assert left["reason"].startswith(type(problem).__name__)
    assert (left["reaction"], left["tries"]) == ("on big: failing", 5)


def test_two_functions_of_one_name_are_told_apart() -> None:
    program = thence.compile(RULES)
    one, other = Got(), Got()
    for each in (one, other):
        program.on("big", each.append)
    program.run(orders(5))
    assert (len(one), len(other)) == (1, 1)
    assert one[0]["idempotency_key"] != other[0]["idempotency_key"]


@pytest.mark.parametrize(
    ("event", "function", "name", "message"),
    [
        ("bigg", print, None, "derives no event 'bigg'. Did you mean 'big'"),
        ("order", print, None, "derives no event 'order'"),
        ("big", 3, None, "a function is needed, not int"),
        ("big", print, "", "a name is text on one line"),
        ("big", print, "taken", "called 'taken' already"),
    ],
)
def test_what_cannot_be_registered(event: str, function: Any, name: str, message: str) -> None:
    program = thence.compile(RULES)
    program.on("big", print, name="taken")
    with pytest.raises(thence.InputError, match=message):
        program.on(event, function, name=name)


@pytest.mark.parametrize("actions", [True, {}, {"notfy": print}])
def test_a_function_that_is_not_given_is_missed_before_anything_runs(actions: Any) -> None:
    program = thence.compile(CALLS)
    for begin in (
        lambda: program.run(orders(5), actions=actions),
        lambda: program.session(actions=actions),
        lambda: program.run_batches(orders(5), actions=actions),
    ):
        with pytest.raises(thence.InputError, match=r"calls 'notify' .* pass actions="):
            begin()


@pytest.mark.parametrize("actions", [3, "notify", {"notify": 3}])
def test_actions_that_are_no_functions_are_refused(actions: Any) -> None:
    with pytest.raises(thence.InputError, match="function"):
        thence.compile(CALLS).run(orders(5), actions=actions)


def test_reactions_can_be_switched_off() -> None:
    program = thence.compile(CALLS)
    program.on("big", lambda result: pytest.fail("it was called"))
    assert program.run(orders(5), actions=False)["big"].num_rows == 1


def test_somebody_can_be_told_what_would_be_done(tmp_path: Path) -> None:
    told: list[tuple[str, dict[str, Any]]] = []
    text = RULES + "on big(id, _): post 'https://a.example/' with (id) using bearer env 'NOT_SET';"
    thence.compile(text).run(orders(5), actions=lambda *each: told.append(each))
    ((reaction, payload),) = told
    assert reaction.startswith("on big(id=id): post 'https://a.example/'")
    assert payload["id"] == "o00"


def test_whoever_is_only_told_takes_nothing_out_of_the_outbox(tmp_path: Path) -> None:
    program = thence.compile(CALLS)
    given = thence.Delivery(outbox=tmp_path / "outbox", first_wait="1 h", patience=0)
    functions = {"notify": lambda values: 1 / 0}
    program.run(orders(5), actions=functions, delivery=given)
    told: list[str] = []
    program.run({"order": []}, actions=lambda text, _: told.append(text), delivery=given)
    assert told == []
    got = Got()
    program.run({"order": []}, actions={"notify": got.append}, delivery=given)
    with program.session(actions={"notify": got.append}, delivery=given) as session:
        assert session.flush(60)
    assert len(got) == 1


@pytest.mark.parametrize("actions", [False, print])
def test_dead_letters_are_not_used_up_by_whoever_delivers_nothing(actions: Any) -> None:
    with pytest.raises(thence.InputError, match="replay: actions are functions"):
        thence.compile(CALLS).replay(actions=actions)


def test_what_emit_leaves_out_is_not_reacted_to(quick: thence.Delivery) -> None:
    program, got = thence.compile(RULES), Got()
    program.on("big", got.append)
    program.run(orders(5), emit="overdue", delivery=quick)
    assert got == []


def test_a_payload_that_cannot_be_computed_is_a_dead_letter_and_others_are_sent(
    quick: thence.Delivery, tmp_path: Path
) -> None:
    got = Got()
    text = RULES + "on big(id, qty): call f(id, n = qty * 1000000000000000000);"
    program = thence.compile(text)
    found = program.run(orders(2, 99, 3, 4), actions={"f": got.append}, delivery=quick)
    assert found["big"].num_rows == 4
    assert [each["id"] for each in got] == ["o00", "o02", "o03"]
    (left,) = dead(tmp_path)
    assert "cannot compute 99 * 1000000000000000000" in left["reason"]
    assert left["payload"]["id"] == "o01"


# -- hosts


def test_batches_are_reacted_to_as_they_are_given_out(quick: thence.Delivery) -> None:
    program, got = thence.compile(RULES), Got()
    program.on("big", got.append)
    given = [name for name, _ in program.run_batches(orders(2, 3), batch_rows=1, delivery=quick)]
    assert given.count("big") == 2
    assert sorted(each["id"] for each in got) == ["o00", "o01"]


def test_a_session_reacts_to_each_result_when_it_is_certain(quick: thence.Delivery) -> None:
    program, got = thence.compile(RULES), Got()
    program.on("overdue", got.append)
    with program.session(delivery=quick) as session:
        session.push(orders(1, 1))
        assert session.flush()
        assert got == []
        session.push({"shipped": [{"id": "o00", "time": "2026-01-01T01:00:00Z"}]})
        session.advance("2026-01-02T00:00:00Z")
        assert session.flush(60)
        assert [each["id"] for each in got] == ["o01"]
        assert session.deliveries == {"delivered": 1, "outstanding": 0, "dead": 0}


def test_a_run_and_a_session_deliver_under_the_same_ids(quick: thence.Delivery) -> None:
    program, got = thence.compile(RULES), Got()
    program.on("big", got.append, name="f")
    program.run(orders(2, 3), delivery=quick)
    with program.session(delivery=quick) as session:
        session.push(orders(2, 3))
    keys = [each["idempotency_key"] for each in got]
    assert keys[:2] == keys[2:]


def test_a_push_waits_for_no_receiver(quick: thence.Delivery, alerts: Receiver) -> None:
    alerts.answer("stall")
    text = f"{RULES} on big(id, _): post '{alerts.url}' with (id);"
    session = thence.compile(text).session(delivery=quick)
    assert session.push(orders(5))["big"].num_rows == 1
    assert alerts.came.wait(60)
    assert session.push(orders(6, hour=1))["big"].num_rows == 1  # the first is still under way
    assert session.deliveries["outstanding"] == 2
    alerts.release.set()
    session.close()
    assert {"id": "o10"} in alerts.payloads


def test_a_session_that_cannot_keep_its_letters_is_as_it_was(tmp_path: Path) -> None:
    program = thence.compile(RULES)
    program.on("big", lambda result: None)
    given = thence.Delivery(capacity=1, dead_letters=tmp_path)  # a folder is no file
    session = program.session(delivery=given)
    with pytest.raises(OSError, match="directory"):
        session.push(orders(2, 3, 4))
    assert session.horizon is None
    session.close()


def test_another_program_takes_over_with_its_own_reactions(quick: thence.Delivery) -> None:
    got: list[str] = []
    functions = {"notify": lambda _: got.append("notify"), "other": lambda _: got.append("other")}
    with thence.compile(CALLS).session(actions=functions, delivery=quick) as session:
        session.push(orders(5))
        session.replace(thence.compile(RULES + "on big(id, _): call other(id);"))
        session.push(orders(6, hour=1))
    assert got == ["notify", "other"]


def test_reactions_may_begin_when_a_program_takes_over(quick: thence.Delivery) -> None:
    got = Got()
    with thence.compile(RULES).session(actions={"notify": got.append}, delivery=quick) as session:
        session.replace(thence.compile(CALLS))
        session.push(orders(5))
    assert len(got) == 1


def test_saved_state_does_not_rest_on_reactions() -> None:
    got = Got()
    with thence.compile(CALLS).session(actions={"notify": got.append}) as session:
        session.push(orders(1, 1))
        saved = session.save()
    again = thence.compile(RULES + "-- told now\non overdue(id): call tell(id);")
    with again.session(state=saved, actions={"tell": got.append}) as session:
        session.advance("2026-01-02T00:00:00Z")
    assert [each["id"] for each in got] == ["o00", "o01"]


# -- what is left


def test_dead_letters_are_delivered_again(
    quick: thence.Delivery, alerts: Receiver, tmp_path: Path
) -> None:
    alerts.answer(400, 400, 200, 400)
    program = thence.compile(f"{RULES} on big(id, _): post '{alerts.url}' with (id);")
    program.run(orders(2, 3), delivery=quick)
    ids = alerts.ids
    assert [each["id"] for each in dead(tmp_path)] == ids
    assert program.replay(delivery=quick) == (1, 1)
    assert [each["id"] for each in dead(tmp_path)] == ids[1:]
    assert program.replay(tmp_path / "dead.jsonl") == (1, 0)
    assert alerts.ids[2:] == [*ids, ids[1]]
    with pytest.raises(thence.InputError, match="there is no file of dead letters"):
        program.replay(delivery=quick)


def test_dead_letters_of_another_reaction_stay_dead(
    quick: thence.Delivery, alerts: Receiver, tmp_path: Path
) -> None:
    alerts.answer(400)
    thence.compile(f"{RULES} on big(id, _): post '{alerts.url}' with (id);").run(
        orders(2), delivery=quick
    )
    program = thence.compile(f"{RULES} on big(id, _): post '{alerts.url}' with (order = id);")
    assert program.replay(delivery=quick) == (0, 1)
    assert [each["reason"] for each in dead(tmp_path)] == ["answered 400"]


KILLED = """
import sys, thence
url, folder = sys.argv[1:]
program = thence.compile(f"event a(x int); b(x) <- a(x); on b(x): post '{url}' with (x);")
given = thence.Delivery(outbox=folder, first_wait="1 ms")
session = program.session(delivery=given)
if len(session.deliveries) and sys.stdin.readline() == "push\\n":
    session.push({"a": [{"x": n, "time": n} for n in range(10)]})
    print("pushed", flush=True)
    sys.stdin.readline()
session.close()
"""


def test_what_was_pushed_is_delivered_although_the_process_is_killed(
    alerts: Receiver, tmp_path: Path
) -> None:
    """The third request is under way when the process is killed, so nobody knows whether it was
    taken: it is repeated, under the same id."""
    alerts.answer(200, 200, "stall")

    def start() -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", KILLED, alerts.url, str(tmp_path / "outbox")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )

    first = start()
    assert first.stdin is not None and first.stdout is not None
    first.stdin.write("push\n")
    first.stdin.flush()
    assert first.stdout.readline() == "pushed\n"
    while len(alerts.got) < 3:
        assert alerts.came.wait(60)
        alerts.came.clear()
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    alerts.release.set()
    second = start()
    second.communicate("go on\n", timeout=120)
    assert second.returncode == 0
    assert sorted({each.payload["x"] for each in alerts.got}) == list(range(10))
    ids = {each.payload["x"]: each.id for each in alerts.got}
    assert all(ids[each.payload["x"]] == each.id for each in alerts.got)
    assert len(alerts.got) > 10


EXITS = """
import thence
program = thence.compile("event a(x int); b(x) <- a(x);")

@program.on("b", name="f")
def f(result):
    if result["x"]:
        raise ValueError("never")
    print("done", flush=True)

given = thence.Delivery(patience=0, first_wait="1 h")
program.session(delivery=given).push({"a": [{"x": n, "time": n} for n in range(2)]})
"""


def test_what_is_outstanding_when_python_exits_is_not_lost(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-c", EXITS],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    left = [json.loads(line) for line in (tmp_path / "dead-letters.jsonl").read_text().splitlines()]
    assert 1 in [each["payload"]["x"] for each in left]


def test_nothing_of_it_is_loaded_by_programs_that_do_not_react() -> None:
    script = (
        "import sys, thence\n"
        "program = thence.compile('event a(x int); b(x) <- a(x);')\n"
        "program.run({'a': [{'x': 1, 'time': 1}]})\n"
        "program.session().push({'a': [{'x': 1, 'time': 1}]})\n"
        "sys.exit('thence.actions' in sys.modules or 'sqlite3' in sys.modules)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    assert (
        subprocess.run([sys.executable, "-c", script], env=environment, check=False).returncode == 0
    )


def test_threads_end_with_the_session(quick: thence.Delivery) -> None:
    program = thence.compile(RULES)
    program.on("big", lambda result: None, name="ending")
    with program.session(delivery=quick) as session:
        session.push(orders(5))
    assert "thence ending" not in [thread.name for thread in threading.enumerate()]
