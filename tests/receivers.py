"""A receiver of posts, on this machine, that answers as a test says."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple


class Got(NamedTuple):
    """A request: its path, its headers in lower case, and its JSON."""

    path: str
    headers: dict[str, str]
    payload: Any

    @property
    def id(self) -> str:
        return self.headers["idempotency-key"]


class Receiver:
    """What came in, and what is answered: one status after another, then 200. ``release`` lets
    requests go on that were told to ``stall``."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.got: list[Got] = []
        self.answers: list[tuple[int | str, dict[str, str]]] = []
        self.came, self.release = threading.Event(), threading.Event()

    def answer(self, *statuses: int | str, **headers: str) -> None:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        self.answers += [(status, sent) for status in statuses]

    @property
    def payloads(self) -> list[Any]:
        return [each.payload for each in self.got]

    @property
    def ids(self) -> list[str]:
        return [each.id for each in self.got]


@contextmanager
def receiver(answers: Sequence[int | str] = ()) -> Iterator[Receiver]:
    """A receiver for the time of a test."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            known.got.append(Got(self.path, headers, json.loads(body)))
            status, more = known.answers.pop(0) if known.answers else (200, {})
            known.came.set()
            if status == "stall":
                known.release.wait(60)
                return
            if status == "drip":  # a byte now and then, for ever
                self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
                while not known.release.wait(0.01):
                    try:
                        self.wfile.write(b"x")
                        self.wfile.flush()
                    except OSError:
                        return
                return
            assert isinstance(status, int)
            self.send_response(status)
            for name, value in {"Content-Length": "0", **more}.items():
                self.send_header(name, value)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    known = Receiver(server.server_port)
    known.answer(*answers)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield known
    finally:
        known.release.set()
        server.shutdown()
        server.server_close()
        thread.join()
