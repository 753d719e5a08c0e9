"""The analyser's happens-before against the brute-force model, on random host programs."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from interleavings import Enqueue, Finish, Operation, SetStatus, Wait, unordered_pairs

from kexec_lint.findings import Confidence
from kexec_lint.opencl.analysis import analyse
from kexec_lint.opencl.report import findings
from kexec_lint.source import Options, Source

ORDERING = frozenset({f"OCL10{n}" for n in range(1, 8)})


class NoFiles:
    def module(self, name, level, importer):
        return None

    def read(self, path, relative_to):
        return None


@st.composite
def programs(draw) -> tuple[tuple[Operation, ...], tuple[bool, ...]]:
    queues = draw(st.integers(1, 3))
    in_order = tuple(draw(st.booleans()) for _ in range(queues))
    users = draw(st.integers(0, 1))
    program: list[Operation] = []
    commands = unset = 0
    for _ in range(draw(st.integers(2, 8))):
        kind = draw(st.sampled_from(["write"] * 5 + ["marker", "barrier", "finish", "wait", "set"]))
        queue = draw(st.integers(0, queues - 1))
        earlier = st.sampled_from(range(commands)) if commands else st.nothing()
        if kind in ("write", "marker", "barrier") and commands < 6:
            known = [*range(commands), *(f"u{n}" for n in range(users))]
            listed = draw(st.none() | st.lists(st.sampled_from(known), max_size=2, unique=True)) if known else None
            blocking = kind == "write" and draw(st.integers(0, 5)) == 0
            program.append(Enqueue(queue, kind, None if listed is None else tuple(listed), blocking))
            commands += 1
        elif kind == "finish":
            program.append(Finish(queue))
        elif kind == "wait" and commands:
            program.append(Wait(tuple(draw(st.lists(earlier, min_size=1, max_size=2, unique=True)))))
        elif kind == "set" and unset < users:
            program.append(SetStatus(f"u{unset}"))
            unset += 1
    return tuple(program), in_order


def source_of(program: tuple[Operation, ...], in_order: tuple[bool, ...]) -> tuple[str, dict[int, int]]:
    """Return the program as PyOpenCL host code and, for every command, its row."""
    rows = ["import pyopencl as cl", "OOO = cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE", "", ""]
    rows += ["def run(ctx, a, b):"]
    rows += [f"    q{n} = cl.CommandQueue(ctx, properties={'0' if o else 'OOO'})" for n, o in enumerate(in_order)]
    rows += ["    x = cl.Buffer(ctx, cl.mem_flags.READ_WRITE, 64)", "    u0 = cl.UserEvent(ctx)"]
    at: dict[int, int] = {}
    for op in program:
        match op:
            case Enqueue(queue, kind, waits, blocking):
                number = len(at)
                names = ", ".join(w if isinstance(w, str) else f"e{w}" for w in waits or ())
                extra = "" if waits is None else f", wait_for=[{names}]"
                if kind == "write":
                    call = (
                        f"cl.enqueue_copy(q{queue}, x, bytes(64), is_blocking=True{extra})"
                        if blocking
                        else f"cl.enqueue_fill_buffer(q{queue}, x, a, 0, 64{extra})"
                    )
                else:
                    call = f"cl.enqueue_{kind}(q{queue}{extra})"
                rows.append(f"    e{number} = {call}")
                at[number] = len(rows)
            case Finish(queue):
                rows.append(f"    q{queue}.finish()")
            case Wait(events):
                rows.append(f"    cl.wait_for_events([{', '.join(f'e{n}' for n in events)}])")
            case SetStatus(event):
                rows.append(f"    {event}.set_status(cl.command_execution_status.COMPLETE)")
    rows.append("    return " + ", ".join(["u0", *(f"e{n}" for n in at)]))
    return "\n".join(rows) + "\n", at


@settings(max_examples=1200, deadline=None, derandomize=True)
@given(programs())
def test_every_pair_agrees_with_all_legal_interleavings(case):
    program, in_order = case
    text, rows = source_of(program, in_order)
    source = Source("program.py", text, text.encode())
    analysis = analyse(source, NoFiles(), Options(ORDERING))
    graph = next(g for g in analysis.graphs if g.name == "run")
    by_row = {command.site[-1].span.row: command for command in graph.commands}
    commands = [by_row[rows[number]] for number in range(len(rows))]
    expected = unordered_pairs(program, in_order)
    actual = {
        (i, j)
        for j in range(len(commands))
        for i in range(j)
        if not graph.reaches(commands[i], commands[j], certainly=True)
    }
    assert actual >= expected, text
    # a pair that cannot run in either order only because the later command never starts is no disagreement
    stuck = {j for j in range(len(commands)) if not _can_start(program, in_order, j)}
    assert {(i, j) for i, j in actual if j not in stuck} == {(i, j) for i, j in expected if j not in stuck}, text

    writes = [n for n, op in enumerate(o for o in program if isinstance(o, Enqueue)) if op.kind == "write"]
    late = {(i, j) for i, j in expected if i in writes and j in writes}
    reported = [f for f in findings(analysis, source, Options(ORDERING)) if f.confidence is not Confidence.POSSIBLE]
    if any(f.code == "OCL107" for f in reported):
        return  # one finding for the whole queue
    flagged = {f.location.row for f in reported}
    assert flagged <= {rows[j] for _, j in late} | {rows[j] for j in stuck}, text
    for i, j in late:
        # reported there, or at a command between them whose missing edge, once added, orders this pair too
        between = (k for k in range(i + 1, j) if (i, k) in late and (k, j) not in actual)
        assert rows[j] in flagged or any(rows[k] in flagged for k in between), text


def _can_start(program, in_order, number) -> bool:
    """Return whether a command can start at all: with a probe that nothing holds back, it is seen to start."""
    shifted: list[Operation] = []
    for op in program:
        if isinstance(op, Enqueue) and op.waits is not None:
            op = replace(op, waits=tuple(w + 1 if isinstance(w, int) else w for w in op.waits))
        elif isinstance(op, Wait):
            op = Wait(tuple(n + 1 for n in op.events))
        shifted.append(op)
    probe = Enqueue(len(in_order))
    return (0, number + 1) in unordered_pairs((probe, *shifted), (*in_order, True))
