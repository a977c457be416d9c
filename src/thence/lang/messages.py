"""Says what is wrong with text that the grammar does not accept, in words a user understands."""

from __future__ import annotations

import re
from typing import NamedTuple

from thence.lang.lalr import END, Parser, Unexpected
from thence.lang.problem import SyntaxProblem
from thence.lang.sql.build import is_later, not_yet
from thence.lang.tokens import Token, token_span
from thence.lang.words import INFIX, RESERVED
from thence.model.source import Source, Span
from thence.model.suggestions import nearest
from thence.model.time import UNITS_IN_WORDS

_OPENING = {"LPAR": ")", "LBRACE": "}", "LSQB": "]"}
_CLOSING = {"RPAR": "(", "RBRACE": "{", "RSQB": "["}
# Words of event SQL are names wherever no query stands.
_NAMES = {"NAME", "SELECT", "FROM", "WITH", "LATER", "_BY", "_PARTITION", "TABLE", "OF", "ROWS"}
_NAMES |= {"ON_EVENT"}
_NAMES |= {"_GROUP", "_HAVING", "RANGE", "SLIDE", "NOW", "JOIN", "ON"}
_ENDINGS = {"within", "where", "using"}  # words that may follow a pattern
_BEGINNINGS = _NAMES | {"WORD", "_EVENT", "CREATE"}
_OTHER_LANGUAGES = {
    "primitive": "the declaration `primitive`",
    "complex": "the declaration `complex`",
}
# How others write an operator, and how it is written here.
_ELSEWHERE = {
    "then": "seq",
    "next": "seq",
    "followed": "seq",
    "followedby": "seq",
    "->": "seq",
    ">>": "seq",
}
_CHARACTERS = {
    "&": "write `and`",
    "|": "write `or` for one of two, `||` to join strings",
    "!": "write `not`, or `!=` for different",
    "#": "a comment starts with `--`",
    "∧": "write `and`",
    "∨": "write `or`",
    "¬": "write `not`",
    "“": "write strings in plain quotes: 'text'",
    "”": "write strings in plain quotes: 'text'",
    "‘": "write strings in plain quotes: 'text'",
    "’": "write strings in plain quotes: 'text'",
}


class _Place(NamedTuple):
    """Where reading stopped: what was found there, what could have been, what came before."""

    source: Source
    span: Span
    kind: str
    text: str
    expected: frozenset[str]
    before: tuple[Token, ...]

    @property
    def previous(self) -> Token | None:
        return self.before[-1] if self.before else None

    @property
    def unclosed(self) -> Token | None:
        """The innermost bracket that this statement has opened and not closed."""
        stack: list[Token] = []
        for token in self.before:
            if token.type in _OPENING:
                stack.append(token)
            elif token.type in _CLOSING and stack:
                stack.pop()
        return stack[-1] if stack else None


def explain(unexpected: Unexpected, source: Source, parser: Parser) -> SyntaxProblem:
    """The problem behind an error of the parser: where, what, and what to write instead."""
    token = unexpected.token
    if token is None:
        return _character(unexpected.at, source)
    if token.type == "BANG":
        return SyntaxProblem(token_span(token), "unexpected character '!'", _CHARACTERS["!"])
    if token.type == END:
        at = len(source.text.rstrip())
        span, text = Span(max(0, at - 1), at), "the end of the text"
    else:
        at = token.start_pos
        span, text = token_span(token), str(token)
    before = _statement(source.text[:at], parser)
    place = _Place(source, span, token.type, text, unexpected.accepted, before)
    for look in _LOOKS:
        problem = look(place)
        if problem is not None:
            return problem
    found = text if token.type == END else f"'{text}'"
    return SyntaxProblem(span, f"unexpected {found}", _expectation(place))


def _character(at: int, source: Source) -> SyntaxProblem:
    char = source.text[at]
    line, _ = source.position(at)
    rest = source.line(line)[source.position(at)[1] - 1 :]
    if char in "'\"":
        return SyntaxProblem(
            Span(at, at + len(rest)),
            "this string is not closed",
            f"end it with {char} on the same line; a quote inside is written twice",
        )
    if char == "`":
        return SyntaxProblem(
            Span(at, at + len(rest)), "this name is not closed", "end it with ` on the same line"
        )
    hint = _CHARACTERS.get(char)
    if hint is None and char.isalpha():
        hint = "names are made of the letters a to z, digits and _; write others in backquotes"
    return SyntaxProblem(Span(at, at + 1), f"unexpected character '{char}'", hint)


