"""Makes the version tables: `python -m kexec_lint.executorch.tables.generate --git REPOSITORY --wheels FOLDER`.

REPOSITORY is a clone of pytorch/executorch with its tags, FOLDER holds the Linux wheels of the releases
(`pip download --no-deps executorch==VERSION`). One JSON file a release is written beside this module:

operators by library, as the release's YAML files and generated sources register them; the operators and backends
that the wheel's runtime registers, read from its shared libraries; which portable operators check the selected
dtypes (`selective_build.h` seen before the switch macros), in which type they compute (`get_compute_type`) and
which of their numbers count; every CMake option that its build files declare or read. Without --wheels what is known
of the wheels stays as it is.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

import yaml

RELEASES = {
    **{
        version: f"v{version}"
        for version in ["0.4.0", "0.5.0", "0.6.0", "0.7.0", "1.0.1", "1.1.0", "1.2.0", "1.3.1", "1.4.1"]
    },
    # The clone has no tag of 1.5; main at this commit says version 1.5.0 and its kernels are those of the wheel.
    "1.5.1": "cff6f4dd32",
}
LIBRARIES = {
    "portable_ops_lib": "kernels/portable/functions.yaml",
    "optimized_ops_lib": "kernels/optimized/optimized.yaml",
    "quantized_ops_lib": "kernels/quantized/quantized.yaml",
    "portable_custom_ops": "kernels/portable/custom_ops.yaml",
    "cadence_ops_lib": "backends/cadence/aot/functions.yaml",
    "cortex_m_ops_lib": "backends/cortex_m/ops/operators.yaml",
}
WHEEL_PARTS = (
    "_portable_lib",
    "libqnn_executorch_backend",
    "libexecutorch.so",
    "libexecutorch_kernels_optimized.so",
    "libexecutorch_backend",
)
OPTION_USES = (
    r"\b(?:option|define_overridable_option|set_overridable_option)\(\s*(EXECUTORCH_\w+)",
    r"\$\{(EXECUTORCH_\w+)\}",
    r"\b(?:if|elseif)\s*\([^)]*?\b(EXECUTORCH_\w+)",
    r"\bDEFINED\s+(?:CACHE\{)?(EXECUTORCH_\w+)",
    r"\b(?:AND|OR|NOT|REQUIRES|CONFLICTS_WITH)\s+(EXECUTORCH_\w+)",
)
BACKEND = re.compile(rb"(?<=\x00)((?:Xnnpack|Openvino|Qnn|Vgf|CoreML|MPS|Vulkan)Backend)(?=\x00)")


class Tree:
    """The files of one commit of the clone."""

    def __init__(self, repository: Path, commit: str) -> None:
        self.repository = repository
        self.commit = commit
        listing = self._git("ls-tree", "-r", "--name-only", commit)
        self.names = listing.splitlines()
        self.known = frozenset(self.names)
        self._files: dict[str, str] = {}

    def _git(self, *arguments: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(self.repository), *arguments], capture_output=True, check=False, encoding="utf-8"
        )
        return done.stdout

    def read(self, name: str) -> str:
        """Return the text of a file, empty where the commit has none."""
        if name not in self._files:
            self._files[name] = self._git("show", f"{self.commit}:{name}")
        return self._files[name]


def yaml_operators(tree: Tree, name: str) -> list[str]:
    """Return the scoped names of a functions YAML, as gen_oplist's `--ops_schema_yaml_path` reads them."""
    return sorted(scoped(entry) for entry in yaml.safe_load(tree.read(name) or "[]") or [])


def scoped(entry: dict[str, str]) -> str:
    """Return the operator of an entry with its namespace."""
    name = entry.get("op") or entry["func"].split("(")[0]
    return name if "::" in name else f"aten::{name}"


def kernel_functions(tree: Tree) -> dict[str, str]:
    """Return the C++ function of each operator of the libraries, as the YAML files name it, first library
    first.
    """
    functions: dict[str, str] = {}
    for name in LIBRARIES.values():
        for entry in yaml.safe_load(tree.read(name) or "[]") or []:
            functions.setdefault(scoped(entry), entry["kernels"][0]["kernel_name"])
    return dict(sorted(functions.items()))


def prim_operators(tree: Tree) -> list[str]:
    """Return the operators of `static Kernel prim_ops[]`."""
    text = tree.read("kernels/prim_ops/register_prim_ops.cpp")
    return sorted(set(re.findall(r'Kernel\(\s*"([\w:.]+)"', text)))


