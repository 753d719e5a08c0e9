"""Builds a release and tries it: `python scripts/release.py OUT [--python /path/to/python3.10 …]`.

Needs `pip install build uv cyclonedx-bom`. Wheel and sdist are built twice, in different folders at different times,
and must be the same bytes. OUT gets them with a bill of materials (CycloneDX) and the licences of all that comes
along. For every Python given, the wheel is installed with pip, with uv, and with the lowest versions of what it depends
on; each installation must say its version and find the same in the examples.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

TOP = Path(__file__).parent.parent
BIN = Path(sys.executable).parent

LICENCES = """\
from importlib.metadata import distributions
for d in sorted(distributions(), key=lambda d: d.name.lower()):
    m = d.metadata
    said = m.get("License-Expression") or "; ".join(
        c.rpartition(" :: ")[2] for c in m.get_all("Classifier", []) if c.startswith("License")
    ) or (m.get("License") or "not said").splitlines()[0]
    if d.name not in ("pip", "setuptools"):
        print(f"{d.name} {d.version}: {said}")
"""


def run(*command: object, **options: object) -> str:
    """Run a command; return what it prints. A failure ends the release with what it said."""
    called = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **options)
    if called.returncode:
        sys.exit(f"{' '.join(map(str, command))}: exit code {called.returncode}\n{called.stdout}{called.stderr}")
    return called.stdout


def build(out: Path) -> None:
    """Build what git knows twice, and compare."""
    epoch = run("git", "-C", TOP, "log", "-1", "--format=%ct").strip()
    names = run("git", "-C", TOP, "ls-files", "-z").rstrip("\0").split("\0")
    digests = []
    for number in range(2):
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder, "x" * (number + 1))
            for name in names:
                (copy / name).parent.mkdir(parents=True, exist_ok=True)
                if (TOP / name).is_file():
                    shutil.copyfile(TOP / name, copy / name)
            made = Path(folder, "made")
            environment = {**os.environ, "SOURCE_DATE_EPOCH": epoch}
            run(sys.executable, "-m", "build", "--installer", "uv", "-o", made, copy, env=environment)
            digests.append({file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in made.iterdir()})
            for file in made.iterdir():
                shutil.copyfile(file, out / file.name)
    if digests[0] != digests[1]:
        sys.exit(f"two builds differ: {digests}")
    for name, digest in sorted(digests[0].items()):
        print(f"{digest}  {name}")


def describe(wheel: Path, out: Path) -> None:
    """Write the bill of materials and the licences of a bare installation."""
    with tempfile.TemporaryDirectory() as folder:
        python = install(Path(folder, "bare"), sys.executable, "uv", wheel)
        bill = out / f"{wheel.name.split('-py3')[0]}.cdx.json"
        run(BIN / "cyclonedx-py", "environment", "--output-reproducible", "--validate", "-o", bill, python)
        licences = run(python, "-c", LICENCES)
        (out / "LICENCES.txt").write_text(licences, encoding="utf-8")
        print(f"{bill.name}\n{licences}", end="")


def install(folder: Path, interpreter: str, way: str, wheel: Path) -> Path:
    """Install the wheel in a new environment; return its Python."""
    python = folder / "bin" / "python"
    if way == "pip":
        run(interpreter, "-m", "venv", folder)
        run(python, "-m", "pip", "install", "--quiet", wheel)
        return python
    run(BIN / "uv", "venv", "--quiet", "--python", interpreter, folder)
    into = (BIN / "uv", "pip", "install", "--quiet", "--python", python)
    if way == "lowest":
        lowest = ("--resolution", "lowest-direct", "--only-binary", ":all:")  # older than the Python, it has no wheel
        run(*into, *lowest, "--requirements", TOP / "pyproject.toml")
        run(*into, "--no-deps", wheel)
    else:
        run(*into, wheel)
    return python


def try_out(wheel: Path, interpreters: list[str]) -> None:
    """Install the wheel in every way and look at the examples."""
    said = set()
    for interpreter in interpreters:
        for way in ("pip", "uv", "lowest"):
            with tempfile.TemporaryDirectory() as folder:
                python = install(Path(folder, "env"), interpreter, way, wheel)
                tool = python.parent / "kexec-lint"
                version = run(tool, "--version").strip()
                options = ("--no-cache", "--quiet", "--exit-zero", "--output-format", "concise")
                found = run(tool, "check", *options, "examples", cwd=TOP)
                said.add((version, found))
                name = run(python, "-V").strip()
                print(f"{name}, {way}: {version}, {found.count(chr(10))} findings in the examples")
    if len(said) > 1:
        sys.exit("the installations say different things")


def main() -> None:
    """Build, describe, try out."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--python", action="append", default=[], metavar="PATH")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    build(arguments.out)
    (wheel,) = arguments.out.glob("*.whl")
    describe(wheel, arguments.out)
    try_out(wheel.resolve(), arguments.python)


if __name__ == "__main__":
    main()
