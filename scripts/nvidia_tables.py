"""Write NVIDIA's tables in kexec_lint/boundary/data/: requests, status codes, where structs keep an NvStatus.

    python scripts/nvidia_tables.py RELEASES

RELEASES holds one folder a release of open-gpu-kernel-modules, named like it (580.105.08). Structs change between
releases, so a place is written with the release since which it holds.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from ioctl_tables import OUT, classify, evaluate, macros, write

RM_STRUCTS = {
    # escape → parameter structs and their status member; the size in the request tells the variants apart
    "NV_ESC_RM_ALLOC_MEMORY": [("nv_ioctl_nvos02_parameters_with_fd", "params.status")],
    "NV_ESC_RM_ALLOC_OBJECT": [("NVOS05_PARAMETERS", "status")],
    "NV_ESC_RM_FREE": [("NVOS00_PARAMETERS", "status")],
    "NV_ESC_RM_CONTROL": [("NVOS54_PARAMETERS", "status")],
    "NV_ESC_RM_ALLOC": [("NVOS21_PARAMETERS", "status"), ("NVOS64_PARAMETERS", "status")],
    "NV_ESC_RM_DUP_OBJECT": [("NVOS55_PARAMETERS", "status")],
    "NV_ESC_RM_SHARE": [("NVOS57_PARAMETERS", "status")],
    "NV_ESC_RM_IDLE_CHANNELS": [("NVOS30_PARAMETERS", "status")],
    "NV_ESC_RM_VID_HEAP_CONTROL": [("NVOS32_PARAMETERS", "status")],
    "NV_ESC_RM_MAP_MEMORY": [("nv_ioctl_nvos33_parameters_with_fd", "params.status")],
    "NV_ESC_RM_UNMAP_MEMORY": [("NVOS34_PARAMETERS", "status")],
    "NV_ESC_RM_ALLOC_CONTEXT_DMA2": [("NVOS39_PARAMETERS", "status")],
    "NV_ESC_RM_MAP_MEMORY_DMA": [("NVOS46_PARAMETERS", "status")],
    "NV_ESC_RM_UNMAP_MEMORY_DMA": [("NVOS47_PARAMETERS", "status")],
    "NV_ESC_RM_BIND_CONTEXT_DMA": [("NVOS49_PARAMETERS", "status")],
    "NV_ESC_RM_UPDATE_DEVICE_MAPPING_INFO": [("NVOS56_PARAMETERS", "status")],
    "NV_ESC_ALLOC_OS_EVENT": [("nv_ioctl_alloc_os_event_t", "Status")],
    "NV_ESC_FREE_OS_EVENT": [("nv_ioctl_free_os_event_t", "Status")],
    "NV_ESC_EXPORT_TO_DMABUF_FD": [("nv_ioctl_export_to_dma_buf_fd_t", "status")],
    "NV_ESC_WAIT_OPEN_COMPLETE": [("nv_ioctl_wait_open_complete_t", "adapterStatus")],
}


def version(name: str) -> tuple[int, ...]:
    """Return a release's name as numbers, for sorting."""
    return tuple(int(part) for part in name.split("."))


def options(root: Path) -> list[str]:
    """Return the include folders of a release."""
    inner = (
        "kernel-open/common/inc",
        "src/nvidia/arch/nvalloc/unix/include",
        "src/common/sdk/nvidia/inc",
        "kernel-open/nvidia-uvm",
    )
    return [f"-I{root / folder}" for folder in inner]


def requests(root: Path) -> tuple[dict[str, int], dict[str, int]]:
    """Return the request numbers of RM and of UVM."""
    inc, escape = root / "kernel-open/common/inc", root / "src/nvidia/arch/nvalloc/unix/include/nv_escape.h"
    names = macros(escape, r"NV_ESC_\w+") + macros(inc / "nv-ioctl-numbers.h", r"NV_ESC_\w+")
    names += macros(inc / "nv-ioctl-numa.h", r"NV_ESC_\w+")
    includes = ["<nvtypes.h>", "<nv_escape.h>", "<nv-ioctl-numbers.h>", "<nv-ioctl-numa.h>"]
    found = re.findall(r"^#define\s+(UVM_\w+)\s+(?:UVM_IOCTL_BASE\((\d+)\)|(0x3000000\d))", uvm_text(root), re.M)
    return evaluate(includes, names, options(root)), {n: int(a) if a else int(b, 16) for n, a, b in found}


def uvm_text(root: Path) -> str:
    """Return both headers of UVM."""
    folder = root / "kernel-open/nvidia-uvm"
    return (folder / "uvm_ioctl.h").read_text() + (folder / "uvm_linux_ioctl.h").read_text()


