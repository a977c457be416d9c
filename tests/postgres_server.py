"""A PostgreSQL server of the tests' own: in a temporary folder, on a free port of loopback."""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

USER = "thence"


@dataclass(frozen=True)
class Server:
    """Where a server listens, and the password of its one user."""

    port: int
    password: str

    @property
    def uri(self) -> str:
        return f"postgresql://{USER}:{self.password}@127.0.0.1:{self.port}/postgres"

    def execute(self, *statements: str) -> None:
        from adbc_driver_postgresql import dbapi

        with dbapi.connect(self.uri, autocommit=True) as connection:
            for statement in statements:
                with connection.cursor() as cursor:
                    cursor.execute(statement)


def programs() -> Path | None:
    """The folder of the newest server that is installed here, if one is."""
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda p: int(p.parent.name))
    found = shutil.which("initdb")
    places = [Path(found).parent] if found else places
    return places[-1] if places and (places[-1] / "initdb").exists() else None


def _unprivileged() -> dict[str, Any]:
    """As whom to run a server: nobody's business but an ordinary user's."""
    if os.geteuid() != 0:
        return {}
    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    user = known.get("postgres", known.get("nobody"))
    assert user is not None
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def server() -> Iterator[Server]:
    """A server that runs as long as the context does."""
    found = programs()
    assert found is not None
    who = _unprivileged()
    folder = Path(tempfile.mkdtemp(prefix="thence-postgres-"))
    try:
        password = secrets.token_hex(12)
        (folder / "password").write_text(password)
        if who:
            for path in (folder, folder / "password"):
                os.chown(path, who["user"], who["group"])
        data = folder / "data"

        def run(*command: str) -> None:
            subprocess.run(
                [str(found / command[0]), *command[1:]],
                check=True, cwd=folder, stdout=subprocess.DEVNULL, **who,
            )  # fmt: skip

        run(
            "initdb", f"--pgdata={data}", f"--username={USER}", "--auth=scram-sha-256",
            f"--pwfile={folder / 'password'}", "--encoding=UTF8", "--locale=C", "--no-sync",
        )  # fmt: skip
        port = _free_port()
        options = f"-c listen_addresses=127.0.0.1 -c port={port} -c fsync=off "
        options += "-c unix_socket_directories=''"
        control = ("pg_ctl", f"--pgdata={data}", "--wait", f"--log={folder / 'log'}")
        run(*control, f"--options={options}", "start")
        try:
            yield Server(port, password)
        finally:
            run(*control, "--mode=immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
