"""Logs in the shapes of public reports (facts of the boundary), each with the verdicts that a reader expects."""

# ruff: noqa: E501 - lines of logs stand as the tracers print them

from __future__ import annotations

import pytest
from judged import report, verdicts

NVML = """\
100 openat(AT_FDCWD, "/dev/nvidiactl", O_RDWR) = -1 EPERM (Operation not permitted)
100 openat(AT_FDCWD, "/dev/nvidiactl", O_RDONLY) = -1 EPERM (Operation not permitted)
100 write(1, "Failed to initialize NVML: Unknown Error\\n", 41) = 41
100 exit_group(255) = ?
100 +++ exited with 255 +++
"""
KFD = """\
7 10:00:00.000100 openat(AT_FDCWD, "/dev/kfd", O_RDWR|O_CLOEXEC) = -1 {errno} ({text}) <0.000010>
7 10:00:00.002110 write(2, "hsa api call failure at line 900, file: rocminfo.cc. Call returned 4104\\n", 71) = 71
7 10:00:00.002200 exit_group(4104) = ?
7 10:00:00.002300 +++ exited with 8 +++
"""
RENDER = '9 openat(AT_FDCWD, "/dev/dri/renderD128", O_RDWR|O_CLOEXEC) = 3\n'
CASES = {
    "denied kfd called out of resources": (KFD.format(errno="EACCES", text="Permission denied"), ["relabelled"]),
    "kfd out of memory called out of resources": (KFD.format(errno="ENOMEM", text="Cannot allocate memory"), ["reported"]),
    "kfd bad address called out of resources": (KFD.format(errno="EFAULT", text="Bad address"), ["relabelled"]),
    "cgroup denies nvidiactl, NVML does not know": (NVML, ["relabelled", "relabelled"]),
    "every query fine, still no device": (
        RENDER + "9 ioctl(3, DRM_IOCTL_VERSION, 0x7ffd) = 0\n9 ioctl(3, DRM_IOCTL_XE_DEVICE_QUERY, 0x7ffd) = 0\n"
        '9 close(3) = 0\n9 write(1, "Number of platforms 0\\n", 22) = 22\n9 +++ exited with 0 +++\n',
        [],
    ),
    "a context parameter probed in a healthy run": (
        RENDER + "9 ioctl(3, DRM_IOCTL_I915_GETPARAM, 0x7ffd) = 0\n"
        "9 ioctl(3, DRM_IOCTL_I915_GEM_CONTEXT_SETPARAM, 0x7ffd) = -1 EINVAL (Invalid argument)\n"
        "9 ioctl(3, DRM_IOCTL_I915_QUERY, 0x7ffd) = 0\n9 +++ exited with 0 +++\n",
        [],
    ),
    "not the display master": (
        '9 open("/dev/dri/card0", O_RDWR) = 3\n9 ioctl(3, DRM_IOCTL_SET_VERSION, 0x7f) = -1 EACCES (Permission denied)\n'
        "9 ioctl(3, DRM_IOCTL_GET_CLIENT, 0x7f) = -1 EACCES (Permission denied)\n9 +++ exited with 0 +++\n",
        [],
    ),
    "scan of render nodes": (
        'openat(AT_FDCWD, "/dev/dri/renderD129", O_RDWR) = -1 ENOENT (No such file or directory)\n'
        "fstat(-1, 0x7ffd) = -1 EBADF (Bad file descriptor)\n+++ exited with 0 +++\n",
        [],
    ),
    "ioctl on a failed open": ("ioctl(-1, DRM_IOCTL_VERSION, 0x7f) = -1 EBADF (Bad file descriptor)\n", []),
    "primary node denied, render node used": (
        'openat(AT_FDCWD, "/dev/dri/card0", O_RDWR) = -1 EACCES (Permission denied)\n'
        'openat(AT_FDCWD, "/dev/dri/renderD128", O_RDWR) = 3\n+++ exited with 0 +++\n',
        ["retried"],
    ),
    "another render node is another device": (
        'openat(AT_FDCWD, "/dev/dri/renderD128", O_RDWR) = -1 EACCES (Permission denied)\n'
        'openat(AT_FDCWD, "/dev/dri/renderD129", O_RDWR) = 3\n+++ exited with 0 +++\n',
        ["swallowed"],
    ),
    "library prints, program goes on": (
        RENDER + 4 * "9 ioctl(3, DRM_IOCTL_I915_GEM_EXECBUFFER2, 0x7f) = -1 EIO (Input/output error)\n"
        '9 write(2, "drm_intel_gem_bo_context_exec() failed: Input/output error\\n", 58) = 58\n9 +++ exited with 0 +++\n',
        ["reported"] * 4,
    ),
    "submission cancelled, library gives the number": (
        RENDER + "9 ioctl(3, DRM_IOCTL_AMDGPU_CS, 0x7f) = -1 ECANCELED (Operation canceled)\n"
        '9 write(2, "amdgpu: The CS has been rejected (-125).\\n", 41) = 41\n9 +++ exited with 1 +++\n',
        ["reported"],
    ),
    "memory pressure, the next submission of the same thread goes through": (
        RENDER + "9 ioctl(3, DRM_IOCTL_AMDGPU_CS, 0x7f) = -1 ENOMEM (Cannot allocate memory)\n"
        "9 ioctl(3, DRM_IOCTL_AMDGPU_GEM_WAIT_IDLE, 0x7f) = 0\n9 ioctl(3, DRM_IOCTL_AMDGPU_CS, 0x7f) = 0\n9 +++ exited with 0 +++\n",
        ["retried"],
    ),
    "another thread's success is no retry": (
        '9 clone(child_stack=NULL, flags=CLONE_VM|CLONE_FILES|CLONE_THREAD) = 10\n' + RENDER
        + "9 ioctl(3, DRM_IOCTL_AMDGPU_CS, 0x7f) = -1 ENOMEM (Cannot allocate memory)\n"
        "10 ioctl(3, DRM_IOCTL_AMDGPU_CS, 0x8f) = 0\n9 +++ exited with 0 +++\n",
        ["swallowed"],
    ),
    "named once the loop was over": (
        RENDER + "9 ioctl(3, DRM_IOCTL_AMDGPU_CS, 0x7f) = -1 EIO (Input/output error)\n9 ioctl(3, DRM_IOCTL_AMDGPU_CS, 0x7f) = 0\n"
        '9 write(2, "1 of 2 submissions failed: Input/output error\\n", 46) = 46\n9 +++ exited with 1 +++\n',
        ["reported"],
    ),
    "a retry that is told": (
        RENDER + "9 ioctl(3, DRM_IOCTL_AMDGPU_CS, 0x7f) = -1 ENOMEM (Cannot allocate memory)\n"
        '9 write(2, "submit failed: Cannot allocate memory, retrying\\n", 48) = 48\n9 ioctl(3, DRM_IOCTL_AMDGPU_CS, 0x7f) = 0\n9 +++ exited with 0 +++\n',
        ["retried"],
    ),
    "named before it was retried": (
        RENDER + "9 ioctl(3, DRM_IOCTL_AMDGPU_CS, 0x7f) = -1 ENOMEM (Cannot allocate memory)\n"
        '9 write(2, "submit failed: Cannot allocate memory\\n", 38) = 38\n9 ioctl(3, DRM_IOCTL_AMDGPU_CS, 0x7f) = 0\n9 +++ exited with 1 +++\n',
        ["reported"],
    ),
    "kgsl context invalidated": (
        '9 openat(AT_FDCWD, "/dev/kgsl-3d0", O_RDWR) = 40\n'
        "9 ioctl(40, _IOC(_IOC_READ|_IOC_WRITE, 0x9, 0x3d, 0x38), 0x7f) = -1 EDEADLK (Resource deadlock avoided)\n"
        '9 write(2, "ioctl code 0xc038093d (IOCTL_KGSL_SUBMIT_COMMANDS) failed: errno 35\\n", 68) = 68\n9 +++ exited with 1 +++\n',
        ["reported"],
    ),
    "the errno of the log's own locale": (
        RENDER + "9 ioctl(3, DRM_IOCTL_I915_GEM_EXECBUFFER2, 0x7f) = -1 ENOMEM (No se pudo asignar memoria)\n"
        '9 write(2, "no se pudo asignar memoria\\n", 27) = 27\n9 +++ exited with 1 +++\n',
        ["reported"],
    ),
    "log cut off": (RENDER + "9 ioctl(3, DRM_IOCTL_I915_GEM_EXECBUFFER2, 0x7f) = -1 EIO (Input/output error)\n", ["unknown"]),
    "missing nvidiactl and no device": (
        'openat(AT_FDCWD, "/dev/nvidiactl", O_RDWR) = -1 ENOENT (No such file or directory)\n'
        'write(2, "RuntimeError: No CUDA GPUs are available\\n", 41) = 41\n+++ exited with 1 +++\n',
        ["reported"],
    ),
    "mapping a buffer object refused": (
        RENDER + "9 mmap(NULL, 65536, PROT_READ, MAP_SHARED, 3, 0x100000000) = -1 ENOMEM (Cannot allocate memory)\n9 +++ exited with 0 +++\n",
        ["swallowed"],
    ),
    "restarted by a signal": (
        RENDER + "9 ioctl(3, DRM_IOCTL_I915_GEM_WAIT, 0x7f) = ? ERESTARTSYS (To be restarted if SA_RESTART is set)\n9 +++ exited with 0 +++\n",
        [],
    ),
    "wedged GPU seen by a wait": (
        RENDER + "9 ioctl(3, DRM_IOCTL_I915_GEM_WAIT, 0x7f) = -1 EIO (Input/output error)\n9 +++ exited with 0 +++\n",
        ["swallowed"],
    ),
    "capability nodes are optional": (
        '9 openat(AT_FDCWD, "/dev/nvidia-caps/nvidia-cap1", O_RDONLY) = -1 EACCES (Permission denied)\n9 +++ exited with 0 +++\n',
        [],
    ),
    "numbers and training output are no failure": (
        RENDER + "9 ioctl(3, DRM_IOCTL_AMDGPU_CS, 0x7f) = -1 EINVAL (Invalid argument)\n"
        '9 write(1, "epoch 3 validation error: 0.01, 0 errors\\n", 41) = 41\n9 +++ exited with 0 +++\n',
        ["swallowed"],
    ),
    "an error about another file is not about the device": (
        RENDER + "9 ioctl(3, DRM_IOCTL_AMDGPU_CS, 0x7f) = -1 EIO (Input/output error)\n"
        '9 write(2, "cannot read /etc/app.conf: Permission denied\\n", 45) = 45\n9 +++ exited with 0 +++\n',
        ["swallowed"],
    ),
    "a node opened by its name in a folder": (
        '9 openat(AT_FDCWD</dev/dri>, "renderD128", O_RDWR) = -1 EACCES (Permission denied)\n9 openat(AT_FDCWD, "/dev/dri", O_RDONLY|O_DIRECTORY) = 4\n'
        '9 openat(4, "renderD129", O_RDWR) = -1 EACCES (Permission denied)\n9 +++ exited with 0 +++\n',
        ["swallowed", "swallowed"],
    ),
    "exit_group alone tells the end": (
        RENDER + "9 ioctl(3, DRM_IOCTL_AMDGPU_CS, 0x7f) = -1 EIO (Input/output error)\n9 exit_group(0) = ?\n",
        ["swallowed"],
    ),
    "an unrelated process fails later": (
        "9 fork() = 10\n9 fork() = 11\n" + RENDER.replace("9 ", "10 ", 1)
        + "10 ioctl(3, DRM_IOCTL_AMDGPU_CS, 0x7f) = -1 EIO (Input/output error)\n10 +++ exited with 0 +++\n"
        '11 write(2, "ls: cannot read that: failure\\n", 28) = 28\n11 +++ exited with 2 +++\n9 +++ exited with 0 +++\n',
        ["swallowed"],
    ),
    "the parent speaks for its child": (
        "9 fork() = 10\n" + RENDER.replace("9 ", "10 ", 1)
        + "10 ioctl(3, DRM_IOCTL_AMDGPU_CS, 0x7f) = -1 EIO (Input/output error)\n10 +++ exited with 0 +++\n"
        '9 write(2, "worker failed\\n", 14) = 14\n9 +++ exited with 1 +++\n',
        ["reported"],
    ),
    "a thread's own end is not the process's": (
        "9 clone(child_stack=0x7f, flags=CLONE_VM|CLONE_FILES|CLONE_THREAD) = 10\n" + RENDER
        + "10 ioctl(3, DRM_IOCTL_AMDGPU_CS, 0x7f) = -1 EIO (Input/output error)\n10 +++ exited with 0 +++\n9 +++ exited with 4 +++\n",
        ["reported"],
    ),
    "discrete GPUs do not set domains": (
        RENDER + "9 ioctl(3, DRM_IOCTL_I915_GEM_SET_DOMAIN, 0x7f) = -1 ENODEV (No such device)\n9 +++ exited with 0 +++\n",
        [],
    ),
    "the struct printed as bytes": (
        '9 openat(AT_FDCWD, "/dev/nvidiactl", O_RDWR) = 3\n9 ioctl(3, _IOC(_IOC_READ|_IOC_WRITE, 0x46, 0x2a, 0x20), "'
        + "\\x00" * 28 + "\\x51" + "\\x00" * 3 + '") = 0\n9 +++ exited with 0 +++\n',
        ["swallowed"],
    ),
    "a traceback is judged by its last line": (
        RENDER + "9 ioctl(3, DRM_IOCTL_AMDGPU_GEM_CREATE, 0x7f) = -1 ENOMEM (Cannot allocate memory)\n"
        '9 write(2, "Traceback (most recent call last):\\n", 35) = 35\n9 write(2, "  File \\"permission_denied.py\\", line 1, in <module>\\n", 50) = 50\n'
        '9 write(2, "RuntimeError: HIP out of memory\\n", 32) = 32\n9 +++ exited with 1 +++\n',
        ["reported"],
    ),
}  # fmt: skip