def llm_operators(tree: Tree) -> list[str]:
    """Return the operators that extension/llm/custom_ops registers with EXECUTORCH_LIBRARY."""
    found = set()
    for name in tree.names:
        if name.startswith("extension/llm/custom_ops/op_") and name.endswith(".cpp"):
            for space, operator in re.findall(r'EXECUTORCH_LIBRARY\(\s*(\w+),\s*"([\w.]+)"', tree.read(name)):
                found.add(f"{space}::{operator}")
    return sorted(found)


def preprocess(tree: Tree, name: str) -> tuple[list[str], bool]:
    """Return the executorch headers a file opens and whether the switch macros were defined with the dtype check.

    `scalar_type_util.h` asks for `ET_INTERNAL_CHECK_SELECTIVE_BUILD` when it is first opened, so the check is
    there only if `selective_build.h` came before it.
    """
    opened: list[str] = []
    defined = active = False

    def visit(path: str) -> None:
        nonlocal defined, active
        for line in tree.read(path).splitlines():
            if match := re.match(r"\s*#\s*include <executorch/([^>]+)>", line):
                header = match[1]
                if header in tree.known and header not in opened:
                    opened.append(header)
                    visit(header)
            elif re.match(r"\s*#\s*define ET_INTERNAL_CHECK_SELECTIVE_BUILD\b", line):
                defined = True
            elif re.match(r"\s*#\s*ifdef ET_INTERNAL_CHECK_SELECTIVE_BUILD\b", line):
                active = defined

    visit(name)
    return opened, active


@dataclass
class KernelFacts:
    """What the sources of a release's portable kernels say, by operator."""

    checked: dict[str, str] = field(default_factory=dict)
    """The name under which the kernel asks for a type: a literal, not always its own (rand.out of 1.4.1 asks for
    randn.out)."""
    compute: dict[str, str] = field(default_factory=dict)
    """How the type it computes in follows from the promoted type of its inputs, Float for Half and BFloat16:
    `common`; `float`: Float for whole numbers too; `double`: Double for all but Float; `mixed`: Float where two types
    promote to a floating one."""
    promoted: dict[str, list[int]] = field(default_factory=dict)
    """The positions of the numbers that take part in the promotion."""
    values: dict[str, list[int]] = field(default_factory=dict)
    """The positions of the numbers whose own type (Bool, Long, Double) it asks for."""
    files: dict[str, str] = field(default_factory=dict)
    """The source file."""


def kernel_facts(tree: Tree) -> KernelFacts:
    """Read the sources of the portable kernels."""
    kernels = {
        scoped(entry): kernel["kernel_name"].split("::")[-1]
        for entry in yaml.safe_load(tree.read("kernels/portable/functions.yaml"))
        for kernel in entry["kernels"]
    }
    facts = KernelFacts()
    for path in tree.names:
        if not re.fullmatch(r"kernels/portable/cpu/op_\w+\.cpp", path):
            continue
        text = tree.read(path)
        opened, active = preprocess(tree, path)
        here = {operator: name for operator, name in kernels.items() if re.search(rf"\b{name}\(\s*Kernel", text)}
        facts.files.update(dict.fromkeys(here, path.rsplit("/", 1)[1].removesuffix(".cpp")))
        named = set(re.findall(r'"([\w:]+\.\w+)"', text))
        patterns = [header for header in opened if "/pattern/" in header]
        if active and ("ET_SWITCH" in text or "elementwise_fn" in text or patterns):
            for operator in here:
                own = operator.removeprefix("aten::")
                if own in named or len(named) == 1:
                    facts.checked[operator] = own if own in named else next(iter(named))
        functions = {name: body for source in (path, *patterns) for name, body in bodies(tree.read(source)).items()}
        for operator, name in here.items():
            computation(facts, operator, name, functions)
    return facts


def bodies(text: str) -> dict[str, str]:
    """Return the text of each function that takes a context, its parameters first."""
    starts = list(re.finditer(r"\b(\w+)(?=\(\s*(?:\[\[maybe_unused\]\]\s*)?(?:Kernel)?RuntimeContext&\s*\w)", text))
    ends = [*[match.start() for match in starts[1:]], len(text)]
    found: dict[str, str] = {}
    for match, end in zip(starts, ends, strict=False):
        found[match[1]] = found.get(match[1], "") + text[match.end() : end]
    return found


