"""The grammar of trace lines: one table a dialect, then text that no tracer wrote."""

# ruff: noqa: E501 - lines of logs stand as the tracers print them

from __future__ import annotations

import json
import random
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kexec_lint.boundary import logs, strace, text
from kexec_lint.boundary.dialects import parse_gvisor, parse_perf, parse_truss
from kexec_lint.boundary.events import Call, Exit, Printed
from kexec_lint.boundary.records import report_record
from kexec_lint.boundary.timeline import chrome_trace, page
from kexec_lint.boundary.verdicts import judge

DATA = Path(__file__).parent / "data"


def calls(text: str) -> list[Call]:
    return [e for e in strace.parse(text.splitlines(), "log") if isinstance(e, Call)]


LINES = [
    # line, tid, time, name, arguments, result, errno
    ("ioctl(3, DRM_IOCTL_VERSION, 0x7ffd) = 0", 0, None, "ioctl", ("3", "DRM_IOCTL_VERSION", "0x7ffd"), 0, None),
    ("[pid 12] ioctl(3, TCGETS, 0x7f) = -1 ENOTTY (Inappropriate ioctl for device)", 12, None, "ioctl", ("3", "TCGETS", "0x7f"), -1, "ENOTTY"),
    ("12    ioctl(3, 0xc0186444, 0x7f) = -1 EINVAL (Invalid argument)", 12, None, "ioctl", ("3", "0xc0186444", "0x7f"), -1, "EINVAL"),
    ("12 10:00:01.5 close(3) = 0 <0.000009>", 12, 36001.5, "close", ("3",), 0, None),
    ("12 10:00:01 close(3) = 0", 12, 36001.0, "close", ("3",), 0, None),
    ("12 1796041620.327859 close(3) = 0", 12, 1796041620.327859, "close", ("3",), 0, None),
    ("     0.000831 close(3) = 0", 0, 0.000831, "close", ("3",), 0, None),
    ("12 10:00:01.5 (+     0.000033) close(3) = 0", 12, 36001.5, "close", ("3",), 0, None),
    ("12<python3> [  16] [00007f28fee68d6b] close(3) = 0", 12, None, "close", ("3",), 0, None),
    ("ioctl(3</dev/dri/renderD128<char 226:128>>, X, 0) = 0", 0, None, "ioctl", ("3</dev/dri/renderD128<char 226:128>>", "X", "0"), 0, None),
    ("ioctl(3</tmp/a, (b)>, X, 0) = 0", 0, None, "ioctl", ("3</tmp/a, (b)>", "X", "0"), 0, None),
    ("ioctl(fd=3, op=0xc0186444 /* A or B */, argp=0x7f) = 0", 0, None, "ioctl", ("3", "0xc0186444 /* A or B */", "0x7f"), 0, None),
    ("ioctl(3, _IOC(_IOC_READ|_IOC_WRITE, 0x46, 0x2a, 0x20), 0x7f) = 0", 0, None, "ioctl", ("3", "_IOC(_IOC_READ|_IOC_WRITE, 0x46, 0x2a, 0x20)", "0x7f"), 0, None),
    ('write(2, "a \\"b\\", (c\\n", 9) = 9', 0, None, "write", ("2", '"a \\"b\\", (c\\n"', "9"), 9, None),
    ("ioctl(3, X, 0) = ? ERESTARTSYS (To be restarted if SA_RESTART is set)", 0, None, "ioctl", ("3", "X", "0"), None, "ERESTARTSYS"),
    ("ioctl(3, X, 0) = -1 ENOMEM (No se pudo asignar memoria (núcleo))", 0, None, "ioctl", ("3", "X", "0"), -1, "ENOMEM"),
    ("ioctl(3, X, 0) = -1 ERRNO_22 (Unknown)", 0, None, "ioctl", ("3", "X", "0"), -1, "EINVAL"),
    ("exit_group(1) = ?", 0, None, "exit_group", ("1",), None, None),
    ("getpid() = 12", 0, None, "getpid", (), 12, None),
]  # fmt: skip


