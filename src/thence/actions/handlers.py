"""The receivers of letters: addresses that are posted to, and functions of Python."""

from __future__ import annotations

import base64
import http.client
import json
import os
import re
import socket
import ssl
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import SplitResult, urlsplit

import pyarrow as pa

from thence.actions.letters import Failure, Handler, Letter
from thence.io.python_values import to_value
from thence.logic.check.reactions import KEY
from thence.logic.reactions import Credential, Post
from thence.model.errors import InputError
from thence.model.types import Type

LONGEST_ANSWER = 1 << 16
"""Bytes of an answer that are read; nobody looks at them."""

_PASSING = frozenset({408, 425, 429})
"""Answers by which a receiver asks to be tried again, beside those from 500 on."""


@dataclass(frozen=True, slots=True)
class Function(Handler):
    """Calls a function with a payload as a dict of Python values, and the id of the delivery."""

    function: Callable[[dict[str, Any]], object]
    types: Mapping[str, Type]

    def deliver(self, letter: Letter) -> None:
        sent = json.loads(letter.payload)
        try:
            values = {name: _value(sent[name], kind) for name, kind in self.types.items()}
        except (KeyError, ValueError):
            raise Failure("it is not what the function takes now", final=True) from None
        values[KEY] = letter.id
        try:
            self.function(values)
        except BaseException as problem:  # whatever it is, it must not end the thread
            raise Failure(f"{type(problem).__name__}: {problem}") from problem


def _value(value: Any, kind: Type) -> Any:
    """A value of JSON as Python has it.

    >>> from thence.model.types import DECIMAL, TIMESTAMP
    >>> _value("2026-01-01T06:00:00Z", TIMESTAMP).hour, str(_value("1.5", DECIMAL))
    (6, '1.500000')
    """
    if value is None:
        return None
    return pa.array([to_value(value, kind, text=True)], kind.arrow)[0].as_py()


@dataclass(frozen=True, slots=True)
class Address(Handler):
    """Posts payloads as JSON. The id of a delivery is the header ``Idempotency-Key``."""

    url: SplitResult
    headers: Mapping[str, str] = field(repr=False)
    timeout: float

    def deliver(self, letter: Letter) -> None:
        connection = _connection(self.url, self.timeout)
        # A receiver that sends a byte now and then never lets a socket time out.
        late = threading.Event()
        watch = threading.Timer(self.timeout, _cut, [connection, late])
        watch.daemon = True
        watch.start()
        try:
            answer = self._answer(connection, letter)
            if late.is_set():  # an answer that was cut off may look like a whole one
                raise TimeoutError
        except (OSError, http.client.HTTPException) as problem:
            raise Failure(_reason(problem, self.timeout, late.is_set())) from None
        except UnicodeError:
            raise Failure("its host has a name that no host can have", final=True) from None
        finally:
            watch.cancel()
            connection.close()
        _judge(answer)

    def _answer(
        self, connection: http.client.HTTPConnection, letter: Letter
    ) -> http.client.HTTPResponse:
        target = self.url.path or "/"
        if self.url.query:
            target += f"?{self.url.query}"
        headers = {
            "Content-Type": "application/json",
            "Idempotency-Key": letter.id,
            "User-Agent": "thence",
            **self.headers,
        }
        connection.request("POST", target, letter.payload.encode(), headers)
        answer = connection.getresponse()
        answer.read(LONGEST_ANSWER)
        return answer


def _connection(url: SplitResult, timeout: float) -> http.client.HTTPConnection:
    assert url.hostname is not None
    if url.scheme.lower() == "https":
        return http.client.HTTPSConnection(
            url.hostname, url.port, timeout=timeout, context=ssl.create_default_context()
        )
    return http.client.HTTPConnection(url.hostname, url.port, timeout=timeout)


def _cut(connection: http.client.HTTPConnection, late: threading.Event) -> None:
    """End a connection that another thread waits for, which it is told."""
    late.set()
    if connection.sock is not None:
        try:
            connection.sock.shutdown(socket.SHUT_RDWR)
        except OSError:  # it is closed already
            return


def _reason(problem: Exception, timeout: float, late: bool) -> str:
    if late or isinstance(problem, TimeoutError):
        return f"no answer within {timeout:g} s"
    if isinstance(problem, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {problem.verify_message}"
    if isinstance(problem, socket.gaierror):
        return "there is no such host"
    if isinstance(problem, ConnectionRefusedError):
        return "the connection was refused"
    return f"the connection failed ({type(problem).__name__})"


def _judge(answer: http.client.HTTPResponse) -> None:
    """Raise Failure unless an answer says that all is well. What it says beside that is not
    repeated: it may hold what the request held."""
    status = answer.status
    if 200 <= status < 300:
        return
    if 300 <= status < 400:
        host = urlsplit(answer.getheader("Location") or "").hostname
        where = f" to {host}" if host and host.isascii() and host.isprintable() else ""
        raise Failure(f"answered {status}: redirects{where} are not followed", final=True)
    passing = status >= 500 or status in _PASSING
    after = answer.getheader("Retry-After") or ""
    pause = float(after) if re.fullmatch(r"[0-9]{1,6}", after) else 0.0
    raise Failure(f"answered {status}", final=not passing, after=pause)


def address(post: Post, timeout: float) -> Address:
    """What posts for a reaction, with its secrets. Raises InputError where one is not there."""
    url = urlsplit(post.url)
    headers = dict(_header(each) for each in post.credentials)
    return Address(f"{url.scheme}://{url.netloc}", url, headers, timeout)


def _header(credential: Credential) -> tuple[str, str]:
    secret = os.environ.get(credential.variable, "")
    if not secret:
        raise InputError(
            f"the environment has no {credential.variable}, which a reaction of the program needs "
            "to post: set it, or switch reactions off with actions=False (--actions off)"
        )
    if not secret.isascii() or not secret.isprintable():
        raise InputError(
            f"what the environment has as {credential.variable} cannot be sent in a header: it "
            "holds a line break, or another character that headers cannot have"
        )
    if credential.scheme == "bearer":
        return credential.header, f"Bearer {secret}"
    if credential.scheme == "basic":
        return credential.header, f"Basic {base64.b64encode(secret.encode()).decode()}"
    return credential.header, secret


def function(
    name: str, functions: Mapping[str, Callable[[dict[str, Any]], object]], text: str
) -> Callable[[dict[str, Any]], object]:
    """The function that ``call name`` calls, if there is one under that name."""
    found = functions.get(name)
    if found is None:
        known = ", ".join(f"'{each}'" for each in functions) or "none"
        raise InputError(
            f"the program calls '{name}' ({text}), and no function is given under that name: "
            f"pass actions={{'{name}': f}}, or actions=False for no reactions at all. Given: "
            f"{known}."
        )
    if not callable(found):
        raise InputError(f"actions: '{name}' must be a function, not {type(found).__name__}")
    return found
