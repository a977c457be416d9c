"""Reactions in the text: from the parser's reductions to syntax, from there to logic, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from thence.lang import syntax as s
from thence.lang.heads import suggested_name
from thence.lang.problem import SyntaxProblem, check_depth
from thence.lang.scope import named_argument
from thence.lang.tokens import Token, end_of, start_of, string_value, token_span, unquoted
from thence.logic.reactions import Action, CallFunction, Credential, Post, Scheme
from thence.model.source import Span

Parts: TypeAlias = list[Any]

_SCHEMES: Mapping[str, Scheme] = {"bearer": "bearer", "basic": "basic", "header": "header"}
_FORMS = "bearer env 'TOKEN', basic env 'LOGIN', or header 'X-Api-Key' env 'KEY'"


class BuildReactions:
    """The methods of the parser's builder that are about reactions."""

    def reaction(self, parts: Parts) -> s.ReactionDecl:
        word, action, semicolon = parts[0], parts[-2], parts[-1]
        names = [part for part in parts[1:3] if isinstance(part, Token) and part.type == "NAME"]
        inside = parts[1 + len(names) : -2]
        name, after, args = names[-1], names[-1], []
        if inside and isinstance(inside[0], Token):  # a bracket opens
            closing = next(
                i for i, part in enumerate(inside) if isinstance(part, Token) and part == ")"
            )
            args, after, inside = inside[1:closing], inside[closing], inside[closing + 1 :]
        depth = 1 + max((arg.depth for arg in args), default=0)
        start, end = start_of(name), end_of(after)
        event = unquoted(name)
        node: s.Node = s.Apply(event, tuple(args), end_of(name), start, end, depth)
        if len(names) == 2:
            label = names[0]
            start = start_of(label)
            node = s.Labelled(unquoted(label), node, end_of(label), start, end, depth + 1)
        for condition in inside:
            end = condition.end
            deepest = 1 + max(node.depth, condition.depth)
            node = s.WhereSuffix(node, condition, start, end, deepest)
        check_depth(node)
        rule = s.RuleDecl(
            f"on {event}",
            action.payload or (),
            (node,),
            start_of(word),
            end_of(word),
            end,
            end_of(semicolon),
        )
        return s.ReactionDecl(rule, action)

    def post(self, parts: Parts) -> s.ActionDecl:
        target = parts[1]
        payload = tuple(part for part in parts if isinstance(part, s.Term))
        credentials = tuple(part for part in parts if isinstance(part, s.CredentialDecl))
        place = start_of(target), end_of(target)
        return s.ActionDecl("post", string_value(target), payload or None, credentials, *place)

    def call(self, parts: Parts) -> s.ActionDecl:
        target = parts[1]
        payload = tuple(part for part in parts if isinstance(part, s.Term))
        given = payload if len(parts) > 2 else None
        return s.ActionDecl("call", unquoted(target), given, (), start_of(target), end_of(target))

    def payload(self, parts: Parts) -> s.Term:
        node = parts[0]
        check_depth(node)
        key, value = named_argument(node)
        name = suggested_name(value) if key is None else key.text
        if name is None:
            raise SyntaxProblem(
                s.span_of(node),
                "a value that is sent needs a name",
                "write name = value, as in with (order = id, hours = 6)",
            )
        return s.Term(value, name, node.start, node.end)

    def credential(self, parts: Parts) -> s.CredentialDecl:
        scheme, source, variable = parts[0], parts[-2], parts[-1]
        header = string_value(parts[1]) if len(parts) == 4 else None
        known = _SCHEMES.get(scheme.lower())
        if known is None or (known == "header") != (header is not None):
            raise SyntaxProblem(token_span(scheme), "this is no way to sign a request", _FORMS)
        if source.lower() != "env":
            raise SyntaxProblem(
                token_span(source), "a secret comes from the environment alone", _FORMS
            )
        place = start_of(scheme), end_of(variable)
        return s.CredentialDecl(known, header, string_value(variable), *place)


def action_of(decl: s.ActionDecl) -> Action:
    """The action that was written."""
    span = Span(decl.target_start, decl.target_end)
    if decl.verb == "call":
        return CallFunction(decl.target, span)
    credentials = (
        Credential(
            _SCHEMES[each.scheme],
            each.variable,
            each.header or "Authorization",
            Span(each.start, each.end),
        )
        for each in decl.credentials
    )
    return Post(decl.target, tuple(credentials), span)