@pytest.mark.parametrize("row", LINES, ids=lambda r: r[0][:50])
def test_line(row: tuple[str, int, float | None, str, tuple[str, ...], int | None, str | None]) -> None:
    (call,) = calls(row[0])
    assert (call.tid, call.name, call.args, call.result, call.errno) == (row[1], *row[3:])
    assert call.time == pytest.approx(row[2]) if row[2] is not None else call.time is None


@pytest.mark.parametrize(
    "cut",
    [
        "ioctl(3",
        "ioctl(3, ",
        "ioctl(3, DRM_IOCTL_AMDGPU_CS",
        "ioctl(3, DRM_IOCTL_AMDGPU_CS, ",
        "ioctl(3, DRM_IOCTL_AMDGPU_CS, 0x7f",
    ],
)
def test_unfinished_anywhere(cut: str) -> None:
    whole = "ioctl(3, DRM_IOCTL_AMDGPU_CS, 0x7f)"
    rest = whole[len(cut) :]
    text = f"5 1.000001 {cut} <unfinished ...>\n6 1.000002 getpid() = 6\n5 1.000009 <... ioctl resumed>{rest} = -1 EIO (x) (INJECTED)\n"
    first, second = calls(text)
    assert first.name == "getpid"
    assert second.args == ("3", "DRM_IOCTL_AMDGPU_CS", "0x7f")
    assert (second.tid, second.line, second.returned, second.injected) == (5, 1, 3, True)


def test_old_resumed_form_and_orphans() -> None:
    first, second = calls(
        "5 ioctl(3, X, 0x7f <unfinished ...>\n5 <... ioctl resumed> )      = 0\n6 <... ioctl resumed>) = 0\n"
    )
    assert (first.name, first.result, second.args) == ("ioctl", 0, ())


def test_stacks_belong_to_the_call_above() -> None:
    text = "5 ioctl(3, X, 0) = 0\n > /lib/libc.so.6(ioctl+0x1d) [0x11a94f]\n > /tmp/a (b).so(f+0x1) [0x2]\n5 close(3) = 0\n"
    first, second = calls(text)
    assert first.stack == ("/lib/libc.so.6(ioctl+0x1d)", "/tmp/a (b).so(f+0x1)")
    assert second.stack == ()


def test_ends_signals_and_output() -> None:
    text = (
        "5 --- SIGSEGV {si_signo=SIGSEGV} ---\nstrace: Process 9 attached\nplain output\n"
        "5 +++ killed by SIGSEGV (core dumped) +++\n6 +++ exited with 3 +++\n"
    )
    kinds = list(strace.parse(text.splitlines(), "log"))
    assert [type(k) for k in kinds] == [Printed, Exit, Exit]
    assert (kinds[1].signal, kinds[2].status) == ("SIGSEGV", 3)  # type: ignore[union-attr]


def test_lines_broken_by_attachment_and_by_output() -> None:
    text = (
        "clone(child_stack=NULL, flags=CLONE_CHILD_SETTID|SIGCHLDstrace: Process 26115 attached\n"
        ', child_tidptr=0x7f) = 26115\nwrite(2, "submit failed: Inpu"..., 37submit failed: Input/output error\n) = 37\n'
    )
    clone, write = calls(text)
    assert (clone.name, clone.result) == ("clone", 26115)
    assert "Input/output error" in write.args[1]


def test_midnight() -> None:
    first, second = calls("5 23:59:59.900000 close(3) = 0\n5 00:00:00.100000 close(4) = 0\n")
    assert second.time is not None
    assert first.time is not None
    assert second.time - first.time == pytest.approx(0.2)


