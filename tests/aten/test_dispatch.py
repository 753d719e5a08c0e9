"""explain, trace and compare on the torch that is installed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

torch = pytest.importorskip("torch", reason="needs torch: pip install 'kexec-lint[export]'")
pytestmark = pytest.mark.filterwarnings("ignore")

from kexec_lint.aten.dispatch import inputs, table  # noqa: E402
from kexec_lint.aten.dispatch.explain import choose_overload, explain  # noqa: E402
from kexec_lint.aten.dispatch.trace import Tracer, layer_of  # noqa: E402
from kexec_lint.cli.dispatch import command  # noqa: E402


def run(*args: str) -> Result:
    return CliRunner().invoke(command, list(args))


@pytest.fixture(scope="module")
def library() -> object:
    lib = torch.library.Library("dispatchtest", "DEF")
    lib.define("gpu(Tensor x) -> Tensor")
    lib.impl("gpu", lambda x: x + 1, "CUDA")
    lib.define("mine(Tensor x) -> Tensor")
    lib.impl("mine", lambda x: x * 2 + 1, "CPU")
    return lib


@pytest.mark.parametrize(
    ("operator", "texts", "winner"),
    [
        ("matmul", ["f32[2,3]", "f32[3,4]"], ("AutogradCPU", "CompositeImplicitAutograd", "at::native::matmul")),
        ("aten::mm", ["f32[2,3]", "f32[3,4]"], ("AutogradCPU", "Autograd", "torch::autograd::VariableType::mm")),
        ("add", ["f32[2]", "1"], ("AutogradCPU", "Autograd", "torch::autograd::VariableType::add")),
        ("torch.ops.aten.relu.default", ["f32[2] cuda"], ("AutogradCUDA", "Autograd", None)),
        ("add.Tensor", ["f32[2]", "f32[2]"], ("AutogradCPU", "Autograd", "torch::autograd::VariableType::add")),
        ("empty_like", ["f32[2] meta"], ("AutogradMeta", "Autograd", None)),
    ],
)
def test_winner(operator: str, texts: list[str], winner: tuple[str, str, str | None]) -> None:
    args = [inputs.parse_input(t)[1] for t in texts]
    found = explain(choose_overload(table.find_operator(operator), args, {}), args, {})
    if operator.endswith("relu.default"):
        assert found.winner is None or found.winner.key == winner[0]  # a CPU build has no CUDA kernel
        return
    assert found.winner is not None
    assert (found.winner.key, found.winner.registered_as) == winner[:2]
    assert winner[2] is None or (found.winner.function or "").startswith(winner[2])


def test_missing_kernel_names_what_there_is(library: object) -> None:
    result = run("explain", "dispatchtest::gpu", "--input", "f32[2]")
    assert result.exit_code == 1
    assert "Could not run 'dispatchtest::gpu' with arguments from the 'CPU' backend" in result.output
    assert "keys with a kernel: CUDA" in result.output
    with pytest.raises(NotImplementedError, match=r"Could not run 'dispatchtest::gpu'"):
        torch.ops.dispatchtest.gpu(torch.ones(2))


def test_composite_decomposes() -> None:
    result = run("explain", "matmul", "--input", "f32[2,3]", "--input", "f32[3,4]", "--format", "json")
    assert json.loads(result.stdout)["decomposes"] == ["aten::mm"]
    assert "<!doctype html>" in run("explain", "mm", "--format", "html").stdout
    assert "MkldnnCPU" in run("explain", "mm", "--table").stdout


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["explain", "nothing_like_it"], "no operator 'aten::nothing_like_it' is registered"),
        (["explain", "mm", "--input", "tensor of ones"], "cannot read input"),
        (["explain", "mm", "--input", "f32[2] nowhere"], "device"),
        (["explain", "mm", "--import", "no_such_module_at_all"], "importing no_such_module_at_all raises"),
        (["explain", "add::Tensor"], "no operator 'add::Tensor' is registered"),
        (["explain", "mm", "--import", "no_such_module_at_all"], "No module named 'no_such_module_at_all'"),
        (["compare", "mm", "--devices", "cpu"], "two names"),
        (["compare", "mm", "--devices", "cpu,potato"], "device 'potato' is not there"),
    ],
)
def test_one_line_and_exit_code_two(args: list[str], message: str) -> None:
    result = run(*args)
    assert result.exit_code == 2
    assert message in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_trace_changes_nothing_and_sees_everything() -> None:
    def step() -> tuple[object, object]:
        torch.manual_seed(0)
        layer = torch.nn.Linear(4, 4)
        loss = torch.nn.functional.gelu(layer(torch.rand(3, 4))).pow(2).sum()
        loss.backward()
        return loss.detach(), layer.weight.grad

    plain = step()
    tracer = Tracer()
    with tracer:
        traced = step()
    assert all(torch.equal(a, b) for a, b in zip(plain, traced, strict=True))
    events = tracer.describe()
    seen = {(e.operator, e.key) for e in events}
    assert {("aten::addmm", "CPU"), ("aten::gelu_backward", "CPU"), ("aten::linear", "AutogradCPU")} <= seen
    inner = next(e for e in events if (e.operator, e.key) == ("aten::addmm", "CPU"))
    assert events[inner.parent].key == "AutogradCPU"
    assert inner.function == "at::native::addmm_out_cpu (structured, via addmm.out)"
    assert all(e.duration >= events[i].duration for i, e in enumerate(events) if e.parent == -1)
    after = Tracer()
    with after:
        pass
    assert after.events == []
    assert torch.equal(torch.ones(2) + 1, torch.full((2,), 2.0))


def test_scalars_arrive_as_tensors() -> None:
    """C++ passes a scalar as a wrapped number, which Python sees as a number."""
    x = torch.tensor([3, 5])
    with Tracer():
        assert torch.equal(torch.fmod(x, 2.5), torch.tensor([0.5, 0.0]))
        assert torch.fmod(x.half(), 2.5).dtype == torch.float16
        assert torch.remainder(x, 2).dtype == torch.int64


@pytest.mark.parametrize(
    ("line", "layer", "where"),
    [
        ("torch.mm(torch.ones(2, 2), torch.ones(2, 2).half())", "kernel: its dtype check", "aten::mm @ CPU"),
        ("torch.ones(2, 3).mm(torch.ones(2, 3))", "kernel: its shape check", "aten::mm @"),
        ("torch.ops.dispatchtest.gpu(torch.ones(2))", "dispatch: no kernel for the key", "dispatchtest::gpu @"),
        ("torch.ops.dispatchtest.gpu(torch.ones(2))", "dispatch: no kernel for the key", "keys with a kernel: CUDA"),
        ("torch.ones(2).view('a')", "schema: the arguments fit no overload", "no kernel raised it"),
        ("torch.mm(torch.ones(2, 2))", "schema: the arguments fit no overload", "no kernel raised it"),
        ("torch.ops.aten.mm(torch.ones(2, 2))", "schema: the arguments fit no overload", "no kernel raised it"),
        ("(lambda x: x)()", "outside the dispatcher", "no kernel raised it"),
    ],
)
def test_trace_blames(line: str, layer: str, where: str, tmp_path: Path, library: object) -> None:
    script = tmp_path / "broken.py"
    script.write_text(f"import torch\n{line}\n", encoding="utf-8")
    result = run("trace", str(script))
    assert result.exit_code == 1
    assert f"layer: {layer}" in result.stderr
    assert where in result.stderr


def test_python_kernels_have_a_name_and_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pykernels.py").write_text(
        "import torch\nlib = torch.library.Library('pykernels', 'DEF')\n"
        "lib.define('f(Tensor x) -> Tensor')\n\n"
        "def f_cpu(x):\n    return x + 1\n\n"
        "lib.impl('f', f_cpu, 'CPU')\n"
        "@torch.library.custom_op('pykernels::g', mutates_args=())\ndef g(x: torch.Tensor) -> torch.Tensor:\n"
        "    return x.clone()\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    first = run("explain", "pykernels::f", "--import", "pykernels", "--input", "f32[2]")
    assert f"goes on to: CPU kernel f_cpu [kernel] {tmp_path}/pykernels.py:5" in first.output
    second = run("explain", "pykernels::g", "--input", "f32[2]")
    assert f"kernel g [default backend kernel] {tmp_path}/pykernels.py:9" in second.output
    script = tmp_path / "program.py"
    script.write_text("import torch\ntorch.ops.pykernels.f(torch.ones(2))\n")
    assert "pykernels::f @ CPU f_cpu (pykernels.py:5)" in run("trace", str(script)).output


def test_a_device_that_is_not_there_can_be_asked_about() -> None:
    absent = "xpu" if torch.cuda.is_available() else "cuda"
    tensor = inputs.parse_input(f"f32[2,2] {absent} sparse")[1]
    keys = str(tensor.key_set())
    assert f"Sparse{absent.upper()}" in keys
    assert f"Autograd{absent.upper()}" in keys
    assert f"DispatchKeySet({absent.upper()}," not in keys


def test_without_a_private_name_the_profiler_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "program.py"
    script.write_text("import torch\ntorch.mm(torch.ones(2, 2), torch.ones(2, 2))\n")
    monkeypatch.delattr(torch._ops, "resolve_key")
    result = run("trace", str(script))
    assert result.exit_code == 0
    assert "has no torch._ops.resolve_key: dispatches cannot be traced; falling back to the profiler" in result.stderr
    assert "aten::mm" in result.stdout
    monkeypatch.delattr(torch._C, "_dispatch_dump_table")
    refused = run("explain", "mm")
    assert refused.exit_code == 2
    assert "has no torch._C._dispatch_dump_table: this version's dispatcher cannot be read" in refused.stderr


def test_a_program_that_prints_does_not_disturb_json(tmp_path: Path) -> None:
    script = tmp_path / "talks.py"
    script.write_text("import torch\nprint('hello')\ntorch.ones(2) + 1\n")
    traced = run("trace", "--format", "json", str(script))
    assert json.loads(traced.stdout)
    assert "hello" in traced.stderr
    compared = run("compare", "--format", "json", "--devices", "cpu,float64", str(script))
    assert json.loads(compared.stdout)[0]["compared"]


def test_compare_of_a_program_that_raises(tmp_path: Path) -> None:
    script = tmp_path / "raises.py"
    script.write_text("import torch\ntorch.ones(2) + 1\nraise ValueError('no')\n")
    result = run("compare", "--devices", "cpu,float64", str(script))
    assert result.exit_code == 1
    assert "the program raised ValueError: no" in result.stderr


def test_trace_outputs(tmp_path: Path) -> None:
    script = tmp_path / "fine.py"
    script.write_text("import sys, torch\ntorch.mm(torch.ones(2, 2), torch.ones(2, 2))\nassert sys.argv[1:] == ['a']\n")
    chrome = run("trace", "--format", "chrome", "--key", "CPU", str(script), "a")
    assert chrome.exit_code == 0
    events = json.loads(chrome.stdout)["traceEvents"]
    assert {e["cat"] for e in events} == {"CPU"}
    target = tmp_path / "trace.json"
    assert (
        run("trace", "--format", "json", "--output", str(target), "--operator", "mm", str(script), "a").exit_code == 0
    )
    assert {e["operator"] for e in json.loads(target.read_text())} == {"aten::mm"}


def test_caught_errors_are_nobodys_fault(tmp_path: Path) -> None:
    tracer = Tracer()
    with tracer:
        with pytest.raises(RuntimeError):
            torch.mm(torch.ones(2, 3), torch.ones(2, 3))
        torch.ones(2) + 1
    assert tracer.innermost_error() is None
    assert layer_of(None, ValueError("x")) == "outside the dispatcher"


def test_compare_finds_the_kernel_that_differs(tmp_path: Path, library: object) -> None:
    assert run("compare", "softmax", "--devices", "cpu,float64", "--input", "f32[4,4]", "--input", "1").exit_code == 0
    assert run("compare", "mm", "--devices", "cpu,meta").exit_code == 0
    script = tmp_path / "program.py"
    script.write_text("import torch\ntorch.manual_seed(0)\nx = torch.rand(64, 64)\n(x.half() @ x.half().t()).sum()\n")
    result = run("compare", str(script), "--devices", "cpu,float64", "--rtol", "1e-6", "--atol", "0")
    assert result.exit_code == 1
    assert "first difference" in result.stdout
    assert "aten::mm" in result.stdout
    assert "mm_out_cpu" in result.stdout
    assert "random): aten::rand" in result.stdout


def test_explain_agrees_with_trace() -> None:
    """The first hundred operators that made-up inputs fit; benchmarks/dispatch_agreement.py runs them all."""
    agreed = 0
    for name in sorted(n for n in torch._C._dispatch_get_all_op_names() if n.startswith(("aten::a", "aten::s"))):
        base, _, overload = name.partition("::")[2].partition(".")
        if not hasattr(torch.ops.aten, base) or any(
            w in base for w in ("set_", "sparse", "_sobol", "stft", "as_strided")
        ):
            continue
        target = getattr(getattr(torch.ops.aten, base), overload or "default")
        args, kwargs = next(inputs.generate(target._schema), (None, None))
        if args is None or not list(inputs.tensors([args, kwargs])):
            continue
        tracer = Tracer()
        try:
            real = inputs.make([args, kwargs])
            with tracer:
                target(*real[0], **real[1])
        except Exception:  # the made-up inputs do not fit
            continue
        first = next(e for e in tracer.events if e.operator == name)
        winner = explain(target, args, kwargs, decompose=False).winner
        assert winner is not None, name
        assert (winner.key, winner.registered_as) == (first.key, first.registered_as), name
        agreed += 1
        if agreed == 100:
            break
    assert agreed == 100
