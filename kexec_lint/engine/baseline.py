"""Findings that a project has accepted for now, by rule, file and the text of the line, so that lines may move."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Sequence

from kexec_lint.engine.settings import SettingsError
from kexec_lint.engine.texts import Texts
from kexec_lint.findings import Finding

_VERSION = 1
_Key = tuple[str, str, str]


def write(file: str, findings: Sequence[Finding], texts: Texts) -> None:
    """Write all findings as known. Raises SettingsError if the file cannot be written."""
    counts = Counter(_key(finding, texts, os.path.dirname(os.path.abspath(file))) for finding in findings)
    document = {
        "version": _VERSION,
        "findings": [
            {"code": code, "file": name, "content": content, "count": count}
            for (name, code, content), count in sorted(((n, c, t), k) for (c, n, t), k in counts.items())
        ],
    }
    try:
        with open(file, "w", encoding="utf-8", newline="\n") as out:
            json.dump(document, out, indent=1, ensure_ascii=False)
            out.write("\n")
    except OSError as error:
        raise SettingsError(f"{file}: {(error.strerror or str(error)).lower()}, baseline not written") from None


def unknown(file: str, findings: Sequence[Finding], texts: Texts) -> tuple[list[Finding], int]:
    """Return the findings that the baseline does not know and how many of its own are gone."""
    known = _read(file)
    base = os.path.dirname(os.path.abspath(file))
    new = []
    for finding in findings:
        key = _key(finding, texts, base)
        if known[key] > 0:
            known[key] -= 1
        else:
            new.append(finding)
    return new, sum(known.values())


def _key(finding: Finding, texts: Texts, base: str) -> _Key:
    path = os.path.relpath(os.path.abspath(finding.location.filename), base).replace(os.sep, "/")
    line = texts.line(finding.location, finding.location.row) or ""
    return finding.code, path, " ".join(line.split())


def _read(file: str) -> Counter[_Key]:
    try:
        with open(file, encoding="utf-8") as source:
            document = json.load(source)
        if document["version"] != _VERSION:
            raise SettingsError(f"{file}: baseline of version {document['version']}; write it anew")
        return Counter(
            {(e["code"], e["file"], e["content"]): int(e["count"]) for e in document["findings"]},
        )
    except FileNotFoundError:
        raise SettingsError(f"{file}: no such baseline; --write-baseline makes it") from None
    except OSError as error:
        raise SettingsError(f"{file}: {(error.strerror or str(error)).lower()}") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, SettingsError):
            raise
        raise SettingsError(f"{file}: not a baseline that kexec-lint wrote") from None