def _statement(text: str, parser: Parser) -> tuple[Token, ...]:
    """The tokens of the last, unfinished statement of a text. Read without its context, a piece can
    be unreadable; what came before it will do."""
    tokens: list[Token] = []
    for token in parser.tokens(text):
        if token.type == "SEMI":
            tokens.clear()
        else:
            tokens.append(token)
    return tuple(tokens)


# -- what to look for, most telling first


def _other_language(place: _Place) -> SyntaxProblem | None:
    if len(place.before) != 1:
        return None
    word = place.before[0]
    what = _OTHER_LANGUAGES.get(word.lower())
    if what is None or place.kind in ("ARROW", "LPAR"):
        return None
    return SyntaxProblem(token_span(word).to(place.span), f"{what} is not part of this version")


def _other_sql(place: _Place) -> SyntaxProblem | None:
    """Clauses that SQL has and event SQL has not, or not there."""
    if not place.before or place.before[0].type != "CREATE":
        return None
    previous = place.before[-1]
    if previous.type == "LATER" or is_later(previous, place.text):
        return not_yet(previous)
    if previous.type == "FROM" and place.before[-2].type == "SELECT":
        return SyntaxProblem(token_span(previous), "nothing is selected", "write SELECT * FROM …")
    if previous.type == "SELECT" and "INFIX" in place.expected:  # it was read as a name
        return SyntaxProblem(
            token_span(previous),
            "a query cannot stand here",
            "a query stands in FROM or WITH: FROM (SELECT …) a",
        )
    if place.kind == "LSQB" and previous.type in ("NAME", "RPAR"):
        return SyntaxProblem(
            place.span,
            "a window stands behind its stream, before the alias",
            "write FROM stream [RANGE BY '5 min' SLIDE BY '1 min'] alias",
        )
    early = {
        "_EVENT": "EVENT", "_PARTITION": "PARTITION BY", "_WHERE": "WHERE", "_WITHIN": "WITHIN",
        "_USING": "USING", "_GROUP": "GROUP BY",
    }.get(place.kind)  # fmt: skip
    late = {
        "_WHERE": "WHERE and WITHIN", "_WITHIN": "WHERE and WITHIN", "_GROUP": "GROUP BY",
        "_HAVING": "HAVING",
    }  # fmt: skip
    before = [late[token.type] for token in place.before if token.type in late]
    if early is not None and before:
        return SyntaxProblem(
            place.span,
            f"{early} comes before {before[-1]}",
            "write SELECT … FROM … PARTITION BY … EVENT … WHERE … GROUP BY … HAVING …",
        )
    return None


def _bare_query(place: _Place) -> SyntaxProblem | None:
    """A query that has no name: it is read as the head of a rule called ``select`` or ``with``."""
    if not place.before or place.before[0].lower() not in ("select", "with"):
        return None
    follows = len(place.before) == 1 and place.kind not in ("ARROW", "LPAR")
    if not follows and place.text.lower() != "from":
        return None
    return SyntaxProblem(
        token_span(place.before[0]),
        "a query needs a name for what it finds",
        f"write CREATE EVENT name AS {place.before[0].upper()} …",
    )


def _quoted_name(place: _Place) -> SyntaxProblem | None:
    """A string where a name is needed: SQL has names in double quotes."""
    previous = place.previous
    if place.kind == "STRING" and place.expected & {"NAME", "WORD"}:
        if "STRING" in place.expected:
            return None
        span, text = place.span, place.text
    elif place.kind == "DOT" and previous is not None and previous.type == "STRING":
        span, text = token_span(previous), str(previous)
    else:
        return None
    name = text[1:-1].replace(text[0] * 2, text[0]).replace("`", "``")
    return SyntaxProblem(
        span,
        f"a name is needed here, and {text} is a text",
        f"write a name in backquotes: `{name}`" if name else "expected a name",
    )


def _create(place: _Place) -> SyntaxProblem | None:
    """``CREATE`` that no ``EVENT`` follows is read as a name."""
    if len(place.before) != 1 or place.before[0].lower() != "create":
        return None
    if place.kind in ("ARROW", "LPAR"):
        return None
    return SyntaxProblem(
        token_span(place.before[0]).to(place.span),
        f"CREATE {place.text.upper()} is not part of the language",
        "write CREATE EVENT name AS SELECT …",
    )


