"""`kexec-lint dispatch`: which registered kernel a call runs, what a program dispatched, where two devices
differ."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from kexec_lint.cli import Failure

if TYPE_CHECKING:
    from kexec_lint.aten.dispatch.trace import Tracer


def _fail(message: str) -> NoReturn:
    raise Failure(message)


def _torch() -> Any:
    """Return torch, or end with one line that names the extra."""
    from kexec_lint.aten.dispatch.table import DispatchUnavailable, load_torch

    try:
        return load_torch()
    except DispatchUnavailable as error:
        _fail(str(error))


def _inputs(texts: tuple[str, ...]) -> tuple[list[Any], dict[str, Any]]:
    from kexec_lint.aten.dispatch.inputs import parse_input

    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for text in texts:
        try:
            name, value = parse_input(text)
        except ValueError as error:
            _fail(str(error))
        if name is None:
            args.append(value)
        else:
            kwargs[name] = value
    return args, kwargs


def _import(modules: tuple[str, ...]) -> None:
    """Import the user's modules, so that their operators are registered."""
    import importlib

    from kexec_lint.aten.dispatch.functions import watched_registrations
    from kexec_lint.aten.dispatch.render import brief

    sys.path.insert(0, "")
    for module in modules:
        try:
            with watched_registrations():
                importlib.import_module(module)
        except Exception as error:  # what a user's module raises is the user's to read, on one line
            _fail(f"importing {module} raises {type(error).__name__}: {brief(error)}")


@click.group()
def command() -> None:
    """Ask PyTorch's dispatcher which kernel runs. Needs torch (extra: export)."""


@command.command()
@click.argument("operator")
@click.option("--input", "inputs", multiple=True, help="An argument: 'f32[2,3] cuda requires_grad', '3', 'dim=1'.")
@click.option("--import", "modules", multiple=True, help="Import this module first (its operators register).")
@click.option("--table", "show_table", is_flag=True, help="Print the computed table of every key.")
@click.option("--format", "output", type=click.Choice(("text", "json", "html")), default="text", show_default=True)
def explain(operator: str, inputs: tuple[str, ...], modules: tuple[str, ...], show_table: bool, output: str) -> None:
    """Say which registered kernel OPERATOR runs for the inputs, and why that one."""
    _torch()
    from kexec_lint.aten.dispatch import render, table
    from kexec_lint.aten.dispatch.explain import choose_overload
    from kexec_lint.aten.dispatch.explain import explain as explain_call

    _import(modules)
    args, kwargs = _inputs(inputs)
    try:
        overload = choose_overload(table.find_operator(operator), args, kwargs)
    except LookupError as error:
        _fail(str(error))
    try:
        found = explain_call(overload, args, kwargs)
    except (RuntimeError, ValueError) as error:
        _fail(str(error).strip().splitlines()[0])
    text = render.explanation_text(found)
    if show_table:
        text += "\n\n" + render.table_text(table.rows(found.operator))
    if output == "json":
        click.echo(render.as_json(found))
    elif output == "html":
        click.echo(render.page(found.operator, text))
    else:
        click.echo(text)
    raise SystemExit(1 if found.error else 0)


@command.command(context_settings={"ignore_unknown_options": True})
@click.argument("script", type=click.Path(exists=True, dir_okay=False))
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
@click.option("--operator", "operators", multiple=True, help="Only this operator (aten::mm, mm).")
@click.option("--key", "keys", multiple=True, help="Only this dispatch key (CPU, AutogradCUDA).")
@click.option("--format", "output", type=click.Choice(("tree", "json", "chrome")), default="tree", show_default=True)
@click.option("--output", "path", type=click.Path(dir_okay=False), help="Write there instead of standard output.")
def trace(
    script: str,
    args: tuple[str, ...],
    operators: tuple[str, ...],
    keys: tuple[str, ...],
    output: str,
    path: str | None,
) -> None:
    """Run SCRIPT and show every dispatch and redispatch, nested and timed, with its kernel.

    Put the options before SCRIPT. A debugging mode: about half a millisecond is added to each event.
    """
    torch = _torch()
    from kexec_lint.aten.dispatch import render, table
    from kexec_lint.aten.dispatch.trace import Tracer, TraceUnavailable, layer_of

    tracer = Tracer(operators, keys)
    error: BaseException | None = None
    try:
        with tracer:
            error = _run_script(script, args, quiet=output != "tree" and path is None)
    except TraceUnavailable as unavailable:
        click.echo(f"kexec-lint dispatch: {unavailable}; falling back to the profiler (no keys, no kernels)", err=True)
        text, error = _profile(torch, script, args)
        click.echo(text)
        raise SystemExit(1 if error is not None else 0) from None
    table.forget()
    events = tracer.describe()
    failed = tracer.innermost_error() if error is not None else None
    if output == "tree":
        text = render.tree_text(events, failed)
    else:
        text = render.as_json(events) if output == "json" else render.chrome(events)
    if path is None:
        click.echo(text)
    else:
        Path(path).write_text(text + "\n", encoding="utf-8")
    if error is None:
        return
    click.echo(_blame(tracer, failed, error, layer_of(failed, error)), err=True)
    raise SystemExit(1)


def _run_script(script: str, args: tuple[str, ...], quiet: bool = False) -> BaseException | None:
    """Run a file as __main__ and return what ended it, or None; `quiet` sends what it prints to standard error."""
    import contextlib
    import runpy

    from kexec_lint.aten.dispatch.functions import watched_registrations

    before = sys.argv, list(sys.path)
    sys.argv = [script, *args]
    sys.path.insert(0, str(Path(script).resolve().parent))
    aside = contextlib.redirect_stdout(sys.stderr) if quiet else contextlib.nullcontext()
    try:
        with watched_registrations(), aside:
            runpy.run_path(script, run_name="__main__")
    except SystemExit as stop:
        return None if stop.code in (None, 0) else stop
    except Exception as error:  # whatever the program raises is what is to be explained
        return error
    finally:
        sys.argv, sys.path[:] = before
    return None