def test_words_of_another_language() -> None:
    text, _ = CASES["the errno of the log's own locale"]
    (refusal,) = report(text).refusals
    assert refusal.message is not None


@pytest.mark.parametrize("name", CASES)
def test_verdicts(name: str) -> None:
    text, expected = CASES[name]
    assert verdicts(text) == expected


def test_time_to_message() -> None:
    (refusal,) = report(KFD.format(errno="EACCES", text="Permission denied")).refusals
    assert refusal.after == pytest.approx(0.002, abs=1e-6)


def test_size_mismatch_of_xe_by_its_callers() -> None:
    """intel/media-driver 1761: a size that no header of today has, under a frame that names the driver."""
    text = (
        'openat(AT_FDCWD, "/dev/dri/renderD128", O_RDWR) = 3\n'
        "ioctl(3, _IOC(_IOC_READ|_IOC_WRITE, 0x64, 0x41, 0x30), 0x7fff5e016a60) = -1 EINVAL (Invalid argument)\n"
        " > /usr/lib/x86_64-linux-gnu/libc.so.6(ioctl+0x1d) [0x11a94f]\n"
        " > /usr/lib/x86_64-linux-gnu/libdrm.so.2.4.0(drmIoctl+0x28) [0x72b8]\n"
        " > /usr/lib/x86_64-linux-gnu/dri/iHD_drv_video.so(mos_bo_alloc_xe+0x1a4) [0x9a3c4d]\n"
        "+++ exited with 1 +++\n"
    )
    (refusal,) = report(text).refusals
    assert refusal.asked.driver == "xe"
    assert refusal.asked.name == "DRM_IOCTL_XE_GEM_CREATE"


