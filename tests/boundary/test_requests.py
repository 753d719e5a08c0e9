"""Request numbers, nodes and drivers: the tables against themselves and against forms that tracers print."""

# ruff: noqa: E501 - lines of logs stand as the tracers print them

from __future__ import annotations

import json
from importlib.resources import files

import pytest
from judged import report

from kexec_lint.boundary.requests import candidates, family_of, parse_request, tables

NODES = [
    ("/dev/dri/renderD128", "drm"), ("/dev/dri/card1", "drm"), ("/dev/dri/renderD129<char 226:129>", "drm"),
    ("/tmp/x/dev/dri/renderD128", "drm"), ("/dev/kfd", "kfd"), ("/dev/nvidiactl", "nvidia"), ("/dev/nvidia12", "nvidia"),
    ("/dev/nvidia-uvm", "nvidia-uvm"), ("/dev/nvidia-uvm-tools", "nvidia-uvm"), ("/dev/kgsl-3d0", "kgsl"),
    ("/dev/mali0", "mali"), ("/dev/dma_heap/system", "dma-heap"), ("anon_inode:dmabuf", "dma-buf"),
    ("/dmabuf:", "dma-buf"), ("anon_inode:sync_file", "sync"), ("/dev/accel/accel0", "accel"), ("/dev/dxg", "other"),
    ("/dev/nvidia-caps/nvidia-cap1", "other"), ("/dev/gpu<char 195:255>", "nvidia"), ("/dev/null", None),
    ("/dev/pts/3<char 136:3>", None), ("/usr/lib/libkfd.so", None), ("/dev/dri", None), ("/proc/driver/nvidia/version", None),
    ("/home/u/dev/drivers/card0", None), ("anon_inode:[eventfd]", None), ("/etc/rsync.conf", None),
]  # fmt: skip


@pytest.mark.parametrize(("path", "family"), NODES)
def test_family(path: str, family: str | None) -> None:
    assert family_of(path) == family


REQUESTS = [
    ("DRM_IOCTL_AMDGPU_CS", "drm", {"DRM_IOCTL_AMDGPU_CS"}),
    ("0xc0186444", "drm", {"DRM_IOCTL_AMDGPU_CS"}),
    ("0xc0186444 /* DRM_IOCTL_AMDGPU_CS */", "drm", {"DRM_IOCTL_AMDGPU_CS"}),
    ("_IOC(_IOC_READ|_IOC_WRITE, 0x64, 0x44, 0x18)", "drm", {"DRM_IOCTL_AMDGPU_CS"}),
    ("(READ|WRITE, 0x64, 0x44, 0x18)", "drm", {"DRM_IOCTL_AMDGPU_CS"}),
    ("0xc0186444 { IORW 0x64('d'), 68, 24 }", "drm", {"DRM_IOCTL_AMDGPU_CS"}),
    ("_IOC(_IOC_READ|_IOC_WRITE, 0x64, 0xc3, 0x28)", "drm", {"DRM_IOCTL_SYNCOBJ_WAIT"}),
    ("_IOC(_IOC_READ|_IOC_WRITE, 0x4b, 0x2, 0x60)", "kfd", {"AMDKFD_IOC_CREATE_QUEUE"}),
    ("_IOC(_IOC_READ|_IOC_WRITE, 0x4b, 0x2, 0x58)", "kfd", {"AMDKFD_IOC_CREATE_QUEUE"}),
    ("_IOC(_IOC_READ|_IOC_WRITE, 0x46, 0x2a, 0x20)", "nvidia", {"NV_ESC_RM_CONTROL"}),
    ("_IOC(_IOC_READ|_IOC_WRITE, 0x46, 0xd7, 0x230)", "nvidia", {"NV_ESC_NUMA_INFO"}),
    ("_IOC(_IOC_READ|_IOC_WRITE, 0x46, 0xce, 0x10)", "nvidia", {"NV_ESC_ALLOC_OS_EVENT"}),
    ("_IOC(_IOC_NONE, 0, 0x1b, 0)", "nvidia-uvm", {"UVM_REGISTER_CHANNEL"}),
    ("_IOC(_IOC_NONE, 0, 0x1, 0x3000)", "nvidia-uvm", {"UVM_INITIALIZE"}),
    ("_IOC(_IOC_NONE, 0, 0x4b, 0)", "nvidia-uvm", {"UVM_MM_INITIALIZE"}),
    ("_IOC(_IOC_READ|_IOC_WRITE, 0x9, 0x3d, 0x38)", "kgsl", {"IOCTL_KGSL_SUBMIT_COMMANDS"}),
    ("0xc038093d", "kgsl", {"IOCTL_KGSL_SUBMIT_COMMANDS"}),
    ("_IOC(_IOC_WRITE, 0x80, 0x2, 0x10)", "mali", {"KBASE_IOCTL_JOB_SUBMIT"}),
    ("_IOC(_IOC_WRITE, 0x80, 0x25, 0x8)", "mali", {"KBASE_IOCTL_CS_QUEUE_KICK"}),
    ("DMA_BUF_IOCTL_SYNC", "dma-buf", {"DMA_BUF_IOCTL_SYNC"}),
    ("DRM_IOCTL_NOVA_GEM_CREATE", "drm", {"DRM_IOCTL_NOVA_GEM_CREATE"}),
]


