r"""Write kexec_lint/boundary/data/ioctl/ from kernel UAPI headers: request numbers, argument sizes, classes.

    python scripts/ioctl_tables.py --uapi LINUX/include/uapi --kgsl msm_kgsl.h --mali MALI/include/uapi \
        --xe xe_drm.h

Only facts leave the headers (names, numbers, sizes); each table names the header that it was read from.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import tempfile
from pathlib import Path

OUT = Path(__file__).parents[1] / "kexec_lint" / "boundary" / "data"

CLASSES = [
    ("legacy", r"(SET_VERSION|GET_CLIENT|GET_MAGIC|AUTH_MAGIC|SET_MASTER|DROP_MASTER|IRQ_BUSID|GET_MAP|BLOCK)$"),
    ("wait", r"WAIT|GEM_BUSY|BO_BUSY|CPU_PREP|THROTTLE|TIMEDWAIT|_BUSY$|QUERY_DEBUG_EVENT|DQEVENT"),
    (
        "query",
        r"(GET_?PARAM|QUERY|DEVINFO|_INFO|GET_CAP|SET_CLIENT_CAP|VERSION|GET_UNIQUE|GET_STATS|GETPROPERTY|GET_PROPERTY|"
        r"GET_APERTURE|GETPARAM|CONTEXT_[GS]ETPARAM|GPUPROPS|GET_CAPS|GET_COUNTER|RESET_STATS|GET_STATE|"
        r"TIMEINFO|CHECK_VERSION_STR|CARD_INFO|SYS_PARAMS|UUID_TABLE|GET_DDK|GET_CONTEXT_ID|PRIORITY_CHECK|"
        r"PREEMPTIONCOUNTER|PERFCOUNTER|GET_CLOCK|SET_XNACK_MODE|GET_PROCESS_APERTURES|READ_REG|REG_READ|PAGEABLE_MEM_ACCESS|"
        r"IS_8_SUPPORTED|AVAILABLE_MEMORY|GET_TILE_CONFIG)",
    ),
    (
        "submit",
        r"(EXECBUFFER2?(_WR)?|XE_EXEC|NOUVEAU_EXEC|[A-Z]+_CS|SUBMIT(_\w+)?|PUSHBUF|SUBMIT_COMMANDS|ISSUEIB\w*|"
        r"GPU_COMMAND|GPU_AUX_COMMAND|USERQ|USERQ_SIGNAL|CS_QUEUE_KICK|KCPU_QUEUE_ENQUEUE|JOB_SUBMIT|SUBMIT_CL|EXECBUF|"
        r"RINGBUFFER_ISSUEIBCMDS|PERFCNT_QUERY|TRANSFER_(TO|FROM)_HOST|WRITE_REGISTER|EXECUTE_BO|PARTIAL_EXECUTE_BO)$",
    ),
    ("display", r"DRM_IOCTL_MODE_(?!CREATE_DUMB|MAP_DUMB|DESTROY_DUMB)|MODESET|CURSOR|OVERLAY|CRTC|SPRITE|VBLANK"),
    ("alloc", r"SUBMITQUEUE_NEW|CREATE_FREE_LIST"),
    (
        "free",
        r"CLOSE|DESTROY|_FREE|UNMAP|UNREGISTER|RELEASE|_TERM|DELETE|UNPIN|_RM_FREE|REMOVE|UNBIND|UNSET|DISABLE",
    ),
    (
        "map",
        r"MMAP|_MAP|GEM_VA|VM_BIND|MEM_VA|MAP_MEMORY|BIND|MEM_COMMIT|MEM_ALIAS|SET_DOMAIN|MIGRATE|CREATE_EXTERNAL_RANGE|"
        r"DUP_OBJECT|SET_GTT|PIN",
    ),
    ("alloc", r"CREATE|ALLOC|USERPTR|IMPORT|_NEW|GEM_OPEN|PRIME|REGISTER|ACQUIRE_VM|INITIALIZE|ATTACH|_INIT"),
]

DRM = [
    "i915",
    "xe",
    "amdgpu",
    "radeon",
    "nouveau",
    "msm",
    "panfrost",
    "panthor",
    "v3d",
    "vc4",
    "virtgpu",
    "etnaviv",
    "lima",
    "pvr",
    "qxl",
    "tegra",
]
ACCEL = ["ivpu", "qaic", "habanalabs"]
NODES = {
    "drm": r"(?:^|/)dev/(?:dri/(?:(?:card|renderD|controlD)\d+|by-path/[^/]+-(?:card|render))|drm/\d+)$",
    "accel": r"(?:^|/)dev/accel/accel\d+$",
}


def classify(name: str) -> str:
    """Return the first class whose pattern occurs in `name`; "other" if none does."""
    return next((kind for kind, pattern in CLASSES if re.search(pattern, name)), "other")


def evaluate(includes: list[str], names: list[str], options: list[str]) -> dict[str, int]:
    """Return the value of each macro as a C compiler sees it; a macro that is no constant is left out."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "print.c"
        body = "".join(f'  printf("{n} %lu\\n", (unsigned long)(unsigned int)({n}));\n' for n in names)
        head = "#include <stdio.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <linux/types.h>\n"
        head += "".join(f"#include {i}\n" for i in includes)
        source.write_text(head + "int main(void) {\n" + body + "  return 0;\n}\n")
        subprocess.run(["cc", "-w", "-D__user=", *options, "-o", f"{folder}/print", str(source)], check=True)
        text = subprocess.run([f"{folder}/print"], check=True, capture_output=True, text=True).stdout
    return {name: int(value) for name, value in (line.split() for line in text.splitlines())}


