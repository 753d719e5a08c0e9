"""Errno numbers and their names: for tracers that print numbers."""

from __future__ import annotations

# FreeBSD's sys/errno.h where it differs from Linux's, and what its drivers return.
FREEBSD = {
    1: "EPERM", 2: "ENOENT", 4: "EINTR", 5: "EIO", 6: "ENXIO", 9: "EBADF", 11: "EDEADLK", 12: "ENOMEM",
    13: "EACCES", 14: "EFAULT", 16: "EBUSY", 17: "EEXIST", 19: "ENODEV", 22: "EINVAL", 25: "ENOTTY", 28: "ENOSPC",
    35: "EAGAIN", 45: "EOPNOTSUPP", 60: "ETIMEDOUT", 62: "ELOOP", 78: "ENOSYS", 85: "ECANCELED", 92: "EPROTO",
}  # fmt: skip
LINUX = {
    1: "EPERM", 2: "ENOENT", 4: "EINTR", 5: "EIO", 6: "ENXIO", 7: "E2BIG", 9: "EBADF", 11: "EAGAIN", 12: "ENOMEM",
    13: "EACCES", 14: "EFAULT", 16: "EBUSY", 17: "EEXIST", 19: "ENODEV", 20: "ENOTDIR", 22: "EINVAL", 23: "ENFILE",
    24: "EMFILE", 25: "ENOTTY", 28: "ENOSPC", 34: "ERANGE", 35: "EDEADLK", 38: "ENOSYS", 62: "ETIME", 71: "EPROTO",
    75: "EOVERFLOW", 77: "EBADFD", 95: "EOPNOTSUPP", 110: "ETIMEDOUT", 125: "ECANCELED", 130: "EOWNERDEAD",
    512: "ERESTARTSYS",
}  # fmt: skip


def linux_name(number: int) -> str:
    """Return the name of a Linux errno, `ERRNO_n` where it has none here."""
    return LINUX.get(number, f"ERRNO_{number}")
