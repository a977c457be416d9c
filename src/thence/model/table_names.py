"""Names of tables in a database, as SQL writes them."""

from __future__ import annotations

import re

_PART = r'(?:[A-Za-z_][A-Za-z0-9_$]*|"(?:[^"\0]|"")+")'
_NAME = re.compile(rf"{_PART}(?:\.{_PART}){{0,2}}")


def parts_of(name: str) -> tuple[str, ...]:
    """The identifiers that a name is made of; as in PostgreSQL, those that are not in double quotes
    are in small letters. Raises ValueError, which does not repeat what may hold a password.

    >>> parts_of('public.Stores'), parts_of('"My stores"')
    (('public', 'stores'), ('My stores',))
    """
    if not _NAME.fullmatch(name):
        raise ValueError(
            "a table of PostgreSQL is named like 'stores' or 'public.stores', with double quotes "
            "around what is no plain word; where the server is and who asks, it is told by the "
            "environment alone (THENCE_POSTGRES, or PGHOST, PGUSER …)"
        )
    return tuple(
        part[1:-1].replace('""', '"') if part[0] == '"' else part.lower()
        for part in re.findall(_PART, name)
    )


def in_quotes(identifier: str) -> str:
    """An identifier of SQL that stands for itself, whatever is in it.

    >>> in_quotes('x"; drop table y')
    '"x""; drop table y"'
    """
    return '"' + identifier.replace('"', '""') + '"'