def test_perf() -> None:
    text = [
        "    62.296 ( 0.024 ms): python3.11/10281 ioctl(fd: 4</dev/dri/renderD128>, cmd: (READ|WRITE, 0x64, 0x44, 0x18), arg: 0x7f) = -1 ENOMEM (Cannot allocate memory)",
        "    63.000 (         ): python3.11/10281 exit_group(error_code: 2)                    = ?",
        "    70.000 ( 1.000 ms): tmux: server/77 ioctl(fd: 1, cmd: TCGETS, arg: 0x7f) = 0",
    ]
    call, _, end, other = parse_perf(text, "log")
    assert isinstance(call, Call)
    assert (call.tid, call.args[1], call.errno) == (10281, "(READ|WRITE, 0x64, 0x44, 0x18)", "ENOMEM")
    assert call.time == pytest.approx(0.062296)
    assert isinstance(end, Exit)
    assert end.status == 2
    assert other.tid == 77


def test_perf_unfinished() -> None:
    text = [
        "     0.100 (         ): app/7 ioctl(fd: 4, cmd: (READ|WRITE, 0x64, 0x44, 0x18), arg: 0x7f) ...",
        "     0.300 ( 0.200 ms): app/7  ... [continued]: ioctl()) = -1 EIO (Input/output error)",
    ]
    events = [e for e in parse_perf(text, "log") if isinstance(e, Call) and e.errno]
    assert [(e.args[0], e.errno) for e in events] == [("4", "EIO")]


def test_truss() -> None:
    text = [
        "1234: ioctl(15,0xc0106479 { IORW 0x64('d'), 121, 16 },0x7fffffffe000) = 0 (0x0)",
        "1234: ioctl(15,0xc0406400 { IORW 0x64('d'), 0, 64 },0x7f) ERR#13 'Permission denied'",
        "1234: ioctl(15,0xc0406400 { IORW 0x64('d'), 0, 64 },0x7f) = -1 ERR#35 'Resource temporarily unavailable'",
    ]
    got = [e for e in parse_truss(text, "log") if isinstance(e, Call)]
    assert [(e.tid, e.result, e.errno) for e in got] == [
        (1234, 0, None),
        (1234, -1, "EACCES"),
        (1234, -1, "EAGAIN"),
    ]


def test_gvisor() -> None:
    text = [
        "I0921 12:00:00.250000       1 strace.go:576] [   1:   7] python E ioctl(0x5 /dev/nvidiactl, 0xc020462a, 0x7f)",
        "I0921 12:00:00.250100       1 strace.go:614] [   1:   7] python X ioctl(0x5 /dev/nvidiactl, 0xc020462a, 0x7f) = 0 (0x0) (12.3µs)",
        "I0921 12:00:00.250200       1 strace.go:614] [   1:   7] python X openat(AT_FDCWD /, 0x7f /dev/kfd, O_RDWR, 0o0) = 0 (0x0) errno=13 (permission denied) (1µs)",
    ]
    first, second = parse_gvisor(text, "log")
    assert isinstance(first, Call)
    assert isinstance(second, Call)
    assert (first.tid, first.args[0], first.result) == (7, "5</dev/nvidiactl>", 0)
    assert (second.args[1], second.errno) == ('"/dev/kfd"', "EACCES")


PIECES = st.sampled_from(
    ["ioctl(", "3", "</dev/dri/renderD128", "<char 226:128>", ">", '"', "\\", "..., ", "{", "}", "[", "]", "(", ")", " = ", "-1 ",
     "EIO (", "<unfinished ...>", "<... ioctl resumed>", " > lib(f+0x1) [0x2]", "[pid 7] ", "12 ", "10:00:00.1 ", "/*", "*/", ", ",
     "_IOC(_IOC_READ, 0x64, 0x41, 0x30)", "write(2, ", "+++ exited with 0 +++", "NvStatus=0x51", "\n", "->", "x" * 50, "( 0.024 ms): a/1 ",
     "openat(AT_FDCWD, ", "SCM_RIGHTS, cmsg_data=[3", "clone(", "ERR#22 '", "strace.go:1] [ 1: 2] a X ", "\x00", "é"]
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES, max_size=60).map("".join))
def test_no_text_breaks_the_reader(text: str) -> None:
    judge(logs.read_lines(text.split("\n"), "log"))
    for parser in (strace.parse, parse_perf, parse_truss, parse_gvisor):
        list(parser(text.split("\n"), "log", 0))


