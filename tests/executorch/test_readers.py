"""Every form of a registration: text → operators with their lines, and what is found wrong with it."""

from __future__ import annotations

import pytest

from kexec_lint.executorch import tables
from kexec_lint.executorch.build import assemble
from kexec_lint.executorch.checks import selection
from kexec_lint.executorch.readers import detect
from kexec_lint.executorch.registration import Part, RegistrationError
from kexec_lint.findings import Severity

RELEASE = tables.load("1.4.1")


def parts(name: str, text: str) -> list[Part]:
    return detect.parse(name, text.encode(), RELEASE)


def registered(name: str, text: str) -> dict[str, int]:
    """Operators that the file registers by itself, with their rows."""
    build = assemble(name, parts(name, text), RELEASE)
    return {operator: entries[0].at.row for operator, entries in build.registered.items()}


def codes(name: str, text: str) -> list[tuple[str, int]]:
    found = [finding for part in parts(name, text) for finding in selection.check(part, RELEASE)]
    return sorted((f.code, f.location.row) for f in found if f.severity is not Severity.INFO)


SELECTED = """et_kernel_metadata:
  aten::add.out: [default]
  aten::mul.out: [v1/6;0|6;0|6;0|6;0]
operators:
  aten::add.out: {is_root_operator: true, include_all_overloads: false}
  aten::mul.out: {is_root_operator: true, include_all_overloads: false}
"""
GENERATED = """Kernel(
    "aten::add.out",
    [](KernelRuntimeContext & context, Span<EValue*> stack) {
    }
),
Kernel(
    "aten::mul.out",
    "v1/6;0,1|6;0,1|6;0,1|6;0,1",
    [](KernelRuntimeContext & context, Span<EValue*> stack) {
    }
),
"""
REGISTRATIONS = {
    "selected_operators.yaml": (SELECTED, {"aten::add.out": 5, "aten::mul.out": 6}),
    "RegisterCodegenUnboxedKernelsEverything.cpp": (GENERATED, {"aten::add.out": 2, "aten::mul.out": 7}),
    "ops.txt": ("# shipped\naten::add.out\naten::mul.out,  # twice\n", {"aten::add.out": 2, "aten::mul.out": 3}),
    "ops.json": ('{"aten::add.out": [], "aten::mul.out": ["Float"]}', {"aten::add.out": 1, "aten::mul.out": 1}),
    "functions.yaml": (
        "- op: add.out\n  kernels:\n  - arg_meta: null\n    kernel_name: torch::executor::add_out\n"
        "- func: acme::scale.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)\n"
        "  kernels:\n  - arg_meta: null\n    kernel_name: acme::scale_out\n",
        {"aten::add.out": 1, "acme::scale.out": 5},
    ),
    "CMakeLists.txt": (
        'set(OPS "aten::add.out,aten::mul.out")\ngen_selected_ops(\n  LIB_NAME "lib"\n  ROOT_OPS "${OPS}"\n)\n',
        {"aten::add.out": 4, "aten::mul.out": 4},
    ),
    "CMakeCache.txt": (
        "EXECUTORCH_SELECT_OPS_LIST:STRING=aten::add.out,aten::mul.out\n",
        {"aten::add.out": 1, "aten::mul.out": 1},
    ),
    "CMakePresets.json": (
        '{"version": 3, "configurePresets": [{"name": "a", "cacheVariables": {\n'
        '"EXECUTORCH_SELECT_OPS_LIST": "aten::add.out"}}]}',
        {"aten::add.out": 2},
    ),
    "BUCK": (
        'COMMON = ["aten::add.out"]\net_operator_library(\n    name = "ops",\n'
        '    ops = COMMON + [\n        "aten::mul.out",\n    ],\n)\n',
        {"aten::add.out": 1, "aten::mul.out": 5},
    ),
    "targets.bzl": (
        'et_operator_library(name = "o", ops_dict = {\n    "aten::add.out": ["v1/6;0|6;0|6;0|6;0"],\n})\n',
        {"aten::add.out": 2},
    ),
}


@pytest.mark.parametrize("name", REGISTRATIONS)
def test_what_is_registered_and_where(name: str) -> None:
    text, expected = REGISTRATIONS[name]
    assert registered(name, text) == expected


