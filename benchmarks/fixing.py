"""Remove one event edge at a time from real host code that has it, and see whether a fix puts an edge back.

    python benchmarks/fixing.py PATH… [--sample N] [--verbose]

The mutants are those of `mutation.py`. Of each that is noticed, the findings that the unmutated file does not have are
given to the fixes. An offered fix has been tried: its file is valid, holds the edge on every path and has no finding
that was not there before. What they make of the file together is analysed here once more: a mutant counts as fixed if
the result is valid and has no finding that the unmutated file does not have, else as broken.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

from mutation import CODES, mutated

from kexec_lint.engine.rewriting import apart, applied
from kexec_lint.findings import Finding
from kexec_lint.opencl.fixes import key_of, offers
from kexec_lint.opencl.report import scan_python
from kexec_lint.source import Options, Project, Source


def sure(source: Source, project: Project, options: Options) -> list[Finding]:
    """Return the findings that are shown by default."""
    return [f for f in scan_python(source, project, options).findings if f.confidence.rank < 2]


def valid(text: str) -> bool:
    """Return whether Python takes a text."""
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def main() -> int:
    """Run over the files given and print a row for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--sample", type=int, default=0, help="at most so many mutants a file")
    parser.add_argument("--verbose", action="store_true", help="print every flagged mutant and its fix")
    arguments = parser.parse_args()
    total: Counter[str] = Counter()
    for file, text, candidates, project in mutated(arguments.paths, arguments.sample):
        options = Options(CODES, assume_out_of_order=True)
        known = {key_of(f) for f in sure(Source(str(file), text, text.encode()), project, options)}
        here: Counter[str] = Counter()
        for mutant in candidates:
            source = Source(str(file), mutant.text, mutant.text.encode())
            new = {key_of(f): f for f in sure(source, project, options) if key_of(f) not in known}
            if not new:
                continue
            fixes = offers(source, project, options, frozenset(new))
            kinds = {fixes[key].applicability if key in fixes else "none" for key in new}
            worst = "none" if "none" in kinds else "unsafe" if "unsafe" in kinds else "safe"
            if worst != "none":
                chosen = [f.fix for f in apart(replace(new[key], fix=fix) for key, fix in fixes.items()) if f.fix]
                fixed = applied(str(file), source.data, chosen)
                after = Source(str(file), fixed.decode(), fixed)
                moved = Counter(f.code for f in sure(after, project, options))
                if not valid(after.text) or moved - Counter(code for code, *_ in known):
                    worst = "broken"
            here[worst] += 1
            if arguments.verbose:
                said = "; ".join(fix.message for fix in fixes.values())
                codes = " ".join(sorted(f"{f.code}:{f.location.row}" for f in new.values()))
                print(f"  {file}:{mutant.row}: without {mutant.edge}: {codes}: {worst} {said}", flush=True)
        total += here
        if here:
            print(f"{file}: {dict(here)}", flush=True)
    flagged = total.total()
    fixed = total["safe"] + total["unsafe"]
    print(f"fixed {fixed} of {flagged} flagged mutants ({100 * fixed / max(flagged, 1):.0f} %)")
    print(f"  by a safe fix {total['safe']}, by an unsafe one {total['unsafe']}")
    print(f"  no fix {total['none']}, broken {total['broken']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