def places(root: Path) -> dict[tuple[str, str, int | None], int]:
    """Return (request, driver, struct size or None) → byte offset of the NvStatus."""
    headers = ("src/common/sdk/nvidia/inc/nvos.h", "src/nvidia/arch/nvalloc/unix/include/nv-ioctl.h",
               "src/nvidia/arch/nvalloc/unix/include/nv-unix-nvos-params-wrappers.h")  # fmt: skip
    text = "".join((root / h).read_text() for h in headers)
    rm = [(e, s, m) for e, structs in RM_STRUCTS.items() for s, m in structs if re.search(rf"\b{s}\s*;", text)]
    includes = ["<nvtypes.h>", "<nvos.h>", "<nv-ioctl.h>", "<nv-unix-nvos-params-wrappers.h>"]
    sizes = constants(includes, [f"sizeof({s})" for _, s, _ in rm], options(root))
    offsets = constants(includes, [f"offsetof({s}, {m})" for _, s, m in rm], options(root))
    found: dict[tuple[str, str, int | None], int] = {
        (escape, "nvidia", size): offset for (escape, _, _), size, offset in zip(rm, sizes, offsets, strict=True)
    }
    text = uvm_text(root)
    structs = {}
    for match in re.finditer(
        r"#define\s+(UVM_\w+)\s+(?:UVM_IOCTL_BASE\(\d+\)|0x3\d+)\s*typedef struct([^#]*?)\}\s*(UVM_\w+PARAMS)",
        text,
    ):
        if "rmStatus;" in match[2] and "_BACKING" not in match[1]:  # those two are inside a comment
            structs[match[1]] = match[3]
    offsets = constants(
        ['"nvtypes.h"', '"uvm_linux_ioctl.h"'],
        [f"offsetof({s}, rmStatus)" for s in structs.values()],
        options(root),
    )
    found |= {(name, "nvidia-uvm", None): offset for name, offset in zip(structs, offsets, strict=True)}
    return found


def constants(includes: list[str], expressions: list[str], options: list[str]) -> list[int]:
    """Return the values of constant C expressions, in order."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "print.c"
        body = "".join(f'  printf("%lu\\n", (unsigned long)({e}));\n' for e in expressions)
        head = "#include <stdio.h>\n#include <stddef.h>\n" + "".join(f"#include {i}\n" for i in includes)
        source.write_text(head + "int main(void) {\n" + body + "  return 0;\n}\n")
        subprocess.run(["cc", "-w", "-D__user=", *options, "-o", f"{folder}/print", str(source)], check=True)
        text = subprocess.run([f"{folder}/print"], check=True, capture_output=True, text=True).stdout
    return [int(line) for line in text.split()]


def main() -> None:
    """Read every release and write the tables of the newest, places since when they hold."""
    roots = sorted((p for p in Path(sys.argv[1]).iterdir() if p.is_dir()), key=lambda p: version(p.name))
    newest = f"NVIDIA open-gpu-kernel-modules {roots[-1].name}"
    rm, uvm = requests(roots[-1])
    rows = [[n, "both", 0x46, v, None, classify(n)] for n, v in rm.items()]
    write("nvidia", r"(?:^|/)dev/nvidia(?:ctl|\d+)$", f"{newest}, nv_escape.h, nv-ioctl-numbers.h", {}, rows)
    rows = [[n, "none", v >> 8 & 0xFF, v & 0xFF, v >> 16, classify(n)] for n, v in uvm.items()]
    write("nvidia-uvm", r"(?:^|/)dev/nvidia-uvm(?:-tools)?$", f"{newest}, uvm_ioctl.h, uvm_linux_ioctl.h", {}, rows)
    current: dict[tuple[str, str, int | None], int | None] = {}
    table: list[list[object]] = []
    for root in roots:
        now = places(root)
        for key in now.keys() | current.keys():
            if now.get(key) != current.get(key):
                since = None if root is roots[0] else root.name
                table.append([*key, now.get(key), since])
                current[key] = now.get(key)
    table = [row for row in table if row[0] in rm or row[0] in uvm]
    table.sort(key=lambda row: (row[1], row[0], row[2] or 0, version(row[4]) if row[4] else ()))
    codes = re.findall(
        r"^NV_STATUS_CODE\((NV_\w+),\s*(0x[0-9A-Fa-f]+),",
        (roots[-1] / "kernel-open/common/inc/nvstatuscodes.h").read_text(),
        re.M,
    )
    status = {
        "source": f"NVIDIA open-gpu-kernel-modules {roots[0].name} to {roots[-1].name}: nvstatuscodes.h, nvos.h, "
        "nv-ioctl.h, uvm_ioctl.h",
        "codes": {str(int(value, 16)): name for name, value in codes},
    }
    text = (
        json.dumps(status, indent=1)[:-2]
        + ',\n "places": [\n'
        + ",\n".join("  " + json.dumps(r) for r in table)
        + "\n ]\n}\n"
    )
    (OUT / "nvstatus.json").write_text(text)
    print(f"{len(table)} places, {len([r for r in table if r[4]])} of them since a later release")


if __name__ == "__main__":
    main()
