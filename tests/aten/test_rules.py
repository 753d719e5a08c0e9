"""Tables of sources and the findings they must give: what each rule says, and above all what it must not say."""

from __future__ import annotations

from pathlib import Path

import pytest
from aten_tree import DEFAULT, check, expected, found

CASES = sorted(Path(__file__).with_name("cases").glob("*.py")) + sorted(Path(__file__).with_name("cases").glob("*.cpp"))


def parts(path: Path) -> list[tuple[str, dict[str, str]]]:
    """Split a file at lines `# case: name` (or `// case: name`); `# file: path` starts a further file of the
    case."""
    mark = "// " if path.suffix == ".cpp" else "# "
    found: list[tuple[str, dict[str, list[str]]]] = []
    for line in path.read_text(encoding="utf-8").split("\n"):
        if line.startswith(f"{mark}case: "):
            found.append((line.removeprefix(f"{mark}case: "), {f"example{path.suffix}": []}))
        elif line.startswith(f"{mark}file: "):
            found[-1][1][line.removeprefix(f"{mark}file: ")] = []
        elif found:
            list(found[-1][1].values())[-1].append(line)
    return [(name, {p: "\n".join(lines) + "\n" for p, lines in files.items()}) for name, files in found]


@pytest.mark.parametrize(
    "files", [pytest.param(files, id=f"{path.stem}-{name}") for path in CASES for name, files in parts(path)]
)
def test_case(files: dict[str, str]) -> None:
    findings = check(files, codes=DEFAULT | {code for _, _, code in expected(files)})
    said = "\n".join(f"{f.location.filename}:{f.location.row} {f.code} {f.message}" for f in findings)
    assert found(findings) == expected(files), said