@pytest.mark.parametrize("name", REGISTRATIONS)
def test_sound_registrations_have_no_findings(name: str) -> None:
    assert codes(name, REGISTRATIONS[name][0]) == []


HEAD = "include_all_operators: false\net_kernel_metadata:\n  {name}: [default]\noperators:\n"
ENTRY = "  {name}:\n    is_root_operator: {root}\n    include_all_overloads: false\n"


def yaml_of(name: str, root: str = "true") -> str:
    return (HEAD + ENTRY).format(name=name, root=root)


WRONG = [
    ("s.yaml", yaml_of("aten::add.Tensor"), [("EXT103", 5)]),
    ("s.yaml", yaml_of("aten::relu"), [("EXT103", 5)]),
    ("s.yaml", yaml_of("aten::relu_"), [("EXT103", 5)]),
    ("s.yaml", yaml_of("add.out"), [("EXT103", 5)]),
    ("s.yaml", yaml_of("aten::max_pool3d_with_indices.out"), [("EXT102", 5)]),
    ("s.yaml", yaml_of("aten::sofmax.out"), [("EXT102", 5)]),
    ("s.yaml", yaml_of("executorch_prim::et_viw.default"), [("EXT102", 5)]),
    ("s.yaml", yaml_of("aten::add_out"), [("EXT102", 5)]),
    ("s.yaml", yaml_of("'\"aten::add.out\"'").replace("{name}", ""), [("EXT102", 5)]),
    ("s.yaml", yaml_of("aten::index_put_"), []),
    ("s.yaml", yaml_of("aten::topk.values"), []),
    ("s.yaml", yaml_of("acme::anything"), []),
    ("s.yaml", yaml_of("aten::add.out", "false"), [("EXT104", 5)]),
    ("s.yaml", yaml_of("aten::add.out", "'yes'"), [("EXT105", 6)]),
    ("s.yaml", "et_kernel_metadata: {}\noperators: [aten::add.out]\n", [("EXT105", 2)]),
    ("s.yaml", "et_kernel_metadata: null\noperators: {}\n", [("EXT104", 1)]),
    ("s.yaml", "include_all_operators: true\nops: {}\n", [("EXT105", 2)]),
    ("f.yaml", "- op: add.Tensor\n  kernels:\n  - kernel_name: torch::executor::add_out\n", [("EXT103", 1)]),
    ("f.yaml", "- op: addd.out\n  kernels:\n  - kernel_name: torch::executor::add_out\n", [("EXT105", 1)]),
    ("f.yaml", "- op: sinc.out\n  kernels:\n  - kernel_name: acme::sinc_out\n", []),
    (
        "f.yaml",
        "- func: acme::scale(Tensor x) -> Tensor\n  kernels:\n  - kernel_name: acme::scale\n",
        [("EXT103", 1)],
    ),
    (
        "f.yaml",
        "- op: add.out\n  type_alias: {T0: [Half]}\n  dim_order_alias: {D0: [[0, 1]]}\n"
        "  kernels:\n  - arg_meta: null\n    kernel_name: torch::executor::add_out\n",
        [("EXT105", 2), ("EXT105", 3)],
    ),
    (
        "f.yaml",
        "- op: cat.out\n  type_alias: {T0: [Float]}\n  dim_order_alias: {D0: [0]}\n"
        "  kernels:\n  - arg_meta: {tensors: [T0, D0], out: [T0, D0], r: [T0, D0]}\n    kernel_name: a::cat_out\n",
        [("EXT114", 1)],
    ),
    ("CMakeLists.txt", 'gen_selected_ops(LIB_NAME l ROOT_OPS "aten::relu aten::mul.out")\n', [("EXT103", 1)]),
    ("CMakeLists.txt", "set(EXECUTORCH_SELECT_OPS_FROM_MODEL net.pte)\n", [("EXT118", 1)]),
    ("CMakeLists.txt", "set(EXECUTORCH_ROOT ${CMAKE_SOURCE_DIR}/et)\n", []),
    ("CMakeLists.txt", 'option(EXECUTORCH_SELECT_ALL_OPS "mine" OFF)\nset(EXECUTORCH_SELECT_ALL_OPS ON)\n', []),
    ("CMakeCache.txt", "EXECUTORCH_ACME:UNINITIALIZED=ON\n", [("EXT118", 1)]),
    (
        "CMakeCache.txt",
        "EXECUTORCH_ENABLE_DTYPE_SELECTIVE_BUILD:BOOL=ON\nEXECUTORCH_SELECT_OPS_MODEL:STRING=/m.pte\n",
        [("EXT118", 1)],
    ),
    (
        "CMakePresets.json",
        '{"configurePresets": [{"cacheVariables": {"EXECUTORCH_DTYPE_SELECTIVE_BUILD": true}}]}',
        [("EXT118", 1)],
    ),
    ("BUCK", 'et_operator_library(name = "o", ops = ["aten::add.out", "add.out"])\n', [("EXT103", 1)]),
    ("BUCK", 'et_operator_library(name = "o", ops_dict = {"aten::add.out": ["Half"]})\n', [("EXT105", 1)]),
    ("ops.txt", "aten::add.out\naten::addmm\n", [("EXT103", 2)]),
]