def macros(header: Path, pattern: str) -> list[str]:
    """Return the names of the object-like macros of one header that match `pattern`, in its order."""
    found = re.findall(r"^#\s*define\s+([A-Z][A-Z0-9_a-z]*)(?=[ \t\\])", header.read_text(), re.M)
    return [n for n in dict.fromkeys(found) if re.fullmatch(pattern, n)]


def write(driver: str, nodes: str, source: str, values: dict[str, int], extra: list[list[object]] = []) -> None:  # noqa: B006
    """Write one driver's table: request rows are [name, direction, type, nr, size, class]."""
    rows: list[list[object]] = []
    for name, value in values.items():
        direction = ("none", "write", "read", "both")[value >> 30]
        rows.append([name, direction, value >> 8 & 0xFF, value & 0xFF, value >> 16 & 0x3FFF, classify(name)])
    rows += extra
    head = json.dumps({"driver": driver, "nodes": nodes, "source": source})[:-1]
    text = head + ', "requests": [\n' + ",\n".join(" " + json.dumps(r) for r in rows) + "\n]}\n"
    (OUT / "ioctl" / f"{driver}.json").write_text(text)
    print(f"{driver}: {len(rows)} requests")


def drm_tables(uapi: Path, release: str, xe: Path | None) -> None:
    """Write the tables of the DRM core and of each DRM and accel driver."""
    core = macros(uapi / "drm" / "drm.h", r"DRM_IOCTL_(?!BASE|NR|DEF)\w+")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "drm").symlink_to(uapi / "drm")
        options = [f"-I{folder}", f"-I{folder}/drm"]
        for driver in ["drm", *DRM, *ACCEL]:
            name = "drm.h" if driver == "drm" else f"{driver}_{'accel' if driver in ACCEL else 'drm'}.h"
            header, source = uapi / "drm" / name, f"{release}, include/uapi/drm/{name}"
            if driver == "xe" and xe:
                header, source = xe, "Linux 7.0, include/uapi/drm/xe_drm.h"
            wanted = (
                core
                if driver == "drm"
                else [
                    n for n in macros(header, r"DRM_IOCTL_\w+") if n not in core and not n.startswith("DRM_IOCTL_DEF")
                ]
            )
            values = evaluate([f'"{header}"'], wanted, options)
            write(driver, NODES["accel" if driver in ACCEL else "drm"], source, values, NEWER.get(driver, []))