def _blame(tracer: Tracer, failed: Any, error: BaseException, layer: str) -> str:
    from kexec_lint.aten.dispatch.render import brief
    from kexec_lint.aten.dispatch.table import registrations
    from kexec_lint.aten.dispatch.trace import MISSING

    lines = [
        f"{type(error).__name__}: {brief(error)}",
        f"layer: {layer}",
    ]
    if failed is not None and failed.registered_as == MISSING:
        keys = sorted({r.key for r in registrations(failed.operator) if not r.fallthrough and not r.inactive})
        lines.append(f"no kernel: {failed.operator} @ {failed.key}; keys with a kernel: {', '.join(keys) or 'none'}")
        lines.append(f"inputs: {', '.join(failed.inputs)}")
    elif failed is not None:
        kernel = failed.function or "(function not named)"
        lines.append(f"innermost kernel: {failed.operator} @ {failed.key} {kernel} {failed.site}")
        lines.append(f"inputs: {', '.join(failed.inputs)}")
    else:
        lines.append(f"no kernel raised it ({len(tracer.events)} dispatches went well)")
    return "\n".join(lines)


def _profile(torch: Any, script: str, args: tuple[str, ...]) -> tuple[str, BaseException | None]:
    """Return what the profiler sees of a program (operators without keys and kernels), and what ended it."""
    with torch.profiler.profile() as profile:
        error = _run_script(script, args)
    text = str(profile.key_averages().table(sort_by="cpu_time_total", row_limit=40))
    return text + (f"\n{type(error).__name__}: {error}" if error else ""), error


@command.command()
@click.argument("target")
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
@click.option("--devices", default="cpu,cuda", show_default=True, help="Two devices, or 'cpu,float64' or 'cpu,meta'.")
@click.option("--input", "inputs", multiple=True, help="An argument of the operator, as in explain.")
@click.option("--import", "modules", multiple=True, help="Import this module first.")
@click.option("--rtol", type=float, help="Relative tolerance for every dtype.")
@click.option("--atol", type=float, help="Absolute tolerance for every dtype.")
@click.option("--format", "output", type=click.Choice(("text", "json")), default="text", show_default=True)
def compare(
    target: str,
    args: tuple[str, ...],
    devices: str,
    inputs: tuple[str, ...],
    modules: tuple[str, ...],
    rtol: float | None,
    atol: float | None,
    output: str,
) -> None:
    """Run TARGET (an operator or a script) through two kernels and report where their results differ first."""
    torch = _torch()
    from kexec_lint.aten.dispatch import render
    from kexec_lint.aten.dispatch.compare import REFERENCE, Comparison, Shadow
    from kexec_lint.aten.dispatch.render import brief

    _import(modules)
    names = tuple(d.strip() for d in devices.split(","))
    if len(names) != 2:
        _fail(f"--devices takes two names, not '{devices}'")
    pair = (names[0], names[1])
    notes = []
    if "cuda" in pair and not torch.cuda.is_available():
        notes.append("no CUDA device here: compared with a float64 reference, and with meta for shapes and dtypes")
        pair = ("cpu", REFERENCE)
    tolerance = (rtol or 0.0, atol or 0.0) if rtol is not None or atol is not None else None
    pairs = [pair, ("cpu", "meta")] if notes else [pair]
    for device in {*pair} - {REFERENCE}:
        _check_device(torch, device)
    found: list[Comparison] = []
    raised = False
    for one in pairs:
        if Path(target).is_file():
            shadow = Shadow(one, tolerance)
            with shadow.mode():
                error = _run_script(target, args, quiet=output == "json")
            raised |= error is not None
            found.append(shadow.outcome("; ".join(notes) if one == pair else ""))
            if error is not None:
                click.echo(f"the program raised {type(error).__name__}: {brief(error)}", err=True)
        else:
            found.append(_compare_operator(target, inputs, one, tolerance))
    if output == "json":
        click.echo(render.as_json(found))
    else:
        click.echo("\n".join([*(f"note: {n}" for n in notes), *map(render.comparison_text, found)]))
    raise SystemExit(1 if raised or any(f.differences for f in found) else 0)


def _check_device(torch: Any, device: str) -> None:
    from kexec_lint.aten.dispatch.render import brief

    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:  # torch's ways to say so, one a backend
        _fail(f"device '{device}' is not there: {brief(error)}")


def _compare_operator(target: str, inputs: tuple[str, ...], pair: tuple[str, str], tolerance: Any) -> Any:
    from kexec_lint.aten.dispatch import table
    from kexec_lint.aten.dispatch.compare import compare_operator
    from kexec_lint.aten.dispatch.explain import choose_overload
    from kexec_lint.aten.dispatch.inputs import generate

    args, kwargs = _inputs(inputs)
    try:
        overload = choose_overload(table.find_operator(target), args, kwargs)
    except LookupError as error:
        _fail(f"{error}; and there is no file of that name")
    tries = [(args, kwargs)] if args or kwargs else list(generate(overload._schema))
    last: Exception | None = None
    for values, named in tries:
        try:
            return compare_operator(overload, values, named, pair, tolerance)
        except Exception as error:  # generated inputs need not fit
            last = error
    _fail(
        f"{table.qualified_name(overload)} could not be run: "
        f"{str(last).strip().splitlines()[0] if last else 'give --input'}"
    )