@pytest.mark.parametrize(("name", "text", "expected"), WRONG)
def test_what_is_wrong_and_where(name: str, text: str, expected: list[tuple[str, int]]) -> None:
    assert codes(name, text) == expected


LINKED = [
    ("target_link_libraries(app portable_ops_lib)", True),
    ("target_link_libraries(app PRIVATE -Wl,--whole-archive portable_ops_lib -Wl,--no-whole-archive)", False),
    ("target_link_libraries(app PRIVATE $<LINK_LIBRARY:WHOLE_ARCHIVE,portable_ops_lib>)", False),
    (
        "executorch_target_link_options_shared_lib(portable_ops_lib)\ntarget_link_libraries(app portable_ops_lib)",
        False,
    ),
    (
        "target_link_options(app PRIVATE -Wl,-force_load,lib/libportable_ops_lib.a)\n"
        "target_link_libraries(app portable_ops_lib)",
        False,
    ),
    ("find_package(executorch REQUIRED)\ntarget_link_libraries(app portable_ops_lib)", False),
    (
        "find_package(executorch REQUIRED)\nadd_library(portable_ops_lib STATIC IMPORTED)\n"
        "target_link_libraries(app portable_ops_lib)",
        True,
    ),
    ("target_link_libraries(app executorch executorch_kernels)", False),
    ("gen_operators_lib(LIB_NAME o KERNEL_LIBS portable_kernels)\ntarget_link_libraries(app o)", False),
    ("add_library(o STATIC RegisterCodegenUnboxedKernelsEverything.cpp)\ntarget_link_libraries(app o)", True),
    ("add_library(o SHARED RegisterCodegenUnboxedKernelsEverything.cpp)\ntarget_link_libraries(app o)", False),
    ("add_library(custom_ops STATIC mine.cpp)\ntarget_link_libraries(app custom_ops)", False),
    ("target_link_libraries(app PRIVATE vulkan_backend)", True),
]


@pytest.mark.parametrize(("text", "stripped"), LINKED)
def test_libraries_that_the_linker_strips(text: str, stripped: bool) -> None:
    assert [code for code, _ in codes("CMakeLists.txt", text)] == (["EXT117"] if stripped else [])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("notes.txt", "remember the milk\n"),
        ("x.yaml", "a: [1, 2\n"),
        ("x.yaml", "jobs: {}\n"),
        ("x.json", "{}"),
        ("empty.yaml", ""),
        ("model.pte", "junk"),
        ("lfs.yaml", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"),
    ],
)
def test_a_file_that_says_nothing_is_one_line(name: str, text: str) -> None:
    with pytest.raises(RegistrationError) as failure:
        parts(name, text)
    assert str(failure.value).startswith(name)
    assert "\n" not in str(failure.value)


@pytest.mark.parametrize("version", tables.RELEASES)
def test_tables_are_whole(version: str) -> None:
    release = tables.load(version)
    assert len(release.portable) >= 180
    assert len(release.prim) >= 20
    assert release.prim <= release.wheel_operators
    assert release.portable <= release.wheel_operators
    assert set(release.dtype_checked) <= release.portable
    assert "XnnpackBackend" in release.wheel_backends


def test_the_newest_of_a_minor_release_answers_for_it() -> None:
    assert tables.load("1.4").version == tables.load("v1.4.0").version == "1.4.1"
