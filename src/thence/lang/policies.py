"""The words behind ``using``, as a policy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from thence.lang.syntax import PolicyWord, span_of
from thence.logic.check.problems import Problems
from thence.logic.policy import CONTEXTS, UNRESTRICTED, Policy
from thence.model.source import Span

_CHOICES = ("all", "first", "last", "cumulative")
_SHAPES = ("greedy", "strict")
_CONSUMPTIONS = ("shared", "exclusive")
_WORDS = (
    "a policy is one of unrestricted, recent, chronicle, continuous and cumulative, or is made of "
    "first, last or all (or first(label), last(label), all(label), cumulative(label)) and shared "
    "or exclusive; greedy and strict are about repetitions and sequences"
)


def policy_of(words: Sequence[PolicyWord], report: Problems) -> Policy:
    """The policy that some words say together; what is wrong with them goes into the report."""
    if not words:
        return UNRESTRICTED
    policy = Policy(span=Span(words[0].start, words[-1].end))
    said: dict[str, str] = {}
    for word in words:
        aspects, policy = _with(policy, word, report)
        for aspect in aspects:
            if aspect in said and said[aspect] != word.word:
                report.error(
                    span_of(word),
                    f"'{word.word}' contradicts '{said[aspect]}'",
                    "say once how to choose, and once what is used up",
                )
            said[aspect] = word.word
    return policy


def _shaped(policy: Policy, name: str) -> Policy:
    return replace(policy, greedy=True) if name == "greedy" else replace(policy, strict=True)


def _with(policy: Policy, word: PolicyWord, report: Problems) -> tuple[tuple[str, ...], Policy]:
    """A policy with one more word, and the aspects that the word settles."""
    name = word.word
    if word.labels:
        if name not in _CHOICES:
            report.error(
                span_of(word),
                f"'{name}' takes no labels: it is about the whole match",
                "write first(label), last(label), all(label) or cumulative(label)",
            )
            return (), policy
        chosen = tuple((label, name) for label in word.labels)
        labels = tuple(sorted({*policy.labels, *chosen}))
        return tuple(f"label {label}" for label in word.labels), replace(policy, labels=labels)  # type: ignore[arg-type]
    if name in _SHAPES:
        return (name,), _shaped(policy, name)
    if name in CONTEXTS:
        context = CONTEXTS[name]
        found = replace(policy, choice=context.choice, consumption=context.consumption)
        return ("choice", "consumption"), found
    if name in _CHOICES:
        return ("choice",), replace(policy, choice=name)  # type: ignore[arg-type]
    if name in _CONSUMPTIONS:
        return ("consumption",), replace(policy, consumption=name)  # type: ignore[arg-type]
    report.error(span_of(word), f"there is no policy '{name}'", _WORDS)
    return (), policy