def _repetition(place: _Place) -> SyntaxProblem | None:
    """Braces behind a pattern that do not say how often."""
    opened = next((t for t in reversed(place.before) if t.type == "LBRACE"), None)
    if opened is None or any(
        t.type == "RBRACE" for t in place.before[place.before.index(opened) :]
    ):
        return None
    at = place.before.index(opened)
    behind = at and place.before[at - 1].type in ("NAME", "RPAR", "WORD", "RSQB")
    if not behind:
        return None
    return SyntaxProblem(
        token_span(opened).to(place.span),
        "a repetition says how often, in whole numbers",
        "write {3} for three times, {2,5} for two to five, {2,} for two or more",
    )


def _unit(place: _Place) -> SyntaxProblem | None:
    previous = place.previous
    if previous is None or previous.type not in ("INT", "FLOAT") or place.kind not in _NAMES:
        return None
    return SyntaxProblem(
        place.span, f"'{place.text}' is not a unit of time", f"units are {UNITS_IN_WORDS}"
    )


def _reaction(place: _Place) -> SyntaxProblem | None:
    """What is done on an event is one of a few things."""
    if not place.before or place.before[0].type != "ON_EVENT":
        return None
    kinds = [token.type for token in place.before]
    stated = kinds[-1] == "STRING" and "WORD" in place.expected and "_USING" in kinds
    if stated and place.before[-2].lower() != "env":
        return SyntaxProblem(
            token_span(place.before[-1]),
            "a secret comes from the environment alone",
            "write the name of the variable that has it: bearer env 'TOKEN'",
        )
    verb = next((kind.lower() for kind in kinds if kind in ("INSERT", "DELETE")), None)
    if verb is not None and place.expected == {"LPAR"}:
        return SyntaxProblem(
            place.span,
            f"{verb} takes the name of a table and values for its columns",
            f"write {verb} linked(a, b)",
        )
    colon = place.span.start
    if kinds[-2:] == ["COLON", "NAME"]:  # it was read as an event, or as a label's
        colon = place.before[-2].start_pos
    elif place.kind != "COLON":
        return None
    word = re.compile(r":\s*(\w*)").match(place.source.text, colon)
    if word is None:
        return None
    return SyntaxProblem(
        Span(colon, word.end()),
        f"`{word[1]}` is nothing that can be done on an event"
        if word[1]
        else "what is to be done?",
        "write post 'https://…' with (name = value), call name(value), insert table(value) or "
        "delete table(value)",
    )


def _missing_semicolon(place: _Place) -> SyntaxProblem | None:
    previous = place.previous
    if previous is None or "SEMI" not in place.expected or place.unclosed is not None:
        return None
    between = place.source.text[previous.end_pos : place.span.start]
    at_end = place.kind == END
    if not at_end and ("\n" not in between or place.kind not in _BEGINNINGS):
        return None
    end = previous.end_pos
    return SyntaxProblem(
        Span(end - 1, end), "a `;` is missing after this", "every statement ends with `;`"
    )


def _full_stop(place: _Place) -> SyntaxProblem | None:
    if place.kind != "DOT" or "SEMI" not in place.expected:
        return None
    following = place.source.text[place.span.end : place.span.end + 1]
    if following.isdigit():
        hint = "write `(p) within 3 s` for a limit in time"
    elif following == "[":
        hint = "write `not(c).[a, b]` for no c between a and b"
    elif not following or following.isspace():
        hint = "a statement ends with `;`"
    else:
        return None
    return SyntaxProblem(place.span, "unexpected '.'", hint)


def _arrow(place: _Place) -> SyntaxProblem | None:
    if "ARROW" not in place.expected or place.kind not in ("COMPARE", "LESS", "COLON", "MINUS"):
        return None
    return SyntaxProblem(
        place.span, f"unexpected '{place.text}' after the head of a rule", "write head <- body;"
    )


def _brackets(place: _Place) -> SyntaxProblem | None:
    unclosed = place.unclosed
    if place.kind in _CLOSING:
        if unclosed is None:
            return SyntaxProblem(
                place.span, f"'{place.text}' closes nothing", f"no {_CLOSING[place.kind]} is open"
            )
        if _OPENING[unclosed.type] != place.text:
            return _not_closed(unclosed, f"before the '{place.text}' that follows")
    elif unclosed is not None and (
        place.kind in ("SEMI", END, "ARROW")
        or (unclosed == "{" and place.kind not in ("COMMA", "NAME"))
    ):
        return _not_closed(unclosed, "")
    return None


def _not_closed(bracket: Token, when: str) -> SyntaxProblem:
    return SyntaxProblem(
        token_span(bracket),
        f"this '{bracket}' is not closed{' ' + when if when else ''}",
        f"write `{_OPENING[bracket.type]}` where it ends",
    )


