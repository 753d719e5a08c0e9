"""Runs executorch's own gen_oplist and codegen on programs; prints JSON: program → operator → emitted kernel keys.

`python codegen.py FOLDER` works on every .pte of a folder, and merges them with gen_all_oplist into one more build.
The wheel has no templates, so minimal ones are written here: their variables are those that `codegen/gen.py` fills.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import sys
from pathlib import Path

import executorch
import torchgen
from executorch.codegen import gen
from executorch.codegen.tools import gen_all_oplist, gen_oplist

ROOT = Path(next(iter(executorch.__path__)))
ATEN = Path(torchgen.__file__).parent / "packaged/ATen/native"
TEMPLATES = {
    "RegisterCodegenUnboxedKernels.cpp": '#include "${fn_header}"\n${unboxed_kernels}\n',
    "RegisterKernels.cpp": '#include "${fn_header}"\n${unboxed_kernels}\n',
    "RegisterKernels.h": "// ${generated_comment}\n",
    "Functions.h": "${static_dispatch_extra_headers}\n${Functions_declarations}\n",
    "NativeFunctions.h": "${headers}\n${nativeFunctions_declarations}\n",
    "RegisterDispatchKeyCustomOps.cpp": "${dispatch_anonymous_definitions}\n",
    "RegisterSchema.cpp": "${schema_registrations}\n",
}
_KERNEL = re.compile(r'Kernel\(\s*"(?P<operator>[^"]+)",(?:\s*"(?P<key>v1/[^"]*)",)?')


def emitted(selection: Path, folder: Path) -> dict[str, list[str]]:
    """Return what codegen registers for a selected_operators.yaml, operator → keys."""
    folder.mkdir(exist_ok=True)
    arguments = [
        f"--source-path={folder.parent / 'source'}",
        f"--install-dir={folder}",
        f"--tags-path={ATEN / 'tags.yaml'}",
        f"--aten-yaml-path={ATEN / 'native_functions.yaml'}",
        f"--op-selection-yaml-path={selection}",
        f"--functions-yaml-path={ROOT / 'kernels/portable/functions.yaml'}",
    ]
    with contextlib.redirect_stdout(io.StringIO()):
        sys.argv = ["gen.py", *arguments]
        gen.main()
    found: dict[str, list[str]] = {}
    for file in folder.glob("RegisterCodegenUnboxedKernels*.cpp"):
        if "Everything" in file.name:
            for match in _KERNEL.finditer(file.read_text()):
                found.setdefault(match["operator"], []).append(match["key"] or "default")
    return {operator: sorted(keys) for operator, keys in found.items()}


def main(folder: Path, work: Path) -> dict[str, dict[str, list[str]]]:
    templates = work / "source/templates"
    templates.mkdir(parents=True)
    for name, text in TEMPLATES.items():
        (templates / name).write_text(text)
    result = {}
    selections = []
    for program in sorted(folder.glob("*.pte")):
        selection = work / f"{program.stem}.yaml"
        gen_oplist.gen_oplist(selection, model_file_path=str(program))
        selections.append(selection)
        result[program.name] = emitted(selection, work / program.stem)
    (work / "list").write_text("\n".join(map(str, selections)))
    gen_all_oplist.main([f"--model_file_list_path=@{work / 'list'}", f"--output_dir={work}"])
    result["all"] = emitted(work / "selected_operators.yaml", work / "all")
    return result


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), Path(sys.argv[2]))))
