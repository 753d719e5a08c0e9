"""OpenCL C text after preprocessing, in one or more configurations; offsets lead back to the author's text."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from kexec_lint.opencl.kernels.condition import evaluate

MAX_CONFIGURATIONS = 6
MAX_WORK = 3_000_000
"""Characters copied and macro tokens handled for one text (about three seconds); beyond, it is not understood."""

ADDRESS_SPACES = {"global", "constant", "local", "private", "generic"}
ACCESS = {"read_only", "write_only", "read_write"}
QUALIFIERS = {word: word.strip("_") for bare in ADDRESS_SPACES | ACCESS | {"kernel"} for word in (bare, f"__{bare}")}
_ATTRIBUTES = {"__attribute__", "__attribute", "__declspec"}
_REPLACED = {
    "__restrict": "restrict",
    "__restrict__": "restrict",
    "__const": "const",
    "__inline": "inline",
    "__inline__": "inline",
    "__volatile": "volatile",
    "__volatile__": "volatile",
}

_LEXEMES = re.compile(
    r"""(?P<comment>//(?:\\\n|[^\n])*|/\*.*?(?:\*/|\Z))
      | (?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
      | (?P<directive>^[ \t]*\#(?:/\*.*?\*/|//[^\n]*|\\\n|[^\n/]|/(?![*/]))*)
      | (?P<word>[A-Za-z_]\w*)
      | (?P<number>\.?[0-9](?:[eEpP][+-]|[\w.])*)""",
    re.X | re.S | re.M,
)
_BODY_TOKENS = re.compile(
    r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|[A-Za-z_]\w*|\.?[0-9](?:[eEpP][+-]|[\w.])*|##|\s+|.', re.S
)


Branch = tuple[int, bool]
"""Offset of an undecidable `#if` or `#elif`, and the truth assumed for it."""


class TooLarge(ValueError):
    """Preprocessing took more than MAX_WORK."""


@dataclass(frozen=True)
class Macro:
    """A `#define`. `params` is None for an object-like macro; the last one is "..." for a variadic one."""

    params: tuple[str, ...] | None
    body: str


@dataclass
class Expanded:
    """Text of one preprocessor configuration. All offsets count characters of `text`, which is ASCII.

    `qualifiers` are the address-space, access and `kernel` words that stand as blanks in `text`: (offset, word).
    `attributes` are the contents of `__attribute__`, blanked as well.
    """

    text: str
    qualifiers: list[tuple[int, str]]
    attributes: list[tuple[int, str]]
    macros: dict[str, Macro]
    _starts: list[int]
    _pieces: list[tuple[int, int | None]]

    def original(self, offset: int) -> int:
        """Return the offset in the author's text; inside a macro expansion, that of the macro's use."""
        at = max(bisect_right(self._starts, offset) - 1, 0)
        if not self._pieces:
            return offset
        source, fixed = self._pieces[at]
        return source if fixed is not None else source + offset - self._starts[at]

    def original_span(self, start: int, end: int) -> tuple[int, int]:
        """Return the author's span of the expanded one; a macro counts as a whole."""
        first = self.original(start)
        at = max(bisect_right(self._starts, max(end - 1, start)) - 1, 0)
        if not self._pieces:
            return start, end
        source, fixed = self._pieces[at]
        last = fixed if fixed is not None else source + end - self._starts[at]
        return first, max(last, first)


def configurations(text: str) -> Iterator[tuple[Expanded, bool]]:
    """Yield the text under enough choices of its undecidable `#if`s that every branch is seen at least once.

    The flag says, with the last one, whether every branch was seen. Raises TooLarge.
    """
    clean = _ascii(text)
    covered: set[Branch] = set()
    pending: dict[Branch, tuple[Branch, ...]] = {}
    budget = [MAX_WORK]
    for _ in range(MAX_CONFIGURATIONS):
        run = _Preprocessor(clean, covered, pending, budget)
        expanded = run.expand()
        yield expanded, not pending
        if not pending or not run.progress:
            return


def _ascii(text: str) -> str:
    """Return the text with every character that is not ASCII, and every carriage return, replaced one to one."""
    if not text.isascii():
        text = re.sub(r"[^\x00-\x7f]", "x", text)
    return text.replace("\r", " ").replace("\0", " ").replace("\f", " ").replace("\v", " ")


@dataclass
class _Group:
    """An open `#if`. `live` says whether the present branch is kept, `taken` whether an earlier one was."""

    outer: bool
    live: bool
    taken: bool
    path: tuple[Branch, ...] = ()


@dataclass
class _Preprocessor:
    text: str
    covered: set[Branch]
    pending: dict[Branch, tuple[Branch, ...]]
    budget: list[int]
    macros: dict[str, Macro] = field(default_factory=dict)
    undefined: set[str] = field(default_factory=set)
    choices: dict[str, bool] = field(default_factory=dict)
    groups: list[_Group] = field(default_factory=list)
    out: list[str] = field(default_factory=list)
    size: int = 0
    starts: list[int] = field(default_factory=list)
    pieces: list[tuple[int, int | None]] = field(default_factory=list)
    qualifiers: list[tuple[int, str]] = field(default_factory=list)
    attributes: list[tuple[int, str]] = field(default_factory=list)
    progress: bool = False

    def expand(self) -> Expanded:
        text, position, live = self.text, 0, True
        scan = _LEXEMES.scanner(text)  # type: ignore[attr-defined]
        match = scan.search()
        while match is not None:
            start, end = match.span()
            if start < position:  # inside the arguments of a macro that has been expanded
                match = scan.search()
                continue
            kind = match.lastgroup
            if kind == "directive":
                if live:
                    self.copy(position, start)
                self.directive(match[0], start)
                live = not self.groups or self.groups[-1].live
                position = end
            elif not live:
                position = end
            elif kind == "comment":
                self.copy(position, start)
                self.emit(" ", start, end)
                position = end
            elif kind == "word":
                word = match[0]
                if word in self.macros:
                    self.copy(position, start)
                    position = self.use(word, start, end)
                elif word in QUALIFIERS:
                    self.copy(position, start)
                    self.qualifiers.append((self.size, QUALIFIERS[word]))
                    self.emit(" " * len(word), start, None)
                    position = end
                elif word in _ATTRIBUTES:
                    self.copy(position, start)
                    position = self.attribute(start, end)
                elif word in _REPLACED:
                    self.copy(position, start)
                    self.emit(_REPLACED[word].ljust(len(word)), start, None)
                    position = end
            match = scan.search()
        if live:
            self.copy(position, len(text))
        joined = "".join(self.out).replace("\\\n", "  ")
        return Expanded(joined, self.qualifiers, self.attributes, self.macros, self.starts, self.pieces)

    def copy(self, start: int, end: int) -> None:
        if end > start:
            self.emit(self.text[start:end], start, None)

    def emit(self, piece: str, source: int, fixed: int | None) -> None:
        """Append a piece that stands at `source`, or as a whole for [source, fixed)."""
        if piece:
            self.starts.append(self.size)
            self.pieces.append((source, fixed))
            self.out.append(piece)
            self.size += len(piece)
            _spend(self.budget, len(piece))

    def attribute(self, start: int, end: int) -> int:
        """Blank `__attribute__((...))` and note what it held; return where it ends."""
        close = _closing(self.text, end)
        if close is None:
            return start + 1
        inside = self.text[end:close]
        words = re.findall(r"[A-Za-z_]\w*", inside)
        if any(word in self.macros for word in words):
            inside = "".join(_expand_tokens(_tokens(inside), self.macros, frozenset(), self.budget))
        self.attributes.append((self.size, inside))
        self.emit(" " * (close - start), start, None)
        return close

    def use(self, name: str, start: int, end: int) -> int:
        """Expand one use of a macro; return where it ends in the text."""
        macro = self.macros[name]
        tokens = [name]
        if macro.params is not None:
            close = _closing(self.text, end)
            if close is None:
                self.emit(name, start, None)
                return end
            arguments = re.sub(r"//[^\n]*|/\*.*?\*/", " ", self.text[end:close], flags=re.S)
            tokens += _tokens(arguments.replace("\\\n", " "))
            end = close
        run: list[str] = []
        for token in _blank_attributes(_expand_tokens(tokens, self.macros, frozenset(), self.budget)):
            if token in QUALIFIERS or token.startswith("__attribute__("):
                self.emit("".join(run), start, end)
                run = [" "]
                if token in QUALIFIERS:
                    self.qualifiers.append((self.size, QUALIFIERS[token]))
                else:
                    self.attributes.append((self.size, token[len("__attribute__") :]))
            else:
                run.append(_REPLACED.get(token, token))
        self.emit("".join(run), start, end)
        return end

    def directive(self, line: str, start: int) -> None:
        line = re.sub(r"//[^\n]*|/\*.*?\*/", " ", line, flags=re.S).replace("\\\n", " ")
        match = re.match(r"\s*#\s*(\w*)\s*(.*)", line, re.S)
        if match is None:
            return
        word, rest = match[1], match[2].strip()
        live = not self.groups or self.groups[-1].live
        if word in ("if", "ifdef", "ifndef"):
            condition = {"if": rest, "ifdef": f"defined({rest})", "ifndef": f"!defined({rest})"}[word]
            path = self.groups[-1].path if self.groups else ()
            chosen, path = self.choose(condition, start, live, path)
            self.groups.append(_Group(live, live and chosen, chosen, path))
        elif word in ("elif", "else", "elifdef", "elifndef") and self.groups:
            group = self.groups[-1]
            if word == "else":
                group.live = group.outer and not group.taken
                group.taken = True
            elif group.taken:
                group.live = False
            else:
                chosen, group.path = self.choose(rest, start, group.outer, group.path)
                group.live, group.taken = group.outer and chosen, chosen
        elif word == "endif" and self.groups:
            self.groups.pop()
        elif live and word == "define":
            self.define(rest)
        elif live and word == "undef":
            self.macros.pop(rest, None)
            self.undefined.add(rest)

    def choose(self, condition: str, at: int, live: bool, path: tuple[Branch, ...]) -> tuple[bool, tuple[Branch, ...]]:
        """Return the truth of a condition in this configuration, and the assumed branches that lead inside it."""
        if not live:
            return False, path
        known = evaluate(condition, self.value, self.choices)
        if known is not None:
            return known, path
        if _only_defaults(self.text, at):  # `#ifndef X / #define X 1 / #endif` gives a default: take it
            return True, path
        if (at, True) not in self.covered:
            truth = True
        elif (at, False) not in self.covered:
            truth = False
        else:
            truth = not any((at, False) in above for above in self.pending.values())
        for branch in ((at, truth), (at, not truth)):
            if branch not in self.covered and branch[1] == truth:
                self.covered.add(branch)
                self.pending.pop(branch, None)
                self.progress = True
            elif branch not in self.covered:
                self.pending[branch] = path
        key = re.sub(r"\s+", "", condition)
        negated = key.startswith("!defined(") and key.count("(") == 1
        self.choices[key[1:] if negated else key] = truth != negated
        return truth, (*path, (at, truth))

    def value(self, name: str) -> str | bool | None:
        """Return a macro's body; False when it is surely not defined, None when a build option may define it."""
        if name in self.macros:
            macro = self.macros[name]
            return macro.body if macro.params is None else None
        return False if name in self.undefined else None

    def define(self, rest: str) -> None:
        match = re.match(r"([A-Za-z_]\w*)(\(([^)]*)\))?\s*(.*)", rest, re.S)
        if match is None:
            return
        params = None
        if match[2] is not None:
            params = tuple(word.strip() for word in match[3].split(",") if word.strip())
        self.macros[match[1]] = Macro(params, match[4].strip())
        self.undefined.discard(match[1])


_DEFAULTS = re.compile(
    r"[^\n]*\n(?:[ \t]*(?:#[ \t]*(?:define|undef|pragma|error|warning)(?:\\\n|[^\n])*)?\n)*[ \t]*#[ \t]*endif\b"
)


def _only_defaults(text: str, at: int) -> bool:
    """Say whether the `#if` at `at` holds nothing but definitions and has no other branch."""
    return _DEFAULTS.match(text, at) is not None


def _closing(text: str, at: int) -> int | None:
    """Return the offset after the `)` that closes the first `(` after blanks at `at`; None if there is none."""
    while at < len(text) and text[at] in " \t\n\\":
        at += 1
    if at >= len(text) or text[at] != "(":
        return None
    depth = 0
    for match in re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|/\*.*?\*/|//[^\n]*|[()]', re.S).finditer(
        text, at
    ):
        if match[0] == "(":
            depth += 1
        elif match[0] == ")":
            depth -= 1
            if depth == 0:
                return match.end()
    return None


def _spend(budget: list[int], amount: int) -> None:
    budget[0] -= amount
    if budget[0] < 0:
        raise TooLarge


@lru_cache(maxsize=1024)
def _body_tokens(text: str) -> tuple[str, ...]:
    return tuple(_BODY_TOKENS.findall(text))


def _tokens(text: str) -> list[str]:
    return list(_body_tokens(text))


def _expand_tokens(tokens: list[str], macros: dict[str, Macro], hidden: frozenset[str], budget: list[int]) -> list[str]:
    """Return the tokens with all macros but the hidden ones expanded. Raises TooLarge."""
    _spend(budget, 8 * len(tokens))
    if macros.keys().isdisjoint(tokens):
        return tokens
    out: list[str] = []
    at = 0
    while at < len(tokens):
        token = tokens[at]
        at += 1
        macro = macros.get(token) if token not in hidden else None
        if macro is None:
            out.append(token)
            continue
        if macro.params is None:
            body = _paste(_tokens(macro.body))
        else:
            call = _arguments(tokens, at)
            if call is None:
                out.append(token)
                continue
            arguments, at = call
            body = _substitute(macro, macro.params, arguments, macros, hidden, budget)
        out += _expand_tokens(body, macros, hidden | {token}, budget)
    return out


def _arguments(tokens: list[str], at: int) -> tuple[list[list[str]], int] | None:
    """Return the argument token lists of a macro call whose `(` comes next, and the index after its `)`."""
    while at < len(tokens) and tokens[at].isspace():
        at += 1
    if at >= len(tokens) or tokens[at] != "(":
        return None
    arguments: list[list[str]] = [[]]
    depth = 0
    while at < len(tokens):
        token = tokens[at]
        at += 1
        if token in "([{" and token:
            depth += 1
            if depth == 1:
                continue
        elif token in (")", "]", "}"):
            depth -= 1
            if depth == 0:
                return arguments, at
        elif token == "," and depth == 1:
            arguments.append([])
            continue
        arguments[-1].append(token)
    return None


def _substitute(
    macro: Macro,
    params: tuple[str, ...],
    arguments: list[list[str]],
    macros: dict[str, Macro],
    hidden: frozenset[str],
    budget: list[int],
) -> list[str]:
    """Return the body with parameters replaced: raw beside `##`, stringised after `#`, else expanded first."""
    if params and params[-1].endswith("..."):
        fixed = len(params) - 1
        rest: list[str] = []
        for number, argument in enumerate(arguments[fixed:]):
            rest += [",", *argument] if number else argument
        arguments = [*arguments[:fixed], rest]
        params = (*params[:-1], "__VA_ARGS__" if params[-1] == "..." else params[-1][:-3])
    by_name = {name: arguments[i] if i < len(arguments) else [] for i, name in enumerate(params)}
    body = _tokens(macro.body)
    out: list[str] = []
    for i, token in enumerate(body):
        if token not in by_name:
            out.append(token)
            continue
        before = next((t for t in reversed(body[:i]) if not t.isspace()), "")
        after = next((t for t in body[i + 1 :] if not t.isspace()), "")
        raw = _strip(by_name[token])
        if before == "#":
            while out and out[-1].isspace():
                out.pop()
            out[-1:] = ['"' + "".join(raw).replace("\\", "\\\\").replace('"', '\\"') + '"']
        elif "##" in (before, after):
            out += raw or [""]
        else:
            out += _expand_tokens(raw, macros, hidden, budget)
    return _paste(out)


def _strip(tokens: list[str]) -> list[str]:
    start, end = 0, len(tokens)
    while start < end and tokens[start].isspace():
        start += 1
    while end > start and tokens[end - 1].isspace():
        end -= 1
    return tokens[start:end]


def _paste(tokens: list[str]) -> list[str]:
    """Return the tokens with `a ## b` joined."""
    if "##" not in tokens:
        return tokens
    out: list[str] = []
    at = 0
    while at < len(tokens):
        if tokens[at] == "##":
            while out and out[-1].isspace():
                out.pop()
            at += 1
            while at < len(tokens) and tokens[at].isspace():
                at += 1
            left = out.pop() if out else ""
            right = tokens[at] if at < len(tokens) and tokens[at] != "##" else ""
            if left + right:
                out.append(left + right)
        else:
            out.append(tokens[at])
        at += 1
    return [token for token in out if token]


def _blank_attributes(tokens: list[str]) -> Iterator[str]:
    """Yield the tokens with every `__attribute__((...))` joined to one token."""
    at = 0
    while at < len(tokens):
        token = tokens[at]
        at += 1
        if token in _ATTRIBUTES:
            call = _arguments(tokens, at)
            if call is not None:
                at = call[1]
                token = "__attribute__(" + ",".join("".join(argument) for argument in call[0]) + ")"
        yield token