@pytest.mark.parametrize(("printed", "family", "names"), REQUESTS)
def test_request(printed: str, family: str, names: set[str]) -> None:
    assert {r.name for r in candidates(printed, family)} == names


@pytest.mark.parametrize("driver", sorted(tables().by_driver))
def test_every_row_is_found_by_number_and_by_name(driver: str) -> None:
    for row in tables().by_driver[driver]:
        family = {"ivpu": "accel", "qaic": "accel", "habanalabs": "accel"}.get(driver)
        family = family or ("drm" if row.type == 0x64 and driver not in ("kfd",) else driver)
        assert row in candidates(row.name, family)
        number = row.direction << 30 | (row.size or 0) << 16 | row.type << 8 | row.nr
        if row.size is not None:
            assert row in candidates(hex(number), family)
        assert row.kind in {"submit", "wait", "query", "alloc", "map", "free", "legacy", "display", "other"}


def test_every_driver_has_a_submission() -> None:
    silent = {
        "kfd",
        "nvidia",
        "nvidia-uvm",
        "dma-buf",
        "dma-heap",
        "sync",
        "other",
        "drm",
    }  # doorbells, or no queue
    for driver in set(tables().by_driver) - silent:
        assert any(r.kind == "submit" for r in tables().by_driver[driver]), driver


def test_sources_are_named() -> None:
    for entry in (files("kexec_lint.boundary") / "data" / "ioctl").iterdir():
        assert json.loads(entry.read_text())["source"]


def test_perf_names_every_driver_as_i915() -> None:
    names, number = parse_request("DRM_I915_IRQ_EMIT")
    assert names == ()
    assert number is not None
    assert (number.type, number.nr, number.size) == (0x64, 0x44, None)


SEVERAL = "DRM_IOCTL_AMDGPU_CTX or DRM_IOCTL_ETNAVIV_GEM_NEW or DRM_IOCTL_MSM_GEM_NEW or DRM_IOCTL_I915_FLIP"
AMBIGUOUS = (
    'openat(AT_FDCWD, "/dev/dri/renderD128", O_RDWR) = 3\n{more}ioctl(3, '
    + SEVERAL
    + ", 0x7f) = -1 EIO (Input/output error)\n"
)


@pytest.mark.parametrize(
    ("more", "driver"),
    [
        ("", None),
        ("ioctl(3, DRM_IOCTL_AMDGPU_INFO, 0x7f) = 0\n", "amdgpu"),
        ("ioctl(3, DRM_IOCTL_MSM_GET_PARAM, 0x7f) = 0\n", "msm"),
        (
            'readlink("/sys/dev/char/226:128/device/driver", "../../../../bus/platform/drivers/etnaviv", 4096) = 40\n',
            "etnaviv",
        ),
        ('openat(AT_FDCWD, "/usr/lib/libdrm_amdgpu.so.1", O_RDONLY) = 4\n', "amdgpu"),
    ],
)
def test_one_node_has_one_driver(more: str, driver: str | None) -> None:
    found = report(AMBIGUOUS.format(more=more)).refusals[0].asked
    assert found.driver == driver
    assert (" or " in found.name) == (driver is None)


@pytest.mark.parametrize(
    ("line", "device"),
    [
        ("ioctl(5, _IOC(_IOC_READ|_IOC_WRITE, 0x64, 0x41, 0x30), 0x7f) = -1 EINVAL (x)", True),
        ("ioctl(5, AMDKFD_IOC_CREATE_QUEUE, 0x7f) = -1 ENOMEM (x)", True),
        ("ioctl(5, _IOC(_IOC_READ|_IOC_WRITE, 0x9, 0x3d, 0x38), 0x7f) = -1 EDEADLK (x)", True),
        ("ioctl(5, FIBMAP, 0x7f) = -1 EPERM (x)", False),
        ("ioctl(5, _IOC(_IOC_NONE, 0, 0x1b, 0), 0x7f) = -1 EPERM (x)", False),
        ("ioctl(5, SIOCETHTOOL, 0x7f) = -1 EOPNOTSUPP (x)", False),
        ("ioctl(5, KDGKBMODE, 0x7f) = -1 EIO (x)", False),
        ("ioctl(5, FIONBIO, [1]) = -1 EIO (x)", False),
        ("ioctl(5, BLKGETSIZE64, 0x7f) = -1 EACCES (x)", False),
        ("ioctl(5</dev/sda>, DRM_IOCTL_VERSION, 0x7f) = -1 EIO (x)", False),
    ],
)
def test_unknown_descriptors(line: str, device: bool) -> None:
    assert bool(report(line).refusals) == device
