"""The tables of the grammar: they are those that lark makes, and are read as lark reads them."""

from __future__ import annotations

import random
from functools import lru_cache
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from case_files import load_cases
from lark import Lark
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken
from test_lang_syntax_errors import PIECES

from thence.lang.build import Build
from thence.lang.lalr import Parser, Unexpected, read_tables

TOOL = Path(__file__).resolve().parents[1] / "tools" / "grammar"


@lru_cache(maxsize=1)
def _tool() -> ModuleType:
    loader = SourceFileLoader("grammar_tool", str(TOOL))
    spec = spec_from_loader(loader.name, loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


@lru_cache(maxsize=1)
def _lark() -> Lark:
    lark: Lark = _tool().lark()
    return lark


class _Nothing:
    """Makes nothing of anything."""

    def __getattr__(self, name: str) -> Any:
        return len


@lru_cache(maxsize=1)
def _parser() -> Parser:
    return Parser(read_tables(), _Nothing())


def _by_lark(text: str) -> object:
    """Where a text stops being of the language, at what, and what could have stood there."""
    try:
        _lark().parse(text)
    except UnexpectedCharacters as problem:
        return problem.pos_in_stream, None
    except UnexpectedInput as problem:
        assert isinstance(problem, UnexpectedToken)
        token = problem.token
        at = len(text) if token.type == "$END" else token.start_pos
        return at, token.type, str(token), frozenset(problem.accepts)
    return None


def _here(text: str) -> object:
    try:
        _parser().parse(text)
    except Unexpected as problem:
        if problem.token is None:
            return problem.at, None
        at = len(text) if problem.token.type == "$END" else problem.at
        return at, problem.token.type, str(problem.token), problem.accepted
    return None


def test_the_tables_are_those_of_the_grammar() -> None:
    assert _tool().TABLES.read_text(encoding="utf-8") == _tool().text(), "run tools/grammar"


def test_every_piece_of_the_grammar_is_made_by_a_method() -> None:
    for _, parts, method, alone in read_tables()["rules"]:
        assert method is None or hasattr(Build, method) or (alone and parts.strip("-") == "1")


def test_programs_are_of_the_language() -> None:
    texts = {case.program for case in load_cases()}
    assert len(texts) > 100
    for text in texts:
        assert _here(text) == _by_lark(text)


@pytest.mark.parametrize("seed", range(5))
def test_texts_are_refused_where_lark_refuses_them(seed: int) -> None:
    chance = random.Random(seed)
    whole = [case.program for case in load_cases()]
    for _ in range(100):
        pieces = chance.choice(whole).split(" ")
        for _ in range(chance.randint(1, 3)):
            pieces[chance.randrange(len(pieces))] = chance.choice(PIECES.split(" "))
        text = " ".join(pieces)
        assert _here(text) == _by_lark(text), text
