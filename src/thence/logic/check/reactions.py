"""Refuses reactions that cannot be carried out: an event that nothing derives, a payload without a
type, an address that must not be posted to."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from urllib.parse import parse_qsl, urlsplit

from thence.logic.check.problems import Problems
from thence.logic.check.rules import check_rule
from thence.logic.check.scopes import view_of
from thence.logic.check.typing import Columns, RuleTypes, Unknown
from thence.logic.expr import Aggregate, Expr, Var
from thence.logic.functions import TypeProblem
from thence.logic.ops import HeadTerm
from thence.logic.reactions import Credential, Post, Reaction
from thence.model.schema import EventSchema
from thence.model.source import Span
from thence.model.types import Type

KEY = "idempotency_key"
"""What the id of a delivery is called in a payload that is given to a function."""

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_OWN_HEADERS = frozenset(
    {
        "host", "content-length", "content-type", "idempotency-key", "transfer-encoding",
        "connection", "expect", "user-agent",
    }
)  # fmt: skip
_SECRET = re.compile(r"(?i)token|secret|passw|pwd|api[-_]?key|signature|^sig$|^auth$|^key$")


def check_reactions(
    reactions: Sequence[Reaction],
    declared: Mapping[str, EventSchema],
    columns: Columns,
    problems: Problems,
) -> None:
    """Note everything that is wrong with the reactions of a program."""
    seen: set[Reaction] = set()
    for reaction in reactions:
        if reaction in seen:
            problems.error(reaction.span, "this reaction is written twice", "leave one of them out")
        seen.add(reaction)
        _check_event(reaction, declared, problems)
        _check_payload(reaction, columns, problems)
        if isinstance(reaction.action, Post):
            _check_post(reaction.action, problems)


def _check_event(
    reaction: Reaction, declared: Mapping[str, EventSchema], problems: Problems
) -> None:
    schema = declared.get(reaction.event)
    if schema is not None:
        what = "a table" if schema.table else "an input"
        problems.error(
            reaction.atom.span,
            f"'{schema.name}' is {what}, and reactions are to what rules derive",
            f"write a rule, seen_{schema.name}(…) <- {schema.name}(…); and react to that",
        )


def _check_payload(reaction: Reaction, columns: Columns, problems: Problems) -> None:
    rule = reaction.rule
    if reaction.whole:
        # All attributes are sent, so whatever is bound is also read.
        bound = [value for _, value in reaction.atom.args if isinstance(value, Var)]
        terms = [HeadTerm(str(place), each, each.span) for place, each in enumerate(bound)]
        rule = replace(rule, terms=tuple(replace(term, named=True) for term in terms))
    names: set[str] = set()
    for term in rule.terms:
        if term.name in names or term.name == KEY:
            why = "it is the id of a delivery" if term.name == KEY else "another value has it"
            problems.error(term.span, f"'{term.name}' cannot be the name of this value: {why}")
            return
        names.add(term.name)
        if isinstance(term.value, Aggregate):
            problems.error(
                term.span,
                "a reaction is to one result, so there is nothing to aggregate",
                "aggregate in the rule that derives the event",
            )
            return
    view = view_of(rule)
    known = {**columns, rule.event: {term.name: None for term in rule.terms}}
    check_rule(view, known, {rule.event: rule}, problems)
    types = RuleTypes(view, known)
    for term in rule.terms:
        kind = _type(term.value, types)
        if kind is not None and kind.kind == "null":
            problems.error(term.span, f"'{term.name}' would always be null", "leave it out")


def _type(value: Expr | Aggregate, types: RuleTypes) -> Type | None:
    try:
        return types.of_term(value)
    except (TypeProblem, Unknown):  # which the rule's own checks have said
        return None


# -- requests


def _check_post(post: Post, problems: Problems) -> None:
    said = address_problem(post.url)
    if said is not None:
        problems.error(post.span, *said)
        return
    parts = urlsplit(post.url)
    for name, _ in parse_qsl(parts.query, keep_blank_values=True):
        if _SECRET.search(name):
            problems.warn(
                post.span,
                f"'{name}' in this address looks like a secret, which everybody can read here",
                "keep it in the environment: using header 'X-Api-Key' env 'KEY'",
            )
    headers: set[str] = set()
    for credential in post.credentials:
        _check_credential(credential, problems)
        if credential.header.lower() in headers:
            problems.error(credential.span, f"the header {credential.header} is given twice")
        headers.add(credential.header.lower())
        if parts.scheme == "http" and not _is_loopback(parts.hostname or ""):
            problems.error(
                credential.span,
                "a secret is not sent over http, where others can read it",
                "post to an address that begins with https://",
            )


def address_problem(url: str) -> tuple[str, str] | None:
    """What is wrong with an address to post to, and what to write instead.

    >>> address_problem("https://alerts.example/orders?kind=late")
    >>> address_problem("file:///etc/passwd")[0]
    'only http and https addresses can be posted to'
    >>> address_problem("https://me:secret@alerts.example/")[0]
    'an address holds no user and no password'
    """
    example = "write an address such as 'https://alerts.example/orders'"
    if not url.isascii() or any(sign.isspace() or not sign.isprintable() for sign in url):
        return "this is no address: it holds a space or a character that addresses cannot have", (
            "write such characters as %20 and so on"
        )
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "this is no address", example
    if parts.scheme.lower() not in ("http", "https"):
        return "only http and https addresses can be posted to", example
    if "@" in parts.netloc:
        return (
            "an address holds no user and no password",
            "keep them in the environment, as user:password: using basic env 'LOGIN'",
        )
    if not parts.hostname or port == 0:
        return "this address names no host", example
    if parts.fragment:
        return "what stands behind # is never sent", "leave it out"
    return None


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _check_credential(credential: Credential, problems: Problems) -> None:
    span: Span = credential.span
    if not _VARIABLE.fullmatch(credential.variable):
        problems.error(
            span,
            "this is not the name of a variable of the environment",
            "write its name, not the secret itself: env 'ALERTS_TOKEN'",
        )
    header = credential.header
    if not _HEADER.fullmatch(header) or header.lower() in _OWN_HEADERS:
        problems.error(span, f"the header '{header}' cannot be given", "choose another one")