NEWER: dict[str, list[list[object]]] = {
    # Linux 6.16 amdgpu user queues: numbers from amdgpu_drm.h of that release, sizes not read (null matches any).
    "amdgpu": [
        ["DRM_IOCTL_AMDGPU_USERQ", "both", 0x64, 0x56, None, "submit"],
        ["DRM_IOCTL_AMDGPU_USERQ_SIGNAL", "both", 0x64, 0x57, None, "submit"],
        ["DRM_IOCTL_AMDGPU_USERQ_WAIT", "both", 0x64, 0x58, None, "wait"],
    ],
    # The job-manager generation of Mali (Midgard, Bifrost): kbase jm/mali_kbase_jm_ioctl.h.
    "mali": [
        ["KBASE_IOCTL_JOB_SUBMIT", "write", 0x80, 2, 16, "submit"],
        ["KBASE_IOCTL_POST_TERM", "none", 0x80, 4, 0, "free"],
        ["KBASE_IOCTL_SOFT_EVENT_UPDATE", "write", 0x80, 28, 16, "other"],
    ],
}


def main() -> None:
    """Read the command line and write every table that its headers allow."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--uapi", type=Path, required=True, help="include/uapi of a kernel source tree")
    parser.add_argument("--release", default="Linux 6.12")
    parser.add_argument("--kgsl", type=Path, required=True, help="msm_kgsl.h")
    parser.add_argument("--mali", type=Path, required=True, help="include/uapi of a kbase tree")
    parser.add_argument("--xe", type=Path, help="a newer xe_drm.h than that of --uapi")
    a = parser.parse_args()
    (OUT / "ioctl").mkdir(parents=True, exist_ok=True)
    drm_tables(a.uapi, a.release, a.xe)
    for driver, header, pattern, nodes in (
        ("kfd", "kfd_ioctl.h", r"AMDKFD_IOC_\w+", r"(?:^|/)dev/kfd$"),
        (
            "dma-buf",
            "dma-buf.h",
            r"DMA_BUF_(?:IOCTL_\w+|SET_NAME\w*)",
            r"^(?:anon_inode:\[?dmabuf\]?|/?dmabuf:?.*)$",
        ),
        ("dma-heap", "dma-heap.h", r"DMA_HEAP_IOCTL_ALLOC", r"(?:^|/)dev/dma_heap/[\w-]+$"),
        (
            "sync",
            "sync_file.h",
            r"SYNC_IOC_\w+",
            r"^anon_inode:\[?sync_file\]?$|(?:^|/)(?:dev/sw_sync|sync/sw_sync)$",
        ),
    ):
        path = a.uapi / "linux" / header
        skip = {"SYNC_IOC_MAGIC"}
        names = [n for n in macros(path, pattern) if n not in skip]
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "drm").symlink_to(a.uapi / "drm")
            found = evaluate([f'"{path}"'], names, [f"-I{folder}", f"-I{folder}/drm"])
        write(driver, nodes, f"{a.release}, include/uapi/linux/{header}", found)
    found = evaluate([f'"{a.kgsl}"'], macros(a.kgsl, r"IOCTL_KGSL_\w+"), [])
    write("kgsl", r"(?:^|/)dev/kgsl-3d\d$", "Qualcomm kgsl, include/uapi/linux/msm_kgsl.h", found)
    midgard = a.mali / "gpu/arm/midgard"
    names = macros(
        midgard / "mali_kbase_ioctl.h", r"KBASE_IOCTL_(?!TYPE|EXTRA|TEST|TLSTREAM_STATS|STICKY_RESOURCE_MAP_2)\w+"
    )
    names += macros(midgard / "csf/mali_kbase_csf_ioctl.h", r"KBASE_IOCTL_(?!VERSION_CHECK_RESERVED)\w+")
    names = [
        n
        for n in dict.fromkeys(names)
        if re.search(
            rf"#define {n}\b[\s\\]*_IO[WR]*\(KBASE_IOCTL_TYPE",
            (midgard / "mali_kbase_ioctl.h").read_text() + (midgard / "csf/mali_kbase_csf_ioctl.h").read_text(),
        )
    ]
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "uapi").symlink_to(a.mali)
        found = evaluate(
            ['"uapi/gpu/arm/midgard/csf/mali_kbase_csf_ioctl.h"', '"uapi/gpu/arm/midgard/mali_kbase_ioctl.h"'],
            names,
            [f"-I{folder}", f"-I{a.mali}"],
        )
    write(
        "mali",
        r"(?:^|/)dev/mali\d+$",
        "Arm kbase r5xp, include/uapi/gpu/arm/midgard (CSF and common)",
        found,
        NEWER["mali"],
    )


if __name__ == "__main__":
    main()