def _reserved_word(place: _Place) -> SyntaxProblem | None:
    word = place.text.lower()
    if word not in RESERVED or not place.expected & {"NAME", "WORD"}:
        return None
    what = "an operator" if word in INFIX else "a word"
    return SyntaxProblem(
        place.span,
        f"unexpected '{place.text}': it is {what} of the language",
        f"{_expectation(place)}; to use it as a name, write `{place.text}` in backquotes",
    )


def _other_operator(place: _Place) -> SyntaxProblem | None:
    """A word or an arrow between two events that is an operator somewhere else, or a slip."""
    start, text = place.span.start, place.text
    if (
        place.kind == "GREATER"
        and (arrow := place.source.text[start - 1 : start + 1]) in _ELSEWHERE
    ):
        start, text = start - 1, arrow
    elif place.kind not in _NAMES or "INFIX" not in place.expected:
        return None
    meant = _ELSEWHERE.get(text.lower()) or nearest(text, INFIX | _ENDINGS)
    if meant is None:
        return None
    return SyntaxProblem(
        Span(start, place.span.end), f"unexpected '{text}'", f"did you mean `{meant}`?"
    )


def _comment(place: _Place) -> SyntaxProblem | None:
    around = place.source.text[max(0, place.span.start - 1) : place.span.start + 2]
    if place.text not in ("/", "*") or not ("//" in around or "/*" in around):
        return None
    return SyntaxProblem(place.span, "unexpected comment", "a comment starts with `--`")


_LOOKS = (
    _other_language,
    _other_sql,
    _bare_query,
    _quoted_name,
    _create,
    _comment,
    _repetition,
    _unit,
    _reaction,
    _full_stop,
    _missing_semicolon,
    _arrow,
    _brackets,
    _reserved_word,
    _other_operator,
)


# -- what could have stood there

_STARTS_OPERAND = {"NAME", "LPAR", "INT", "STRING"}
_WORDS = {
    "WORD": "a name",
    "_EVENT": "`event`",
    "TABLE": "`table`",
    "ARROW": "`<-`",
    "COLON": "`:`",
    "DURATION": "a duration such as `10 s`",
    "STRING": "a string",
    "INT": "a number",
    "LSQB": "`[`",
    "DOT": "`.`",
    "COMMA": "`,`",
    "RPAR": "`)`",
    "RBRACE": "`}`",
    "RSQB": "`]`",
    "GREATER": "`>`",
    "NOT": "`not`",
    "COLLECT": "`collect`",
    "NULL": "`null`",
    "LIKE": "`like`",
    "BETWEEN": "`between`",
    "IN": "`in`",
    "_AS": "`as`",
    "_WITHIN": "`within`",
    "_WHERE": "`where`",
    "SEMI": "`;`",
    "CREATE": "`CREATE EVENT`",
    "POST": "`: post`",
    "CALL": "`: call`",
    "INSERT": "`: insert`",
    "DELETE": "`: delete`",
    "VALID": "`valid`",
    "TO": "`to`",
    "ON_EVENT": "`on`",
    "WITH": "`with`",
    "SELECT": "`SELECT`",
    "FROM": "`FROM`",
}
_OPERATORS = {"INFIX", "COMPARE", "PLUS", "MINUS", "STAR", "TIMES", "CONCAT"}


def _expectation(place: _Place) -> str:
    """What could have stood there, in words, the likeliest first."""
    left = set(place.expected)
    words: list[str] = []
    if left >= _STARTS_OPERAND:
        words.append("an event, a value or `(`")
        left -= {
            "NAME", "LPAR", "LBRACE", "INT", "FLOAT", "STRING", "DURATION", "TRUE", "FALSE",
            "NULL", "AT", "NOT", "PLUS", "MINUS", "WHILE", "STAR", "DISTINCT",
        }  # fmt: skip
    elif "NAME" in left:
        words.append("a name")
    if left & {"INFIX", "COMPARE"} and left & {"COMMA", "SEMI", "RPAR", "RSQB"}:
        words.append("an operator such as `seq` or `and`")
        left -= _OPERATORS | {"LIKE", "BETWEEN", "IN", "IS", "NOT", "COLON", "DOT", "STRING"}
    if "LPAR" in left:
        words.append("`(`")
    words.extend(text for name, text in _WORDS.items() if name in left)
    if not words:
        return "the text cannot go on like this"
    return "expected " + (
        " or ".join([", ".join(words[:-1]), words[-1]]) if words[1:] else words[0]
    )