def computation(facts: KernelFacts, operator: str, name: str, functions: dict[str, str]) -> None:
    """Fill in how a kernel comes by the types that it asks for: itself, or the functions to which it leaves that."""
    called: dict[str, str] = {}
    waiting = [name]
    while waiting:
        current = waiting.pop()
        called[current] = functions.get(current, "")
        if "ET_SWITCH" not in called[current]:
            waiting += [other for other in functions if other not in called and f"{other}<" in called[current]]
    promoted, values = set(), set()
    for body in called.values():
        inside, rest = parenthesised(body)
        order = [parameter.split("=")[0].split()[-1].lstrip("&*") for parameter in inside.split(",")][1:]
        position = {parameter: index for index, parameter in enumerate(order)}
        promoted |= {
            position[number]
            for number in re.findall(r"promote_type_with_scalar\(\s*[\w.()]+,\s*(\w+)", rest)
            if number in position
        }
        for variable, number in re.findall(r"(\w+)\s*=\s*(?:utils::)?get_scalar_dtype\(\s*(\w+)", rest):
            if number in position and re.search(rf"ET_SWITCH_\w+\(\s*(?:[A-Z]\w+,\s*)*{variable}\b", rest):
                values.add(position[number])
    text = "".join(called.values())
    if promoted:
        facts.promoted[operator] = sorted(promoted)
    if values:
        facts.values[operator] = sorted(values)
    if "utils::get_compute_type(" not in text:
        return
    if re.search(r"compute_type != ScalarType::Float\) \{\s*compute_type = ScalarType::Double", text):
        facts.compute[operator] = "double"
    elif re.search(r"scalar_type\(\) != \w+\.scalar_type\(\)\) \{\s*common_type = ScalarType::Float", text):
        facts.compute[operator] = "mixed"
    elif re.search(r"\bget_common_type\(|isFloatingType\([^?;]*\?[^:;]*: ScalarType::Float", text):
        facts.compute[operator] = "float"
    else:
        facts.compute[operator] = "common"


def parenthesised(text: str) -> tuple[str, str]:
    """Return what the parentheses at the start of the text hold, and what follows."""
    depth = 0
    for index, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return text[1:index], text[index + 1 :]
    return "", text


def options(tree: Tree) -> list[str]:
    """Return every EXECUTORCH_ name that the release's CMake files declare as an option or read."""
    found: set[str] = set()
    for name in tree.names:
        if name.startswith(("examples/", "test/", ".ci/", "third-party/")):
            continue
        if name.endswith((".cmake", "CMakeLists.txt")):
            code = re.sub(r"#.*", "", tree.read(name))
            for pattern in OPTION_USES:
                found.update(re.findall(pattern, code))
    return sorted(found)


def wheel_registers(folder: Path, version: str, known: set[str]) -> tuple[list[str], list[str]]:
    """Return those of the known operators, and the backends, whose names the wheel's runtime libraries hold."""
    operators: set[str] = set()
    backends: set[str] = set()
    for wheel in folder.glob(f"executorch-{version}-*.whl"):
        archive = zipfile.ZipFile(wheel)
        for name in archive.namelist():
            if name.endswith(".so") and any(part in name for part in WHEEL_PARTS):
                data = archive.read(name)
                # The linker merges a string into the tail of a longer one, so only the end of a name is sure.
                operators |= {operator for operator in known if operator.encode() + b"\0" in data}
                backends |= {match.decode() for match in BACKEND.findall(data)}
    return sorted(operators), sorted(backends)


def main() -> None:
    """Write the table of every release of RELEASES."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--git", type=Path, required=True)
    parser.add_argument("--wheels", type=Path)
    arguments = parser.parse_args()
    for version, commit in RELEASES.items():
        path = Path(__file__).with_name(f"{version}.json")
        tree = Tree(arguments.git, commit)
        libraries = {library: yaml_operators(tree, name) for library, name in LIBRARIES.items()}
        libraries["custom_ops"] = llm_operators(tree)
        prim = prim_operators(tree)
        facts = kernel_facts(tree)
        known = {*libraries["portable_ops_lib"], *libraries["optimized_ops_lib"], *prim}
        if arguments.wheels is None:
            wheel = json.loads(path.read_text(encoding="utf-8"))["wheel"]
        else:
            registered, backends = wheel_registers(arguments.wheels, version, known)
            wheel = {"operators": registered, "backends": backends}
        table = {
            "release": version,
            "commit": commit,
            "libraries": libraries,
            "prim": prim,
            "kernel_functions": kernel_functions(tree),
            "wheel": wheel,
            "dtype_checked": dict(sorted(facts.checked.items())),
            "dtype_compute": dict(sorted(facts.compute.items())),
            "dtype_promoted": dict(sorted(facts.promoted.items())),
            "dtype_values": dict(sorted(facts.values.items())),
            "kernel_files": dict(sorted(facts.files.items())),
            "options": options(tree),
        }
        path.write_text(json.dumps(table, indent=0) + "\n", encoding="utf-8")
        print(version, len(wheel["operators"]), "operators in the wheel,", len(facts.checked), "check dtypes")


if __name__ == "__main__":
    main()
