"""Descriptors followed through dup, close, exec, fork and sockets, without the help of -y."""

# ruff: noqa: E501 - lines of logs stand as the tracers print them

from __future__ import annotations

import pytest
from judged import report

REFUSED = "ioctl({fd}, DRM_IOCTL_I915_GEM_EXECBUFFER2, 0x7f) = -1 EIO (Input/output error)"
OPEN = 'openat(AT_FDCWD, "/dev/dri/renderD128", O_RDWR|O_CLOEXEC) = 3'
WAYS = [
    ([OPEN], "1 " + REFUSED.format(fd=3), "/dev/dri/renderD128"),
    ([OPEN, "dup(3) = 7"], "1 " + REFUSED.format(fd=7), "/dev/dri/renderD128"),
    ([OPEN, "dup2(3, 9) = 9", "close(3) = 0"], "1 " + REFUSED.format(fd=9), "/dev/dri/renderD128"),
    ([OPEN, "dup3(3, 9, O_CLOEXEC) = 9"], "1 " + REFUSED.format(fd=9), "/dev/dri/renderD128"),
    ([OPEN, "fcntl(3, F_DUPFD_CLOEXEC, 10) = 11"], "1 " + REFUSED.format(fd=11), "/dev/dri/renderD128"),
    ([OPEN, "fcntl(3, 0x406, 10) = 11"], "1 " + REFUSED.format(fd=11), "/dev/dri/renderD128"),
    ([OPEN, "fcntl(3, F_GETFD) = 1"], "1 " + REFUSED.format(fd=3), "/dev/dri/renderD128"),
    ([OPEN, "close(3) = 0", 'openat(AT_FDCWD, "/dev/dri/card0", O_RDWR) = 3'], "1 " + REFUSED.format(fd=3), "/dev/dri/card0"),
    ([OPEN, "close_range(3, 4294967295, 0) = 0"], "1 " + REFUSED.format(fd=3), None),
    (['openat(AT_FDCWD, "/dev/dri/renderD128", O_RDWR) = 3', 'execve("/bin/a", [], 0x7f) = 0'], "1 " + REFUSED.format(fd=3), "/dev/dri/renderD128"),
    ([OPEN, 'execve("/bin/a", [], 0x7f) = 0'], "1 " + REFUSED.format(fd=3), None),
    ([OPEN, "clone(child_stack=0x7f, flags=CLONE_VM|CLONE_FILES|CLONE_THREAD) = 2"], "2 " + REFUSED.format(fd=3), "/dev/dri/renderD128"),
    (["clone3({flags=CLONE_VM|CLONE_FILES|CLONE_THREAD, stack=0x7f}, 88) = 2", OPEN], "2 " + REFUSED.format(fd=3), "/dev/dri/renderD128"),
    (["clone(child_stack=NULL, flags=SIGCHLD) = 2", OPEN], "2 " + REFUSED.format(fd=3), None),
    ([OPEN, "fork() = 2", "close(3) = 0"], "2 " + REFUSED.format(fd=3), "/dev/dri/renderD128"),
    ([OPEN, "vfork() = 2"], "2 " + REFUSED.format(fd=3), "/dev/dri/renderD128"),
    (
        [OPEN, "clone(child_stack=NULL, flags=SIGCHLD) = 2",
         "sendmsg(5, {msg_name=NULL, msg_control=[{cmsg_len=20, cmsg_level=SOL_SOCKET, cmsg_type=SCM_RIGHTS, cmsg_data=[3]}]}, 0) = 1"],
        "2 recvmsg(4, {msg_control=[{cmsg_len=20, cmsg_type=SCM_RIGHTS, cmsg_data=[8]}]}, 0) = 1\n2 " + REFUSED.format(fd=8),
        "/dev/dri/renderD128",
    ),
    ([], "2 recvmsg(4, {msg_control=[{cmsg_len=20, cmsg_type=SCM_RIGHTS, cmsg_data=[8</dev/dri/card2>]}]}, 0) = 1\n2 " + REFUSED.format(fd=8), "/dev/dri/card2"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "line", "path"), WAYS)
def test_path(before: list[str], line: str, path: str | None) -> None:
    text = "\n".join([*(f"1 {b}" for b in before), line])
    (refusal,) = report(text).refusals
    assert refusal.asked.path == path


@pytest.mark.parametrize(
    "before",
    [
        ["socket(AF_UNIX, SOCK_STREAM, 0) = 3"], ["pipe2([3, 4], O_CLOEXEC) = 0"], ["memfd_create(\"x\", 0) = 3"],
        [OPEN, "close(3) = 0", "epoll_create1(0) = 3"], ['openat(AT_FDCWD, "/tmp/file", O_RDWR) = 3'],
    ],
)  # fmt: skip
def test_other_files_are_no_device(before: list[str]) -> None:
    text = "\n".join(
        [*(f"1 {b}" for b in before), "1 ioctl(3, TCGETS, 0x7f) = -1 ENOTTY (Inappropriate ioctl for device)"]
    )
    assert report(text).refusals == ()


def test_impossible_descent() -> None:
    loop = "1 fork() = 2\n2 fork() = 1\n3 fork() = 3\n" + "1 " + REFUSED.format(fd=5) + "\n3 " + REFUSED.format(fd=5)
    assert len(report(loop).refusals) == 2
    chain = (
        "\n".join(f"{n} <... fork resumed>) = {n + 1}" for n in range(5000, 1, -1)) + "\n5000 " + REFUSED.format(fd=5)
    )
    assert len(report(chain).refusals) == 1