NVIDIA = (
    '9 openat(AT_FDCWD, "/dev/nvidiactl", O_RDWR) = 3\n'
    "9 ioctl(3, _IOC(_IOC_READ|_IOC_WRITE, 0x46, 0x2b, 0x30), 0x7ffc) = 0{status}\n{said}9 +++ exited with {exit} +++\n"
)
CUDA = '9 write(2, "RuntimeError: CUDA error: out of memory\\n", 40) = 40\n'


@pytest.mark.parametrize(
    ("status", "said", "exit_", "expected", "blind"),
    [
        ("", "", 0, [], True),
        ("", CUDA, 1, [], True),
        (" [NvStatus=0x51 class=0x40]", CUDA, 1, ["reported"], False),
        (" [NvStatus=0x1b]", CUDA, 1, ["relabelled"], False),
        (" [class=0x40 NvStatus=0x51]", "", 0, ["swallowed"], False),
        (" [NvStatus=0x0]", "", 0, [], False),
        (" [NvStatus=0x0]", '9 write(2, "CUDA error: device-side assert triggered\\n", 41) = 41\n', 1, [], True),
        (" [NvStatus=0x10006]", "", 0, [], False),
    ],
)
def test_nvidia(status: str, said: str, exit_: int, expected: list[str], blind: bool) -> None:
    got = report(NVIDIA.format(status=status, said=said, exit=exit_))
    assert [r.verdict.value for r in got.refusals] == expected
    assert bool(got.blind) == blind
    if blind and said:
        assert got.blind[0].message is not None
