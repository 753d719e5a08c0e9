"""Bytes of a file → `Source`: byte order marks, PEP 263 cookies, notebooks."""

from __future__ import annotations

import codecs
import json
import re
from typing import Any

from kexec_lint.engine.notebooks import without_pictures
from kexec_lint.engine.reading import LIMIT, MEGABYTE
from kexec_lint.source import Source

_PYTHON_MAGIC_CELLS = ("time", "timeit", "capture", "prun", "memit", "mprun", "lprun")


class Unreadable(ValueError):
    """A file that cannot be analysed; the text says why, without the file's name."""


def decode(path: str, data: bytes) -> Source:
    """Return the source that `data` holds, `path` being its displayed name. Raises Unreadable."""
    if path.lower().endswith(".ipynb"):
        return _notebook(path, data)
    if len(data) > LIMIT:
        raise Unreadable(f"larger than {LIMIT // MEGABYTE} MB, not checked")
    text = _text(data, python=path.lower().endswith((".py", ".pyi", ".pyw")))
    return Source(path, text, data)


def _text(data: bytes, python: bool) -> str:
    encoding = encoding_of(data, python)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        row = data.count(b"\n", 0, error.start) + 1
        raise Unreadable(f"not {encoding.removesuffix('-sig').upper()} text (line {row}), not checked") from None
    except LookupError:
        raise Unreadable(f"declares the unknown encoding {encoding!r}, not checked") from None
    if "\0" in text:
        raise Unreadable("holds null bytes, not checked")
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def encoding_of(data: bytes, python: bool) -> str:
    """Return the name of the encoding of a file: UTF-8, with a byte order mark or not, or what Python declares."""
    if data.startswith(codecs.BOM_UTF8):
        return "utf-8-sig"
    return _declared_encoding(data) if python else "utf-8"


def _declared_encoding(data: bytes) -> str:
    """Return the encoding that one of the first two lines declares (PEP 263), or UTF-8."""
    for line in data.split(b"\n", 2)[:2]:
        cookie = re.match(rb"[ \t\f]*#.*?coding[:=][ \t]*([-a-zA-Z0-9_.]+)", line)
        if cookie:
            name = cookie[1].decode("ascii")
            try:
                codec = codecs.lookup(name)
            except LookupError:
                return name
            # A transform such as rot13 is a codec too, but not of bytes into text.
            return codec.name if codec._is_text_encoding else f"{name} (not a text encoding)"
        if line.strip() and not line.lstrip().startswith(b"#"):
            break
    return "utf-8"


def _notebook(path: str, data: bytes) -> Source:
    """Join the code cells of a notebook; lines that only IPython understands become harmless Python."""
    if len(data) > LIMIT and len(without_pictures(data)) > LIMIT:
        raise Unreadable(f"larger than {LIMIT // MEGABYTE} MB without its pictures, not checked")
    try:
        notebook = json.loads(data.decode("utf-8-sig"))
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        raise Unreadable(f"not a notebook ({_reason(error)}), not checked") from None
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells"), list):
        raise Unreadable("not a notebook of format 4 (no list of cells), not checked")
    language = _language(notebook.get("metadata"))
    if language not in ("python", "ipython", "ipython3"):
        return Source(path, "", data, ())
    texts: list[tuple[int, list[str]]] = []
    for number, cell in enumerate(notebook["cells"], 1):
        if isinstance(cell, dict) and cell.get("cell_type") == "code":
            source = cell.get("source", "")
            text = source if isinstance(source, str) else "".join(map(str, source))
            lines = text.split("\n")
            texts.append((number, lines if lines[-1] else lines[:-1]))
    # Most notebooks are Python through and through, which is told once for all cells.
    plain = _is_python([line for _, lines in texts for line in lines])
    rows: list[str] = []
    cells: list[tuple[int, int]] = []
    for number, lines in texts:
        for row, line in enumerate(lines if plain else _python_lines(lines), 1):
            rows.append(line)
            cells.append((number, row))
    return Source(path, "".join(f"{row}\n" for row in rows), data, tuple(cells))


def _language(metadata: Any) -> str:
    if not isinstance(metadata, dict):
        return "python"
    for key, name in (("language_info", "name"), ("kernelspec", "language")):
        entry = metadata.get(key)
        if isinstance(entry, dict) and isinstance(entry.get(name), str):
            return str(entry[name]).lower()
    return "python"


def _python_lines(lines: list[str]) -> list[str]:
    """Return the lines of a cell as Python, or as many comments if it is none; rows stay what they were."""
    if lines and lines[0].startswith("%%"):
        magic = lines[0][2:].split(None, 1)
        if magic and magic[0] == "cl_kernel":
            return lines  # kernel source for the OpenCL executor, which reads it
        if not magic or magic[0] not in _PYTHON_MAGIC_CELLS:
            return ["#"] * len(lines)
        lines[0] = "#"
    if _is_python(lines):
        return lines
    lines = [_python_line(line) for line in lines]
    return lines if _is_python(lines) else ["#"] * len(lines)


def _is_python(lines: list[str]) -> bool:
    import ast
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what Python has to say of the code is not ours to tell
            ast.parse("\n".join(lines))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _python_line(line: str) -> str:
    runs = re.match(r"(\s*)(%(?:time|timeit|prun|memit)\b(?:\s+-\w+(?:\s*\d+)?)*\s+)(\S.*)$", line)
    if runs:
        return f"{runs[1]}{'0;':<{len(runs[2])}}{runs[3]}"
    magic = re.match(r"(\s*)(?:[%!?].*|[\w.\[\]]+\?{1,2}\s*)$", line)
    if magic:
        return f"{magic[1]}pass"
    return re.sub(r"^(\s*[\w., ]+=\s*)[%!].*$", r"\1None", line)


def _reason(error: Exception) -> str:
    return "nested too deeply" if isinstance(error, RecursionError) else str(error).split("\n")[0]
