"""The error knowledge base: entries by layer, code tables by family, and how they are read and cached.

The data stands in `knowledge/`: `layers.yaml` (the layers in order of root cause), `<layer>.yaml` (entries) and
`codes/<family>.yaml` (numbers and names of status codes). `knowledge/schema.json` says what a file may hold.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from kexec_lint import __version__
from kexec_lint.diagnose.needles import bounded, needles

FOLDER = Path(__file__).parent / "knowledge"
_FORMAT = 7
_NOISE = "noise"
_SEVERITIES = ("error", "warning", "info")


class KnowledgeError(ValueError):
    """A knowledge file that does not hold what it must; the message names file, entry and fault."""


@dataclass(frozen=True)
class Layer:
    """Where an error can arise. `follows` names the layers whose failure brings this one's messages about.

    `places` match the files and libraries that belong to it, `subjects` what its failures speak of.
    """

    name: str
    executor: str | None
    title: str
    follows: tuple[str, ...]
    words: tuple[str, ...]
    trace: tuple[str, ...]
    places: tuple[str, ...] = ()
    subjects: tuple[str, ...] = ()


@dataclass(frozen=True)
class Entry:
    """One kind of message. `needles` are literals of which a matching line holds at least one."""

    id: str
    layer: str
    severity: str
    cause: str
    examples: tuple[str, ...]
    look_alikes: tuple[str, ...]
    next_steps: tuple[str, ...]
    sources: tuple[str, ...]
    pattern: str | None = None
    near: str | None = None
    """A further pattern that must match within a few lines."""
    needles: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    follows: tuple[str, ...] = ()
    executor: str | None = None
    swallow_risk: str | None = None
    last: bool = False
    """Wins a line only when no other entry does."""
    general: bool = False
    """A `last` one so general that it yields even to the others."""
    open: bool = False
    """By its specification a failure of any of the layers it `follows`: unknown, unless another line says of which."""
    extra: bool = False
    """Of a file that the user named."""


@dataclass(frozen=True)
class Code:
    """One status code of a family; `texts` are the words that its runtime prints for it."""

    number: int | None
    names: tuple[str, ...]
    texts: tuple[str, ...]
    meaning: str
    entry: str
    earlier: int | None = None
    """The number that older releases gave it, where no other code has that now (CUDA's runtime before 10.1)."""
    at: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Entries by the kind of call that returned it, for a code that means another thing at another call."""


@dataclass(frozen=True)
class Spelling:
    """One way logs spell the codes of a family: `find` has a group `name`, `code` or `text`.

    `before` and `after` must match within a window on the same line, `near` within a few lines.
    """

    find: str
    needles: tuple[str, ...]
    before: str | None = None
    after: str | None = None
    near: str | None = None


@dataclass(frozen=True)
class Family:
    """A table of status codes and how logs spell them; `ignore` matches around what only names a code.

    `calls` are patterns of the calls of a kind, for codes whose meaning depends on the call.
    """

    name: str
    title: str
    spellings: tuple[Spelling, ...]
    ignore: str | None
    codes: tuple[Code, ...]
    calls: Mapping[str, str] = field(default_factory=dict, hash=False)

    @cached_property
    def by_name(self) -> dict[str, Code]:
        """Codes by each of their names, upper case."""
        return {name.upper(): code for code in self.codes for name in code.names}

    @cached_property
    def by_number(self) -> dict[int, Code]:
        """Codes by number."""
        earlier = {code.earlier: code for code in self.codes if code.earlier is not None}
        return earlier | {code.number: code for code in self.codes if code.number is not None}

    @cached_property
    def by_text(self) -> dict[str, Code]:
        """Codes by the runtime's words, in the form of `folded`."""
        return {folded(text): code for code in self.codes for text in code.texts}


@dataclass(frozen=True)
class Knowledge:
    """Everything known, in order of root cause."""

    layers: tuple[Layer, ...]
    entries: tuple[Entry, ...]
    families: tuple[Family, ...]
    rank: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def by_id(self) -> dict[str, Entry]:
        """Entries by id."""
        return {entry.id: entry for entry in self.entries}

    @cached_property
    def grams(self) -> dict[tuple[str, ...], list[tuple[int, str]]]:
        """All needles by the four characters in each that the fewest others have, and where in it they stand."""
        of = [entry.needles for entry in self.entries]
        of += [spelling.needles for family in self.families for spelling in family.spellings]
        needles = {needle for each in of for needle in each if len(needle) >= 4}
        often = Counter(gram for needle in needles for gram in set(_grams(needle)))
        found: dict[tuple[str, ...], list[tuple[int, str]]] = {}
        for needle in sorted(needles):
            offset, gram = min(enumerate(_grams(needle)), key=lambda item: often[item[1]])
            found.setdefault(gram, []).append((offset, needle))
        return found

    @cached_property
    def layer(self) -> dict[str, Layer]:
        """Layers by name."""
        return {layer.name: layer for layer in self.layers}


def _grams(text: str) -> Iterator[tuple[str, ...]]:
    return zip(text, text[1:], text[2:], text[3:], strict=False)


def folded(text: str) -> str:
    """Return `text` in lower case with every run of non-letters as one space: how words of codes are compared."""
    return re.sub(r"[\W_]+", " ", text.lower()).strip()


def load(extra: Sequence[Path] = (), cache: Path | None = None) -> Knowledge:
    """Return the built-in knowledge and that of the `extra` files, which go first where both match.

    `cache` is a folder for the compiled form, which loads some thirty times faster than the YAML.
    Raises KnowledgeError for a file that cannot be read or does not fit the schema.
    """
    files = [*sorted(FOLDER.rglob("*.yaml")), *extra]
    kept = None if cache is None else cache / f"knowledge-{_digest(files)}.json"
    if kept is not None and (known := _read_cache(kept)) is not None:
        return known
    raw = _compile(files, extra)
    if kept is not None:
        _write_cache(kept, raw)
    return _thaw(raw)


def _compile(files: Iterable[Path], extra: Sequence[Path]) -> dict[str, Any]:
    layers: list[dict[str, Any]] = []
    entries: list[dict[str, Any]] = []
    families: list[dict[str, Any]] = []
    for path in files:
        data = _read_yaml(path)
        if "layers" in data:
            layers = data["layers"]
        elif "family" in data:
            families.append(_family(path, data))
        else:
            entries += [dict(entry, extra=path in extra) for entry in _entries(path, data)]
    order = {layer["name"]: index for index, layer in enumerate(layers)}
    for entry in entries:
        if entry["layer"] not in order:
            raise KnowledgeError(f"{entry['id']}: no layer {entry['layer']!r}; known: {', '.join(order)}")
    entries.sort(
        key=lambda e: (
            e.get("general", False),
            e.get("last", False),
            not e["extra"],
            e["layer"] != _NOISE,
            order[e["layer"]],
        )
    )
    seen: dict[str, str] = {}
    for entry in entries:
        if entry["id"] in seen:
            raise KnowledgeError(f"{entry['id']}: this id stands twice")
        seen[entry["id"]] = entry["layer"]
    for family in families:
        for code in family["codes"]:
            for name in (code["entry"], *code["at"].values()):
                if name not in seen:
                    raise KnowledgeError(f"codes/{family['name']}: {code['names']} leads to no entry {name!r}")
            if strange := sorted(set(code["at"]) - set(family["calls"])):
                raise KnowledgeError(f"codes/{family['name']}: {code['names']}: `calls` has no {strange[0]!r}")
    return {"layers": layers, "entries": entries, "families": families}


def _read_yaml(path: Path) -> dict[str, Any]:
    import yaml

    try:
        data = yaml.load(path.read_text(encoding="utf-8"), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())
        raise KnowledgeError(f"{path}: cannot be read as a knowledge file: {reason}") from error
    if not isinstance(data, dict):
        raise KnowledgeError(f"{path}: a knowledge file is a mapping with `layer` and `entries`")
    return data


def _entries(path: Path, data: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the entries of one layer file with their needles. Raises KnowledgeError."""
    known = set(Entry.__dataclass_fields__) - {"needles", "extra"} | {"refs", "verified", "source_relation"}
    found = []
    for entry in data.get("entries") or ():
        if not isinstance(entry, dict) or not isinstance(entry.get("id"), str):
            raise KnowledgeError(f"{path}: an entry is a mapping with an `id`")
        where = f"{path}: {entry['id']}"
        entry = {"layer": data.get("layer"), "severity": "error", **entry}
        if unknown := sorted(set(entry) - known):
            raise KnowledgeError(f"{where}: unknown field {unknown[0]!r}")
        for name in ("layer", "cause"):
            if not isinstance(entry.get(name), str):
                raise KnowledgeError(f"{where}: needs `{name}`, a string")
        if entry["severity"] not in _SEVERITIES:
            raise KnowledgeError(f"{where}: severity is one of {', '.join(_SEVERITIES)}")
        for name in ("examples", "look_alikes", "next_steps", "sources", "rules", "follows"):
            value = entry.setdefault(name, [])
            if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
                raise KnowledgeError(f"{where}: `{name}` is a list of strings")
        if entry.get("open") and not entry["follows"]:
            raise KnowledgeError(f"{where}: what is `open` needs `follows`, the layers it may be a failure of")
        if not entry["examples"] or not entry["look_alikes"]:
            raise KnowledgeError(f"{where}: needs at least one of `examples` and one of `look_alikes`")
        if (pattern := entry.get("pattern")) is not None:
            entry["pattern"] = bounded(pattern)
            entry["needles"] = _needles(where, entry["pattern"])
        if (near := entry.get("near")) is not None:
            entry["near"] = bounded(near)
        found.append({name: entry[name] for name in Entry.__dataclass_fields__ if name in entry})
    return found


def _needles(where: str, pattern: str) -> tuple[str, ...]:
    """Return the needles of `pattern`. Raises KnowledgeError if it is no regular expression or has none."""
    try:
        found = needles(pattern)
    except re.error as error:
        raise KnowledgeError(f"{where}: pattern: {error}") from error
    if not found or min(map(len, found)) < 3:
        raise KnowledgeError(f"{where}: every alternative of the pattern needs a literal of 3 characters or more")
    return found


def _family(path: Path, data: dict[str, Any]) -> dict[str, Any]:
    """Return a code family with its spellings expanded: `{texts}` stands for all texts of its codes."""
    codes = [
        {
            "number": row.get("code"),
            "names": row["names"],
            "texts": row.get("texts", []),
            "meaning": row.get("meaning", ""),
            "entry": row.get("entry", data["fallback"]),
            "earlier": row.get("earlier"),
            "at": row.get("at", {}),
        }
        for row in data["codes"]
    ]
    return {
        "name": data["family"],
        "title": data["title"],
        "spellings": [_spelling(path, row) for row in data["spellings"]],
        "ignore": data.get("ignore"),
        "codes": codes,
        "calls": {kind: bounded(pattern) for kind, pattern in data.get("calls", {}).items()},
    }


def _spelling(path: Path, row: dict[str, str]) -> dict[str, Any]:
    """Return a spelling with the needles of `find`, or where that has none (a bare number) of its context."""
    patterns = {name: bounded(pattern) for name, pattern in row.items()}
    found = needles(patterns["find"])
    if not found or min(map(len, found)) < 3:
        found = _needles(str(path), patterns.get("before") or patterns.get("after") or "")
    return {**patterns, "needles": found}


def _thaw(raw: dict[str, Any]) -> Knowledge:
    families = tuple(
        Family(
            **{
                **_tuples(family),
                "codes": tuple(Code(**_tuples(code)) for code in family["codes"]),
                "spellings": tuple(Spelling(**_tuples(spelling)) for spelling in family["spellings"]),
            }
        )
        for family in raw["families"]
    )
    entries = tuple(Entry(**_tuples(entry)) for entry in raw["entries"])
    layers = tuple(Layer(**_tuples(layer)) for layer in raw["layers"])
    return Knowledge(layers, entries, families, {entry.id: index for index, entry in enumerate(entries)})


def _tuples(record: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in record.items()}


def _digest(files: Iterable[Path]) -> str:
    """Return a name for the state of exactly these files. Raises KnowledgeError for one that is not there."""
    digest = hashlib.sha256(f"{__version__} {_FORMAT}".encode())
    for path in files:
        try:
            state = path.stat()
        except OSError as error:
            raise KnowledgeError(f"{path}: {(error.strerror or str(error)).lower()}") from None
        digest.update(f"{path}\0{state.st_mtime_ns}\0{state.st_size}\0".encode())
    return digest.hexdigest()[:16]


def _read_cache(path: Path) -> Knowledge | None:
    try:
        seal, _, text = path.read_bytes().partition(b"\n")
        return _thaw(json.loads(text)) if seal == _seal(text) else None
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _seal(text: bytes) -> bytes:
    """Return a check sum: a byte that changed on the disk would say something else of an error."""
    return b"%08x" % zlib.crc32(text)


def _write_cache(path: Path, raw: dict[str, Any]) -> None:
    """Keep the compiled form; a cache that cannot be written costs time, nothing else."""
    part = path.with_suffix(f".{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(raw).encode()
        part.write_bytes(_seal(text) + b"\n" + text)
        part.replace(path)
    except OSError:
        return
