"""Posting: what a receiver gets, which answers are tried again, and what no message tells."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from receivers import Receiver, receiver

import thence

RULES = """
event order(id string, qty int, due timestamp, price decimal(9, 2), tags list<string>, x float);
overdue(id, qty, due, price, tags, x) <- order(id, qty, due, price, tags, x);
"""
ORDER = {"id": "a", "qty": 3, "time": "2026-01-01T06:00:00Z"}


@pytest.fixture
def alerts() -> Iterator[Receiver]:
    with receiver() as made:
        yield made


def run(
    tmp_path: Path, alerts: Receiver, action: str = "with (id)", orders: Any = (ORDER,), **more: Any
) -> list[dict[str, Any]]:
    """Run a program that posts; the dead letters that it leaves."""
    text = (
        f"{RULES} on overdue(id, qty, t, p, l, x): post '{alerts.url}/alerts?kind=late' {action};"
    )
    given = {"dead_letters": tmp_path / "dead.jsonl", "first_wait": "1 ms", **more}
    rows = [{"due": None, "price": None, "tags": None, "x": None, **each} for each in orders]
    thence.compile(text).run({"order": rows}, delivery=thence.Delivery(**given))
    path = tmp_path / "dead.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def test_a_payload_is_posted_as_json_with_an_id(tmp_path: Path, alerts: Receiver) -> None:
    assert run(tmp_path, alerts, "with (order = id, text = 'order ' || id || ' is late')") == []
    (got,) = alerts.got
    assert got.path == "/alerts?kind=late"
    assert got.payload == {"order": "a", "text": "order a is late"}
    assert got.headers["content-type"] == "application/json"
    assert len(got.id) == 33


def test_without_a_payload_the_whole_result_is_posted(tmp_path: Path, alerts: Receiver) -> None:
    run(tmp_path, alerts, "")
    time = "2026-01-01T06:00:00Z"
    assert alerts.payloads == [
        {
            "type": "overdue",
            "id": "a",
            "qty": 3,
            **dict.fromkeys(["due", "price", "tags", "x"]),
            "start": time,
            "end": time,
        }
    ]


def test_values_in_json(tmp_path: Path, alerts: Receiver) -> None:
    from decimal import Decimal

    order = {
        **ORDER,
        "id": 'q"\n\\ü',
        "due": "2026-01-01T00:00:00.25Z",
        "price": Decimal("1.50"),
        "tags": ["x", None],
        "x": float("nan"),
    }
    run(tmp_path, alerts, "with (id, qty, t, p, l, x, d = 90 s, b = qty > 1, f = 0.5e0)", [order])
    assert alerts.payloads == [
        {
            "id": 'q"\n\\ü',
            "qty": 3,
            "t": "2026-01-01T00:00:00.25Z",
            "p": "1.50",
            "l": ["x", None],
            "x": "NaN",
            "d": 90_000_000,
            "b": True,
            "f": 0.5,
        }
    ]


def test_the_same_result_has_the_same_id_in_every_run(tmp_path: Path, alerts: Receiver) -> None:
    other = {**ORDER, "id": "b"}
    run(tmp_path, alerts, orders=[ORDER, other])
    run(tmp_path, alerts, orders=[other, ORDER])
    first, last = alerts.ids[:2], alerts.ids[2:]
    assert len(set(alerts.ids)) == 2
    assert sorted(first) == sorted(last)


def test_another_reaction_to_the_same_result_has_another_id(
    tmp_path: Path, alerts: Receiver
) -> None:
    run(tmp_path, alerts, "with (id)")
    run(tmp_path, alerts, "with (order = id)")
    assert len(set(alerts.ids)) == 2


@pytest.mark.parametrize("status", [500, 503, 429, 408, 425])
def test_answers_that_may_pass_are_tried_again(
    tmp_path: Path, alerts: Receiver, status: int
) -> None:
    alerts.answer(status, status)
    assert run(tmp_path, alerts) == []
    assert len(alerts.got) == 3
    assert len(set(alerts.ids)) == 1


@pytest.mark.parametrize("status", [400, 401, 404, 422])
def test_answers_that_will_not_change_are_final(
    tmp_path: Path, alerts: Receiver, status: int
) -> None:
    alerts.answer(status)
    (dead,) = run(tmp_path, alerts)
    assert (dead["reason"], dead["tries"], len(alerts.got)) == (f"answered {status}", 1, 1)
    assert dead["id"] == alerts.ids[0]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_not_followed(tmp_path: Path, alerts: Receiver, status: int) -> None:
    with receiver() as elsewhere:
        alerts.answer(status, Location=elsewhere.url + "/?token=s3cret")
        (dead,) = run(tmp_path, alerts)
        assert elsewhere.got == []
    assert dead["reason"] == f"answered {status}: redirects to 127.0.0.1 are not followed"


@pytest.mark.parametrize("how", ["stall", "drip"])
def test_a_receiver_that_takes_too_long_is_left(tmp_path: Path, alerts: Receiver, how: str) -> None:
    alerts.answer(how)
    (dead,) = run(tmp_path, alerts, timeout="200 ms", tries=1)
    assert dead["reason"] == "no answer within 0.2 s"


def test_a_receiver_that_is_not_there_is_tried_again(tmp_path: Path, alerts: Receiver) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    alerts.url = f"http://127.0.0.1:{port}"
    (dead,) = run(tmp_path, alerts, tries=2)
    assert (dead["reason"], dead["tries"]) == ("the connection was refused", 2)


def test_a_host_that_cannot_be_is_given_up(tmp_path: Path, alerts: Receiver) -> None:
    alerts.url = f"http://{'a' * 70}.example"
    (dead,) = run(tmp_path, alerts)
    assert dead["reason"] == "its host has a name that no host can have"


@pytest.mark.parametrize(
    ("using", "header", "value"),
    [
        ("bearer env 'ALERTS'", "authorization", "Bearer s3cret:x"),
        ("basic env 'ALERTS'", "authorization", "Basic czNjcmV0Ong="),
        ("header 'X-Api-Key' env 'ALERTS'", "x-api-key", "s3cret:x"),
    ],
)
def test_secrets_come_from_the_environment(
    tmp_path: Path,
    alerts: Receiver,
    monkeypatch: pytest.MonkeyPatch,
    using: str,
    header: str,
    value: str,
) -> None:
    monkeypatch.setenv("ALERTS", "s3cret:x")
    run(tmp_path, alerts, f"with (id) using {using}")
    assert alerts.got[0].headers[header] == value


def test_no_dead_letter_log_or_explanation_tells_a_secret(
    tmp_path: Path,
    alerts: Receiver,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv("ALERTS", "s3cret")
    alerts.answer(401)
    action = "with (id) using bearer env 'ALERTS'"
    dead = run(tmp_path, alerts, action)
    program = thence.compile(
        f"{RULES} on overdue(id, _, _, _, _, _): post '{alerts.url}' {action};"
    )
    from thence.actions.reactor import reactions_of

    made = reactions_of(program._checked, [], {}, thence.Delivery())
    told = f"{dead} {caplog.text} {program.explain()} {program.text()} {made!r}"
    assert "ALERTS" in told
    assert "s3cret" not in told


@pytest.mark.parametrize("secret", [None, "", "two\nlines", "ünprintable"])
def test_a_secret_that_is_not_there_or_cannot_be_sent_is_said_at_the_start(
    tmp_path: Path, alerts: Receiver, monkeypatch: pytest.MonkeyPatch, secret: str | None
) -> None:
    monkeypatch.delenv("ALERTS", raising=False)
    if secret is not None:
        monkeypatch.setenv("ALERTS", secret)
    with pytest.raises(thence.InputError, match="ALERTS") as caught:
        run(tmp_path, alerts, "with (id) using bearer env 'ALERTS'")
    assert secret is None or not secret or secret not in str(caught.value)
    assert alerts.got == []