def test_damaged_logs_are_read_all_the_same() -> None:
    """Lines of recorded logs, cut, joined and sprinkled; the report must come out in every form."""
    names = ["h200-oom.log.gz", "strace-stderr.log", "perf-trace.log", "ff"]
    lines = [
        line
        for name in names
        for path in logs.expand([str(DATA / name)])
        for line in logs.text_of(path).split("\n")
        if line
    ]
    chance = random.Random(7)
    for _ in range(150):
        rows = []
        for row in chance.choices(lines, k=15):
            a, b = sorted((chance.randrange(len(row) + 1), chance.randrange(len(row) + 1)))
            rows.append(
                chance.choice(
                    [row, row[:a], row[:a] + row[b:], row[:a] + chance.choice('"<>()[]{}\\,=-0x9²') * 3 + row[a:]]
                )
            )
        report = judge(logs.read_lines(rows, "log"))
        assert list(text.lines(report, everything=True))
        json.dumps([report_record(report), chrome_trace(report)])
        assert page(report)


@pytest.mark.parametrize(
    "line",
    [
        "9" * 5000 + " close(3) = 0",
        "close(3) = " + "9" * 5000,
        "ioctl(" + "9" * 5000 + ", X, 0) = 0",
        "close(3) = 026087",
    ],
)
def test_numbers_of_any_length(line: str) -> None:
    judge(logs.read_lines([line], "log"))


HOSTILE = {
    "open brackets": "ioctl(" + "(" * 1_000_000,
    "open strings": 'write(2, "' + '\\"' * 500_000,
    "annotations": "ioctl(" + "3<" * 500_000,
    "arrows": "ioctl(3<" + "->" * 500_000,
    "comments": "ioctl(3, " + "/*" * 500_000,
    "digits": "1" * 1_000_000,
    "spaces": " " * 1_000_000 + "x",
    "errors": "ioctl(3, X, 0) = -1 EIO (" + "(" * 1_000_000,
    "message": '9 write(2, "' + "no error failed " * 60_000 + '", 9) = 9',
}


@pytest.mark.parametrize("name", HOSTILE)
def test_one_hostile_line_costs_as_much_as_reading_it(name: str) -> None:
    def seconds(text: str) -> float:
        def once() -> float:
            start = time.process_time()
            judge(logs.read_lines([text], "log"))
            return time.process_time() - start

        return min(once(), once())

    hostile = HOSTILE[name]
    whole, quarter = seconds(hostile), seconds(hostile[: len(hostile) // 4])
    assert whole < 2.0
    assert whole < 12 * quarter + 0.1  # linear: four times the text, about four times the time


def test_many_refusals_and_messages_stay_linear() -> None:
    errors = ["EIO (Input/output error)", "ENOMEM (Cannot allocate memory)", "EINVAL (Invalid argument)"]

    def seconds(count: int) -> float:
        rows = ['9 openat(AT_FDCWD, "/dev/dri/renderD128", O_RDWR) = 3']
        for n in range(count):
            rows.append(f"9 ioctl(3, DRM_IOCTL_AMDGPU_GEM_CREATE, 0x{n:x}) = -1 {errors[n % 3]}")
            rows.append(f'9 write(2, "failure number {n}: something broke\\n", 40) = 40')
        start = time.process_time()
        report = judge(logs.read_lines(rows, "log"))
        assert len(report.refusals) == count
        return time.process_time() - start

    seconds(100)
    assert seconds(4000) < 10 * seconds(1000) + 0.3
