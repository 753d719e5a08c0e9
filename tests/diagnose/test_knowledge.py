"""The knowledge base: every example finds its entry, every look-alike is refused, files fit the schema."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from kexec_lint import diagnose
from kexec_lint.diagnose import clean, lookup, matcher
from kexec_lint.diagnose.knowledge import FOLDER, Knowledge, KnowledgeError, load
from kexec_lint.diagnose.needles import bounded, needles

LAYERS = [
    "driver-ioctl",
    "executorch-delegate",
    "executorch-export",
    "executorch-registration",
    "executorch-runtime",
    "executorch-selective-build",
    "gpu-arch",
    "gpu-async-fault",
    "gpu-driver",
    "gpu-launch",
    "gpu-memory",
    "host-memory",
    "loader-abi",
    "noise",
    "opencl-api",
    "opencl-build",
    "opencl-driver",
    "opencl-event",
    "opencl-loader",
    "opencl-memory",
    "pytorch-autograd",
    "pytorch-build",
    "pytorch-dispatch",
    "pytorch-fake",
    "pytorch-kernel-check",
    "pytorch-kernel-dtype",
    "pytorch-registration",
    "system-permission",
    "usage",
]


@pytest.fixture(scope="module")
def knowledge() -> Knowledge:
    return load()


def ids(knowledge: Knowledge, text: str) -> list[str]:
    return [hit.entry.id for hit in matcher.find(knowledge, clean.clean(text))]


def test_every_example_is_first_its_own_entry(knowledge: Knowledge) -> None:
    wrong = {}
    for entry in knowledge.entries:
        for example in entry.examples:
            found = diagnose.diagnose(example, knowledge)
            if not found or found[0].id != entry.id or found[0].layer != ("unknown" if entry.open else entry.layer):
                wrong[entry.id, example] = [d.id for d in found]
    assert not wrong


def test_every_look_alike_is_refused(knowledge: Knowledge) -> None:
    wrong = [
        (entry.id, text)
        for entry in knowledge.entries
        for text in entry.look_alikes
        if entry.id in ids(knowledge, text)
    ]
    assert not wrong


def test_what_is_open_is_unknown_unless_another_line_says_of_which_layer_it_is(knowledge: Knowledge) -> None:
    open_ = [entry for entry in knowledge.entries if entry.open]
    assert {"cudnn-not-initialized", "hip-no-gpu", "library-internal-error"} <= {entry.id for entry in open_}
    for entry in open_:
        assert len(entry.follows) > 1
        (found,) = diagnose.diagnose(entry.examples[0], knowledge)
        assert (found.id, found.layer, found.root) == (entry.id, "unknown", True)
        assert f"It may be any of {', '.join(entry.follows)}." in found.cause
        assert found.next_steps
    text = "RuntimeError: cuDNN error: CUDNN_STATUS_NOT_INITIALIZED\n"
    found, after = diagnose.diagnose(f"CUDA out of memory. Tried to allocate 2 GiB\n{text}", knowledge)
    assert (found.layer, after.id, after.layer) == ("gpu-memory", "cudnn-not-initialized", "gpu-launch")
    (asked,) = lookup.lookup(knowledge, "hip-no-gpu")
    assert asked.layer == "unknown"


def test_what_is_open_says_between_which_layers(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(
        "layer: gpu-driver\nentries:\n- id: a\n  open: true\n  pattern: never\n  examples: [never]\n"
        "  look_alikes: [ever]\n  cause: No idea.\n"
    )
    with pytest.raises(KnowledgeError, match="open"):
        load([path])


def test_layers_keep_their_names(knowledge: Knowledge) -> None:
    assert sorted(layer.name for layer in knowledge.layers) == sorted(LAYERS)
    assert {entry.layer for entry in knowledge.entries} == set(LAYERS)
    for layer in knowledge.layers:
        assert set(layer.follows) <= set(LAYERS)


def test_every_file_fits_the_schema() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads((FOLDER / "schema.json").read_text())
    validator = jsonschema.Draft202012Validator(schema)
    for path in sorted(FOLDER.rglob("*.yaml")):
        errors = [
            f"{path.name}: {e.json_path}: {e.message}" for e in validator.iter_errors(yaml.safe_load(path.read_text()))
        ]
        assert not errors


def test_rule_codes_have_a_code_s_form_and_no_unknown_prefix(knowledge: Knowledge) -> None:
    for entry in knowledge.entries:
        for code in entry.rules:
            assert re.fullmatch(r"(?:OCL|ATN|EXT)\d{3}", code), entry.id


def test_a_pattern_matches_no_text_without_a_needle(knowledge: Knowledge) -> None:
    for entry in knowledge.entries:
        if entry.pattern is None:
            continue
        for example in entry.examples:
            for line in clean.clean(example):
                match = re.search(entry.pattern, line.text)
                if match is not None:
                    assert any(needle in line.text for needle in entry.needles), (entry.id, line.text)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (r"foo|barbaz", ("barbaz", "foo")),
        (r"\w+: out of memory", (": out of memory",)),
        (r"[Ee]rror (?:one|two)", ("Error ", "error ")),
        (r"(?i:abc)\d", ()),
        (r"x(?:long literal)?yz", ("yz",)),
        (r"a*b*", ()),
    ],
)
def test_needles(pattern: str, expected: tuple[str, ...]) -> None:
    assert needles(pattern) == expected


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (r"\w+ .*?x", r"\w{1,200} .{0,200}?x"),
        (r"[+*]+\*\+", r"[+*]{1,200}\*\+"),
        (r"[]*]*", r"[]*]{0,200}"),
        (r"a{2,3}", r"a{2,3}"),
    ],
)
def test_open_repetitions_are_bounded(pattern: str, expected: str) -> None:
    assert bounded(pattern) == expected


def test_opencl_status_codes_in_every_common_spelling(knowledge: Knowledge) -> None:
    family = next(f for f in knowledge.families if f.name == "opencl")
    wrong = []
    for code in family.codes:
        if code.number is None or code.number <= -999:
            continue
        name, number = code.names[0], code.number
        spellings = [
            f"pyopencl._cl.LogicError: clFoo failed: {name}",
            f"ERROR: clEnqueueNDRangeKernel() : {number} : CL_{name}",
            f"clSetKernelArg returned {number}",
            f"OpenCL error {number} at main.c:12",
            f"terminate called after throwing an instance of 'cl::Error'\n  what():  clFoo ({number})",
            f"clGetEventInfo failed with error code {number}",
            f"CLError(code={number}, CL_{name})",
            f"OpenCL error in file 'ocl_memory.h' in line 587 : {number}.",
            f"clFinish() returned {number}!",
            f"cl_err={number}",
            f"[CL] error {number}",
            f"OpenCL exception {number}, exiting",
            f"err = {number}\nclFinish(queue)",
            f"clEnqueueCopyBuffer failed: {number % 2**32}",
            f"OpenCL error code {number % 2**32:#x}",
            *([] if "MEM" in name else [f"Native API returns: {number} (PI_ERROR_{name})"]),
            *(f"RuntimeError: clFoo failed: {text}" for text in code.texts),
            *(f"OpenCL Error ({number}): {text.title()} when calling clFoo" for text in code.texts),
        ]
        for text in spellings:
            found = ids(knowledge, text)
            if not {code.entry, *code.at.values()} & set(found):
                wrong.append((text, found))
    assert not wrong


@pytest.mark.parametrize(
    ("text", "entry"),
    [
        ("clEnqueueNDRangeKernel failed (-5)", "cl-launch-out-of-resources"),
        ("clWaitForEvents (NDRange, 1): CL_OUT_OF_RESOURCES", "cl-fault-out-of-resources"),
        ("clEnqueueMapBuffer failed with error code -5", "cl-fault-out-of-resources"),
        ("clCreateImage2D failed: CL_OUT_OF_RESOURCES", "cl-memory-out-of-resources"),
        (
            "Error executing function: clCreateBuffer\n\nStatus error code: CL_OUT_OF_RESOURCES (-5)",
            "cl-memory-out-of-resources",
        ),
        ("clCreateBuffer ok\nclFinish ok\nOpenCL error CL_OUT_OF_RESOURCES", "cl-out-of-resources"),
        ("clCreateContext failed: CL_OUT_OF_RESOURCES", "cl-out-of-resources"),
    ],
)
def test_a_status_means_what_it_means_at_the_call_that_returned_it(knowledge: Knowledge, text: str, entry: str) -> None:
    assert ids(knowledge, text)[0] == entry


@pytest.mark.parametrize(
    ("text", "entry"),
    [
        ("Uncaught Error: [queue.enqueueNDRange] INVALID_WORK_GROUP_SIZE", "cl-invalid-work-group-size"),
        ("an EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST exception", "cl-exec-status-error"),
        ("panic: MEM_OBJECT_ALLOCATION_FAILURE", "cl-mem-alloc-failure"),
        ("createKernel error: -46", "cl-invalid-kernel-name"),
        ("setArg(2) error -51", "cl-invalid-arg-size"),
        ("GPU error -9999 : kernel.cl", "cl-nv-9999"),
        ("[Error: Failed to run forward on the torch module, error code: 20]", "et-error-0x14"),
        ("Module.forward failed with 0x20", "et-error-0x20"),
        ("HSA error code: 4104", "hsa-out-of-resources"),
        ("CUDA error DRIVER: '999' in func 'run' line 978", "cuda-unknown-999"),
        ("Error: vkAllocateMemory failed -2", "device-memory"),
        ("vkCreateDevice(gpu, &info) returned VkResult -3", "vk-driver-missing"),
        ("vkQueueSubmit: failed with error code -4", "vk-device-lost"),
        ("got Error Code 32 on module.load_method('forward')", "et-error-0x20"),
        ("status 18 from model->module.forward(x)", "et-error-0x12"),
    ],
)
def test_codes_as_bindings_print_them(knowledge: Knowledge, text: str, entry: str) -> None:
    assert ids(knowledge, text) == [entry]


def test_cuda_codes_in_every_common_spelling(knowledge: Knowledge) -> None:
    family = next(f for f in knowledge.families if f.name == "cuda")
    wrong = []
    for number, code in family.by_number.items():
        for text in (
            f"CUDA error {number}",
            f"CUDA error at main.cu:17 code={number}",
            f"Cuda failure: {number}",
            f"CUDA driver error ({number})",
            f"CUDA runtime error ({number})",
            f"CUDA call failed with {number}.",
            f"CUDA status {number}, exiting",
            f"cuda_err = {number}",
            f"cuLaunchKernel error: {number}",
            f"cuModuleLoadData failed, err={number}",
            f"cudaStreamSynchronize -> {number}",
            f"cudaMemset failed ({number})",
            f"cudaGetLastError() = {number}",
            f"hipErrorCheck: HIP error {number} at foo.hip:3",
            f"Check failed: error == cudaSuccess ({number} vs. 0)",
        ):
            found = ids(knowledge, text)
            if knowledge.by_id[code.entry].last and found and found != [code.entry]:
                found = [code.entry] if knowledge.by_id[found[0]].last else found  # two that yield to any other
            if found != [code.entry]:
                wrong.append((text, found))
    assert not wrong


@pytest.mark.parametrize(
    "text",
    [
        "make[2]: *** [CMakeFiles/cuda_ops.dir/build.make:76: foo.cu.o] Error 1",
        "command '/usr/local/cuda/bin/nvcc' failed with exit code 1",
        "cudaSetDevice(1)",
        "cudaGetDeviceCount() = 2",
        "CUDA result 2 of 3",
        "CUDA tests failed: 3",
        "CUDA returned 2 devices",
        "HTTP error code 700\nCUDA",
        "error code 200\ncudaDeviceSynchronize",
        "cudaMalloc failed 3 times",
    ],
)
def test_other_numbers_beside_cuda_are_no_codes(knowledge: Knowledge, text: str) -> None:
    table = {code.entry for family in knowledge.families if family.name == "cuda" for code in family.codes}
    assert not table & set(ids(knowledge, text))


@pytest.mark.parametrize(
    ("text", "entry"),
    [
        ("cuBLAS error: 13", "cuda-stream-consequence"),
        ("cublasSgemm(handle, n) failed: 14", "library-internal-error"),
        ("cublasCreate returned error code 1", "library-alloc-failed"),
        ("cudnn error code 8", "cuda-stream-consequence"),
        ("cudnnConvolutionForward failed: 9", "library-no-engine"),
        ("cudnn Error: 1001", "cudnn-not-initialized"),
        ("CUFFT error: 2", "library-alloc-failed"),
        ("cusolverDnCreate failed with status 7", "library-internal-error"),
        ("CURAND error 203", "library-internal-error"),
        ("CURAND_STATUS_LAUNCH_FAILURE", "cuda-stream-consequence"),
        ("CUSPARSE API failed at line 12 with error: insufficient resources (11)", "library-alloc-failed"),
        ("CUDA error: architecture mismatch when calling `cusparseSpMM( handle, opA )`", "arch-words"),
        ("CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED", "library-alloc-failed"),
        ("CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH", "arch-words"),
        (
            "[TensorRT-LLM][ERROR] CUDA runtime error in cub::DeviceRadixSort::SortPairs(nullptr, size, (T*) p, "
            "sizeof(T) * 8, stream): invalid device function (/code/kernels/sampling.cu:1077)",
            "cuda-invalid-device-function",
        ),
    ],
)
def test_codes_of_the_math_libraries(knowledge: Knowledge, text: str, entry: str) -> None:
    assert ids(knowledge, text)[0] == entry


@pytest.mark.parametrize(
    "text", ["cublas tests failed: 3", "cuDNN Error: 8 errors", "cudnn status 8.9", "cufft_plan 3"]
)
def test_other_numbers_beside_a_math_library_are_no_codes(knowledge: Knowledge, text: str) -> None:
    names = {"cublas", "cudnn", "cusparse", "cusolver", "cufft", "curand"}
    table = {code.entry for family in knowledge.families if family.name in names for code in family.codes}
    assert not table & set(ids(knowledge, text))


def test_a_number_of_older_releases_is_said_to_be_one(knowledge: Knowledge) -> None:
    (found,) = diagnose.diagnose("Check failed: error == cudaSuccess (38 vs. 0)", knowledge)
    assert found.layer == "gpu-driver"
    assert found.fields["number"] == ("100; 38 before CUDA 10.1",)


def test_what_a_message_follows_is_a_layer_or_another_message(knowledge: Knowledge) -> None:
    names = {*knowledge.layer, *knowledge.by_id}
    assert not {name for entry in knowledge.entries for name in entry.follows} - names


def test_executorch_codes_in_every_common_spelling(knowledge: Knowledge) -> None:
    family = next(f for f in knowledge.families if f.name == "executorch")
    for code in family.codes:
        assert code.number is not None
        for text in (
            f"RuntimeError: loading method forward failed with error {code.number:#x}",
            f"RuntimeError: Failed to load method forward, error: 0x:{code.number:x}",
            f"java.lang.Exception: Execution of method forward failed with status {code.number:#04x}",
            f'Error Domain=org.pytorch.executorch.error Code={code.number} "(null)"',
            f"E executorch: load_method returned Error::{code.names[0]}",
        ):
            layers = {knowledge.by_id[i].layer for i in ids(knowledge, text)}
            assert knowledge.by_id[code.entry].layer in layers, text


@pytest.mark.parametrize(
    "text",
    [
        "#define CL_INVALID_VALUE -30",
        '        case CL_INVALID_KERNEL_ARGS: return "CL_INVALID_KERNEL_ARGS";',
        "    if (err != CL_SUCCESS) exit(1);",
        "clGetDeviceIDs returned 0",
        "clock_gettime(CLOCK_MONOTONIC) = -1",
        "GL_INVALID_VALUE error generated. Texture is not a multisample texture.",
        "  CL_DEVICE_MAX_MEM_ALLOC_SIZE                     2147483648",
        "loss -54.3 step -5",
        "    INVALID_WORK_GROUP_SIZE = -54,",
        "        case INVALID_COMMAND_QUEUE:",
        "status.INVALID_KERNEL_ARGS is -52",
        '    "INVALID_KERNEL_ARGS", "INVALID_WORK_GROUP_SIZE",',
        "ADD_CONSTANT(, BUILD_PROGRAM_FAILURE);",
        "vkAllocateMemory returned 0 after 4 ms",
        "code 32 in db.execute(",
        "NCCL INFO Channel 00/02 : 0 1",
        "all 312 tests passed, 0 failed, 0 errors",
        "  0%|          | 0/6 [00:00<?, ?it/s]",
        "Created TensorFlow Lite delegate for GPU.",
        "-- Performing Test CXX_HAS_AVX512 - Failed",
        "Using device: cpu, GPU not needed",
        "clCreateContextFromType(NULL, CL_DEVICE_TYPE_CPU)  No devices found in platform",
        "I1118 11:42:18.382000 1262964 torch/fx/experimental/symbolic_shapes.py:6097] [0/0] create_symbol s0 = 4",
        "The input must be divisible by 8 for tensor cores",
        "using shared memory /dev/shm/psm_1234",
        "[opencl_init] opencl library 'libOpenCL' found on your system and loaded",
        "cudaGetLastError() = 0",
        "Requirement: needs 8 GB of VRAM. Only NVIDIA GPUs are supported.",
        "libcudart.so.12 => /usr/local/cuda/lib64/libcudart.so.12",
        "torch.compile took 12.3 s, 3 graph breaks",
    ],
)
def test_what_reports_nothing_is_left_alone(knowledge: Knowledge, text: str) -> None:
    assert [d for d in diagnose.diagnose(text, knowledge) if d.layer != "noise"] == []


def test_own_knowledge_comes_first(tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text(
        "layer: opencl-driver\nentries:\n- id: acme-7\n  pattern: 'ACME-GPU: E0\\d+'\n"
        "  examples: ['ACME-GPU: E07 CL_INVALID_VALUE']\n"
        "  look_alikes: ['ACME-GPU: ok']\n  cause: The board lost its clock.\n  next_steps: [acmectl reset]\n"
    )
    cache = tmp_path / "cache"
    for _ in range(2):  # compiled, then from the cache
        knowledge = load([own], cache)
        assert ids(knowledge, "ACME-GPU: E07 clFoo failed: CL_INVALID_VALUE") == ["acme-7"]
    assert list(cache.glob("knowledge-*.json"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- 1", "a mapping with `layer`"),
        (
            "layer: nowhere\nentries: [{id: a, pattern: abc, examples: [abc], look_alikes: [x], cause: c}]",
            "no layer 'nowhere'",
        ),
        (
            "layer: usage\nentries: [{id: a, pattern: '(', examples: [abc], look_alikes: [x], cause: c}]",
            "pattern:",
        ),
        (
            "layer: usage\nentries: [{id: a, pattern: '.*', examples: [abc], look_alikes: [x], cause: c}]",
            "needs a literal",
        ),
        ("layer: usage\nentries: [{id: a, pattern: abc, examples: [abc], cause: c}]", "look_alikes"),
        (
            "layer: usage\nentries: [{id: a, pattern: abc, exmaples: [abc], look_alikes: [x], cause: c}]",
            "unknown field 'exmaples'",
        ),
        (
            "layer: usage\nentries: [{id: usage-shape, pattern: abc, examples: [abc], look_alikes: [x], cause: c}]",
            "stands twice",
        ),
        ("a: [", "cannot be read"),
    ],
)
def test_a_faulty_knowledge_file_is_one_clear_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(text)
    with pytest.raises(KnowledgeError, match=re.escape(message)) as caught:
        load([path])
    assert "\n" not in str(caught.value)
