# /// script
# dependencies = ["unearth>=0.17", "kexec-lint"]
# ///
"""Check the pinned public projects of corpus.toml and compare the findings with the judged list of docs/corpus.md.

    python benchmarks/corpus.py [--into DIR] [--output FILE] [NAME...]

Fetches the source distributions that DIR lacks, runs `kexec-lint check` on each as its users would, and writes all
findings to FILE as JSON. Exit code 0: the findings are those of the judged list; 1: some are new or gone; 2: a
project could not be fetched, or the check of one failed.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).parent
JUDGED = HERE.parent / "docs" / "corpus.md"


@dataclass(frozen=True)
class Pin:
    """A source distribution."""

    name: str
    version: str
    sha256: str


@dataclass(frozen=True, order=True)
class Found:
    """A finding; `path` is relative to the project."""

    project: str
    path: str
    row: int
    code: str
    message: str = ""

    @property
    def key(self) -> tuple[str, str, int, str]:
        return self.project, self.path, self.row, self.code


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these projects")
    parser.add_argument("--into", type=Path, default=HERE / ".corpus", metavar="DIR", help="where the projects lie")
    parser.add_argument("--output", type=Path, default=HERE / ".corpus" / "findings.json", metavar="FILE")
    options = parser.parse_args()
    pins = [Pin(**one) for one in tomllib.loads((HERE / "corpus.toml").read_text(encoding="utf-8"))["project"]]
    unknown = set(options.names) - {pin.name for pin in pins}
    if unknown:
        parser.error(f"not in corpus.toml: {', '.join(sorted(unknown))}")
    pins = [pin for pin in pins if not options.names or pin.name in options.names]
    found: list[Found] = []
    failed: list[str] = []
    for pin in pins:
        folder = options.into / f"{pin.name}-{pin.version}"
        try:
            fetch(pin, folder)
            start = time.perf_counter()
            findings, trouble = check(pin, folder)
        except Trouble as error:
            print(f"{pin.name} {pin.version}: {error}", file=sys.stderr)
            failed.append(pin.name)
            continue
        for line in trouble:
            print(f"{pin.name}: {line}", file=sys.stderr)
        found += findings
        print(f"{pin.name} {pin.version}: {len(findings)} findings, {time.perf_counter() - start:.1f} s")
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps([asdict(one) for one in sorted(found)], indent=1) + "\n", encoding="utf-8")
    differs = compare(found, {pin.name for pin in pins} - set(failed))
    return 2 if failed else int(differs)


class Trouble(Exception):
    """A project could not be fetched or checked."""


def fetch(pin: Pin, folder: Path) -> None:
    """Download and unpack a source distribution unless it is there. Raises Trouble."""
    if folder.is_dir():
        return
    try:
        from unearth import PackageFinder
    except ImportError:
        raise Trouble("fetching needs the package unearth: pip install unearth") from None
    finder = PackageFinder(index_urls=["https://pypi.org/simple/"])
    packages = (one for one in finder.find_all_packages(pin.name) if one.version == pin.version)
    link = next((one.link for one in packages if not one.link.is_wheel), None)
    if link is None:
        raise Trouble("the package index has no source distribution of this version")
    if pin.sha256 not in (link.hashes or {}).values():
        raise Trouble("the source distribution is not the one that corpus.toml pins")
    folder.parent.mkdir(parents=True, exist_ok=True)
    finder.download_and_unpack(link, folder)


def check(pin: Pin, folder: Path) -> tuple[list[Found], list[str]]:
    """Return the findings at default confidence and what went to standard error. Raises Trouble."""
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch) / "report.json"
        command = [sys.executable, "-m", "kexec_lint", "check", ".", "--isolated", "--no-cache"]
        command += ["--output-format", f"json:{report}"]
        run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if run.returncode not in (0, 1) or not report.exists():
            raise Trouble(f"exit code {run.returncode}\n{run.stderr.strip()}")
        findings = json.loads(report.read_text(encoding="utf-8"))
    return sorted({_found(pin, folder, one) for one in findings}), run.stderr.strip().splitlines()


def _found(pin: Pin, folder: Path, finding: dict[str, Any]) -> Found:
    path = Path(finding["filename"])
    path = path.resolve().relative_to(folder.resolve()) if path.is_absolute() else path
    return Found(pin.name, path.as_posix(), finding["location"]["row"], finding["code"], finding["message"])


def judged() -> Iterator[tuple[str, str, int, str]]:
    """Yield the keys of the judged list: table rows `| project | path:row | code | verdict | reason |`."""
    text = JUDGED.read_text(encoding="utf-8") if JUDGED.exists() else ""
    for row in re.finditer(r"^\| *([\w.-]+) *\| *`([^`]+):(\d+)` *\| *([A-Z]+\d+) *\|", text, re.MULTILINE):
        yield row[1], row[2], int(row[3]), row[4]


def compare(found: list[Found], projects: set[str]) -> bool:
    """Print what is new and what is gone against the judged list; tell whether anything is."""
    known = {key for key in judged() if key[0] in projects}
    new = [one for one in sorted(found) if one.key not in known]
    gone = sorted(known - {one.key for one in found})
    for one in new:
        print(f"new:  {one.project} {one.path}:{one.row}: {one.code} {one.message}")
    for project, path, row, code in gone:
        print(f"gone: {project} {path}:{row}: {code}")
    print(f"{len(found)} findings, {len(new)} new, {len(gone)} gone against {JUDGED.name}")
    return bool(new or gone)


if __name__ == "__main__":
    sys.exit(main())
