"""Whole logs: cleaning, root cause and consequences, unknown failures, filled-in steps, cost."""

from __future__ import annotations

import time

import pytest

from kexec_lint import diagnose
from kexec_lint.diagnose import clean, matcher, render, resemble
from kexec_lint.diagnose.endings import ending
from kexec_lint.diagnose.knowledge import Knowledge, load
from kexec_lint.diagnose.lookup import lookup
from kexec_lint.diagnose.steps import named


@pytest.fixture(scope="module")
def knowledge() -> Knowledge:
    return load()


def told(knowledge: Knowledge, text: str) -> list[tuple[str, bool]]:
    return [(d.id, d.root) for d in diagnose.diagnose(text, knowledge)]


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("\x1b[31mRuntimeError\x1b[0m: x", "RuntimeError: x"),
        ("\x1b]8;;http://a\x07link\x1b]8;;\x07", "link"),
        ("[rank0]: RuntimeError: x", "RuntimeError: x"),
        ("[rank3]:[rank3]: RuntimeError: x", "RuntimeError: x"),
        ("[1,0]<stderr>:RuntimeError: x", "RuntimeError: x"),
        ("(EngineCore_DP0 pid=316) RuntimeError: x", "RuntimeError: x"),
        ("(Worker pid=9) ERROR 05-15 18:58:58 [engine.py:448] RuntimeError: x", "RuntimeError: x"),
        (
            'W0819 22:05:31.171000 13895 torch/a.py:551] [0/0]   File "m.py", line 3, in f',
            '  File "m.py", line 3, in f',
        ),
        ("V0627 torch/_dynamo/exc.py:209] [0/0] [__graph_breaks] Traceback", "Traceback"),
        ("ERROR 05-15 18:58:58 [engine.py:448] no worker", "ERROR 05-15 18:58:58 [engine.py:448] no worker"),
        ("(RayWorkerWrapper pid=12, ip=10.0.0.1) RuntimeError: x", "RuntimeError: x"),
        ("2024-05-01T12:00:00.1234567Z RuntimeError: x", "RuntimeError: x"),
        ("2024-05-01 12:00:00,123 RuntimeError: x", "RuntimeError: x"),
        ("[  812.336001] NVRM: x", "NVRM: x"),
        ("vllm-1  | RuntimeError: x", "RuntimeError: x"),
        ("\u2018a\u2019 \u201cb\u201d", "'a' \"b\""),
        (r"not implemented for \'Half\'", "not implemented for 'Half'"),
        ("Memory access fault by GPU **node-2** on address", "Memory access fault by GPU node-2 on address"),
        ("char **argv, void **data", "char **argv, void **data"),
    ],
)
def test_lines_are_cleaned(raw: str, text: str) -> None:
    assert [line.text for line in clean.clean(raw)] == [text]


def test_source_echoed_by_a_traceback_is_no_message(knowledge: Knowledge) -> None:
    text = (
        "Traceback (most recent call last):\n"
        '  File "app.py", line 3, in f\n'
        '    raise RuntimeError("no kernel image is available for execution on the device")\n'
        "          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "RuntimeError: Missing operator: [0] aten::add.out\n"
    )
    assert told(knowledge, text) == [("et-missing-operator", True)]


def test_an_escaped_line_end_cuts_a_long_line_and_a_path_does_not() -> None:
    filler = "x" * 200
    assert [line.text for line in clean.clean(rf"{filler}\nRuntimeError: x")] == [filler, "RuntimeError: x"]
    path = rf"{filler} D:\\lib\\nvidia"
    assert [line.text for line in clean.clean(path)] == [path]


def test_a_cell_of_a_table_that_goes_on_in_the_next_row_is_one_message() -> None:
    rows = [
        "| model | 1 | UNAVAILABLE: CUDA runtime error: operation no |",
        "|       |   | t supported (/app/x.cpp:170)                 |",
        "| other | 2 | READY                                        |",
    ]
    cells = clean.clean("\n".join(rows))
    assert [line.number for line in cells] == [1, 3]
    assert "operation not supported (/app/x.cpp:170)" in cells[0].text


def test_progress_bars_and_long_lines_keep_their_numbers(knowledge: Knowledge) -> None:
    text = (
        "ok\n 10%|#\r 20%|##\rRuntimeError: CUDA error: misaligned address\n"
        + "x" * 50_000
        + " hipErrorNoBinaryForGpu\n"
    )
    lines = {d.id: d.lines[0][0] for d in diagnose.diagnose(text, knowledge)}
    assert lines == {"cuda-misaligned-address": 2, "hip-no-binary": 3}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (  # the loader's complaint, logged as a warning, is why the operator is missing
            "WARNING _custom_ops.py:14] Failed to import from vllm._C with "
            "ImportError('libcudart.so.12: cannot open "
            "shared object file: No such file or directory')\n"
            "AttributeError: '_OpNamespace' '_C' object has no attribute 'rms_norm'\n",
            [("shared-object-missing", True), ("opnamespace-attr", False)],
        ),
        (  # the first failing call of an API counts
            "clSetKernelArg failed: CL_INVALID_ARG_SIZE (-51)\n"
            "clEnqueueNDRangeKernel failed: CL_INVALID_KERNEL_ARGS (-52)\n"
            "clWaitForEvents failed: CL_INVALID_EVENT (-58)\n",
            [("cl-invalid-arg-size", True), ("cl-invalid-kernel-args", False), ("cl-invalid-event", False)],
        ),
        (  # the kernel log may come last
            "clFinish failed: CL_OUT_OF_RESOURCES (-5)\nclFinish failed: CL_INVALID_COMMAND_QUEUE (-36)\n"
            "[ 99.123456] NVRM: Xid (PCI:0000:3d:00): 31, pid=13641, Ch 00000008, MMU Fault\n",
            [("xid-mmu-fault", True), ("cl-fault-out-of-resources", False), ("cl-invalid-command-queue", False)],
        ),
        (
            "E 00:00:00.01 executorch:method.cpp:39] Missing operator: [0] aten::add.out\n"
            "E 00:00:00.02 executorch:method.cpp:88] Execution of method forward failed with status 0x14\n",
            [("et-missing-operator", True), ("et-error-0x14", False)],
        ),
        (  # some messages are consequences by their nature
            "[ 99.123456] NVRM: Xid (PCI:0000:00:06): 43, pid=449, name=python3\n"
            "RuntimeError: CUDA error: device-side assert triggered\n"
            "RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasSgemm`\n",
            [("cuda-device-assert", True), ("xid-43-45", False), ("cuda-stream-consequence", False)],
        ),
        (  # a launch that was refused, then a fault; in the other order the fault is what failed
            "cuCheckForError: too many resources requested for launch(7) in NTree.hpp on line 557.\n"
            "cuHandleError: unspecified launch failure in NTree.hpp on line 616.\n",
            [("cuda-launch-config", True), ("cuda-launch-failure", False)],
        ),
        (
            "cuHandleError: unspecified launch failure in NTree.hpp on line 616.\n"
            "cuCheckForError: too many resources requested for launch(7) in NTree.hpp on line 557.\n",
            [("cuda-launch-failure", True), ("cuda-launch-config", False)],
        ),
        (  # a mask that the one kernel does not take, beside kernels that were not built
            "NotImplementedError: No operator found for `memory_efficient_attention_forward` with inputs:\n"
            "`fa3F@0.0.0` is not supported because:\n"
            "    operator wasn't built - see `python -m xformers.info` for more info\n"
            "`cutlassF-pt` is not supported because:\n"
            "    attn_bias.stride(-2) % 8 != 0 (attn_bias.stride() = (1984032, 248004, 498, 1))\n",
            [
                ("attention-refuses-inputs", True),
                ("xformers-candidate-not-built", False),
                ("attention-no-operator", False),
            ],
        ),
        (  # a permission refused, relabelled by the runtime
            "Unable to open /dev/kfd read-write: Permission denied\n"
            "hsa api call failure at: rocminfo.cc:1148\n"
            "Call returned HSA_STATUS_ERROR_OUT_OF_RESOURCES: The runtime failed\n",
            [("kfd-open-failed", True), ("hsa-out-of-resources", False)],
        ),
        (  # a wrapper's message stands before the one it wraps
            "torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:\n"
            "RuntimeError: Failed to find C compiler. Please specify via CC environment variable.\n",
            [("extension-compile", True), ("compile-failed", False)],
        ),
        (  # a debugger that may not attach is not what failed
            "CUDA error: out of memory\nptrace: Operation not permitted.\n",
            [("cuda-oom", True), ("debugger-denied", True)],
        ),
        (  # two that have nothing to do with each other stay apart
            "RuntimeError: Missing out variants: {'aten::alias'}\n"
            "RuntimeError: clBuildProgram failed: BUILD_PROGRAM_FAILURE\n",
            [("cl-build-failure", True), ("et-missing-out-variants", True)],
        ),
        (
            "ioctl(3, TCGETS, 0x7ffd) = -1 ENOTTY (Inappropriate ioctl for device)\n"
            "RuntimeError: CUDA error: out of memory\n",
            [("cuda-oom", True), ("strace-tty-noise", False)],
        ),
    ],
)
def test_root_causes_and_consequences(knowledge: Knowledge, text: str, expected: list[tuple[str, bool]]) -> None:
    assert told(knowledge, text) == expected


def test_an_unknown_failure_is_said_to_be_unknown_with_the_nearest_layer(
    knowledge: Knowledge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resemble, "_learned", lambda: (("unknown",), {"unknown": 0.0}, {}))
    text = "start\nRuntimeError: torch: the guard of the gate could not be evaluated while the pump was tracing\n"
    (found,) = diagnose.diagnose(text, knowledge, command="python app.py")
    assert (found.id, found.layer, found.executor, found.root) == ("unknown", "unknown", "aten", True)
    assert "pytorch-fake" in found.cause
    assert found.lines[0][0] == 2
    assert any("python app.py" in step for step in found.next_steps)


def test_a_warning_does_not_explain_a_failure(knowledge: Knowledge) -> None:
    text = (
        "UserWarning: The operator 'aten::nonzero' is not currently supported on the MPS backend "
        "and will fall back to run on the CPU.\nValueError: 7\n"
    )
    assert told(knowledge, text) == [("unknown", True), ("backend-fallback-warning", False)]


def test_steps_name_what_the_message_names(knowledge: Knowledge) -> None:
    (found,) = diagnose.diagnose(
        "NotImplementedError: Could not run 'acme::scale' with arguments from the 'CUDA' backend.", knowledge
    )
    assert found.next_steps[0] == "kexec-lint dispatch explain acme::scale"
    (found,) = diagnose.diagnose(
        "loading /data/m.pte\nE executorch:x.cpp:1] Backend XnnpackBackend is not registered.", knowledge
    )
    assert found.next_steps[0] == "kexec-lint opset check /data/m.pte --build CMakeLists.txt --backends XnnpackBackend"
    assert not any(
        "{" in step
        for entry in knowledge.entries
        for d in diagnose.diagnose(entry.examples[0], knowledge)
        for step in d.next_steps
    )


def test_positions_in_the_users_code() -> None:
    lines = clean.clean(
        'File "app.py", line 7, in f\nFile "/usr/lib/python3/site-packages/torch/x.py", line 9, in g\n'
        "src/k.cl:12:5: error: x\nsee m.pte now\n"
    )
    names = named(lines)
    assert names.frames == (("app.py", 7), ("src/k.cl", 12))
    assert names.program == "m.pte"


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("-54", ["cl-invalid-work-group-size"]),
        ("-5", ["cl-out-of-resources", "device-memory"]),
        ("0x14", ["et-error-0x14"]),
        ("0x51", ["rm-no-memory"]),
        ("700", ["cuda-illegal-access"]),
        ("CL_INVALID_WORK_GROUP_SIZE", ["cl-invalid-work-group-size"]),
        ("INVALID_KERNEL_ARGS", ["cl-invalid-kernel-args"]),
        ("cudaErrorIllegalAddress", ["cuda-illegal-access"]),
        ("CUDA_ERROR_NO_BINARY_FOR_GPU", ["cuda-no-kernel-image"]),
        ("hipErrorNoBinaryForGpu", ["hip-no-binary"]),
        ("VK_ERROR_DEVICE_LOST", ["vk-device-lost"]),
        ("OperatorMissing", ["et-error-0x14"]),
        ("cl-any-code", ["cl-any-code"]),
        ("CL_NO_SUCH_CODE", []),
        ("-7777", []),
    ],
)
def test_bare_codes(knowledge: Knowledge, text: str, ids: list[str]) -> None:
    found = lookup(knowledge, text)
    assert [d.id for d in found] == ids
    assert [d.root for d in found] == [True, False][: len(ids)]


@pytest.mark.parametrize(
    ("code", "status", "words", "bad"),
    [
        (0, 0, "ended with 0", False),
        (3, 3, "status 3", True),
        (-11, 139, "SIGSEGV", True),
        (139, 139, "SIGSEGV", True),
        (137, 137, "out-of-memory killer", True),
        (-2, 130, "SIGINT", False),
        (127, 127, "not found", True),
    ],
)
def test_endings(code: int, status: int, words: str, bad: bool) -> None:
    end = ending(code)
    assert (end.status, end.bad) == (status, bad)
    assert words in end.text


def test_text_report_fits_the_width_and_shows_evidence(knowledge: Knowledge) -> None:
    found = diagnose.diagnose(
        "a\nb\nNotImplementedError: Could not run 'acme::scale' with arguments from the 'CUDA' backend.\n",
        knowledge,
    )
    report = render.as_text(found, knowledge, {"ATN101": "def-without-impl"}, width=80)
    assert "pytorch-dispatch" in report
    assert "3 | " in report
    assert "ATN101 def-without-impl" in report
    plain = [line for line in report.split("\n") if "https://" not in line and "m" not in line[:1]]
    assert max(len(line) for line in plain if "\x1b" not in line) <= 80


def mixed_log(knowledge: Knowledge, size: int) -> str:
    fill = [
        "INFO 05-01 12:00:00 llm_engine.py:72] Initializing an LLM engine with config: model='Qwen/Qwen-7B-Chat'",
        "epoch 3 step 1200 loss 0.3312 lr 1.0e-4 tokens/s 12000",
        "[ 123.456789] usb 1-1: new high-speed USB device number 4 using xhci_hcd",
        '  File "/usr/lib/python3/site-packages/torch/nn/modules/module.py", line 1518, in _wrapped_call_impl',
        "    return self._call_impl(*args, **kwargs)",
        "ioctl(3, DRM_IOCTL_VERSION, 0x7ffdff952f60) = 0",
    ]
    known = [example for entry in knowledge.entries for example in entry.examples]
    lines: list[str] = []
    length = 0
    while length < size:
        line = known[len(lines) // 5 % len(known)] if len(lines) % 5 == 0 else fill[len(lines) % len(fill)]
        lines.append(line)
        length += len(line) + 1
    return "\n".join(lines)


def seconds(text: str, knowledge: Knowledge) -> float:
    start = time.process_time()
    diagnose.diagnose(text, knowledge)
    return time.process_time() - start


def test_a_megabyte_of_mixed_log_takes_less_than_two_seconds(knowledge: Knowledge) -> None:
    text = mixed_log(knowledge, 1 << 20)
    assert min(seconds(text, knowledge) for _ in range(2)) < 2


@pytest.mark.parametrize(
    "unit", ["a", "clEnqueue failed: ", "ioctl(_IOC( DRM_IOCTL_", "\x1b[", "Could not run '", "error: -5 ", "x\r"]
)
def test_a_hostile_line_costs_little_more_per_byte_than_a_short_one(knowledge: Knowledge, unit: str) -> None:
    small, large = (unit * (size // len(unit)) for size in (1 << 17, 1 << 20))
    seconds(small, knowledge)  # compiles the patterns
    assert seconds(large, knowledge) < 40 * max(seconds(small, knowledge), 0.05)
    assert seconds(large, knowledge) < 10


@pytest.mark.parametrize(
    ("text", "layer", "line"),
    [
        (  # words that no entry knows: the innermost frame tells
            "Traceback (most recent call last):\n"
            '  File "train.py", line 3, in <module>\n    step(x)\n'
            '  File "/v/lib/python3.11/site-packages/torch/_inductor/sizevars.py", line 90, in simplify\n'
            "    raise AssertionError(x)\nAssertionError: s0 < 7\n",
            "pytorch-fake",
            4,
        ),
        (
            'Traceback (most recent call last):\n  File "C:\\v\\executorch\\export\\stages.py", line 9, in f\n'
            "    raise ValueError(x)\nValueError: node 7\n",
            "executorch-export",
            2,
        ),
        (  # also where the beginning of the frame was cut off
            'torch/autograd/function.py", line 181, in backward\n    raise NotImplementedError\nNotImplementedError\n',
            "pytorch-autograd",
            1,
        ),
        (  # a caller further out does not
            "Traceback (most recent call last):\n"
            '  File "/v/torch/_inductor/runtime/hints.py", line 3, in run\n    f(x)\n'
            '  File "app.py", line 7, in f\n    raise ValueError(x)\nValueError: no such city\n',
            diagnose.UNKNOWN,
            6,
        ),
        (  # native stacks: what only carries the failure on top is passed over
            "Segmentation fault\n#0  0x00007f1 in __memcpy_avx () from /lib/x86_64-linux-gnu/libc.so.6\n"
            "#1  0x00007f2 in ?? () from /usr/lib/libnvidia-opencl.so.1\n#2  0x0001 in main ()\n",
            "opencl-driver",
            3,
        ),
        ("python3[77]: segfault at 0 ip 00007f sp 00007f error 4 in libigc.so.1[7f00+1000]\n", "opencl-driver", 1),
        ("Fatal signal 11\n#00 pc 0001f2 /vendor/lib64/libQnnHtpV75Stub.so (run+12)\n", "executorch-delegate", 2),
        ("Segmentation fault\n#0  0x00007f1 in f () from /opt/app/libapp.so\n", diagnose.UNKNOWN, 1),
        (  # frames as collected reports print them, without numbers
            "/vendor/lib/hw/vulkan.adreno.so (qglinternal::vkCmdBindPipeline(VkPipeline_T*)+) ()\n"
            "base.apk!libwhisper_jni.so (offset 0x8c0000) (whisper_full+) ()\n",
            "gpu-driver",
            1,
        ),
        ("0  libGLESv2_adreno.so  0x1a2b3c\nSIGSEGV\n", "gpu-driver", 1),
        ("Segmentation fault\n  at /vendor/lib64/libOpenCL_adreno.so (clCreateKernel+204)\n", "opencl-driver", 2),
        ("SIGSEGV\n#03 pc 00000000007ad154 libGLES_mali.so\n", "opencl-driver", 2),
        ("Segmentation fault in /usr/lib/libnvidia-opencl.so.1\n", "opencl-driver", 1),
        ("Faulting application app.exe, faulting module igdrcl64.dll\n", "opencl-driver", 1),
        ("Exception: access violation reading 0x0000 at nvopencl64.dll\n", "opencl-driver", 1),
        ("darktable.exe caused an Access Violation in module igdrcl64.dll\n", "opencl-driver", 1),
        ("Nom du module: nvoglv64.dll, version: 32.0\nCode: 0xc0000409\n", "gpu-driver", 1),
        ("<Data>app.exe</Data>\n<Data>nvoglv32.DLL</Data>\n<Data>c0000409</Data>\n", "gpu-driver", 2),
        ("EventType=APPCRASH\nSig[3].Value=nvoglv64.dll\n", "gpu-driver", 2),
        ("#0  0x00007ffff6b39040 in NEO::Device::init () at device.cpp:476\nSegmentation fault\n", "opencl-driver", 1),
        (  # glibc's backtrace
            "[host:29844] *** Process received signal ***\nSegmentation fault\n"
            "[host:29844] [ 0] /lib/x86_64-linux-gnu/libc.so.6(+0x12980) [0x7f5ca6a93afc]\n"
            "[host:29844] [ 1] /usr/lib/x86_64-linux-gnu/libpocl.so.2.4.0(+0x22fafc)[0x7f5ca6a93afc]\n",
            "opencl-driver",
            4,
        ),
    ],
)
def test_a_failure_of_unknown_words_is_placed_by_what_raised_it(
    knowledge: Knowledge, text: str, layer: str, line: int
) -> None:
    (found,) = diagnose.diagnose(text, knowledge)
    assert (found.layer, found.lines[0][0]) == (layer, line)
    assert found.id == ("unknown" if layer == diagnose.UNKNOWN else "raised-in")


@pytest.mark.parametrize(
    ("text", "layer", "line"),
    [
        ("step 3\nERROR: could not compute the gradients of node 7\n", "pytorch-autograd", 2),
        ("fatal: failed to reserve 3 GiB of VRAM, not enough device memory\n", "gpu-memory", 1),
        # speaks of two layers, so of none
        ("error: gradients in bfloat16 are not supported\n", diagnose.UNKNOWN, 1),
        # the last line of the traceback decides, not what was printed before
        ("failed to find gradients\nValueError: bad shoe size\n", diagnose.UNKNOWN, 2),
        # the name of a folder is no subject
        ("/home/u/executorch/build.sh: error: giving up\n", diagnose.UNKNOWN, 1),
        # nor is a tool that is itself being built, nor the delegate of another runtime
        ("flatc: fatal error in the schema\n", "executorch-export", 1),
        ("Action failed: root//tools:flatc (cxx_link main.cpp)\n", diagnose.UNKNOWN, 1),
        ("Failed to prepare the XNNPACK weights\n", "executorch-delegate", 1),
        ("Failed to apply XNNPACK delegate.\n", diagnose.UNKNOWN, 1),
        # nor is a source file, nor a choice of a command line
        ("src/autograd/engine.h:11:40: error: expected a type\n", diagnose.UNKNOWN, 1),
        ("cli: error: invalid choice: 'executorch' (choose from 'onnx', 'tflite')\n", diagnose.UNKNOWN, 1),
        # a backend's failure brings the runtime's about, not the other way round
        ("Execution of the .pte failed in the Vulkan delegate\n", "executorch-delegate", 1),
        # a pasted title says in its own words that something is not there
        ("torch.vmap: missing batching rule of my operator", "pytorch-dispatch", 1),
        ("Conv2d with padding is missing from the XNNPACK delegate", "executorch-delegate", 1),
        ("Permission denied when using GPU in a container", "system-permission", 1),
        ("Error: the driver has insufficient privileges", "system-permission", 1),
    ],
)
def test_a_failure_without_a_place_is_judged_by_what_it_speaks_of(
    knowledge: Knowledge, text: str, layer: str, line: int
) -> None:
    (found,) = diagnose.diagnose(text, knowledge)
    assert (found.layer, found.lines[0][0]) == (layer, line)
    assert found.id == ("unknown" if layer == diagnose.UNKNOWN else "speaks-of")


def test_the_shape_of_a_message_yields_to_the_code_that_raised_it(knowledge: Knowledge) -> None:
    said = "ValueError: expected an input of rank 4, got rank 3\n"
    frame = '  File "/v/executorch/backends/arm/operators/op_conv.py", line 9, in define_node\n    check(node)\n'
    assert [d.layer for d in diagnose.diagnose(said, knowledge)] == ["usage"]
    found = diagnose.diagnose(f"Traceback (most recent call last):\n{frame}{said}", knowledge)
    assert [(d.layer, d.root) for d in found] == [("executorch-delegate", True), ("usage", False)]


def test_nothing_is_judged_by_its_words_in_a_log_without_a_failure(knowledge: Knowledge) -> None:
    assert diagnose.diagnose("gradients in VRAM: 3 GiB of GPU memory, OpenCL platform found\n", knowledge) == []
    assert diagnose.diagnose("a missing vmap\n" + "step 1\n" * 9, knowledge) == []


def test_a_warning_or_another_framework_is_no_subject(knowledge: Knowledge) -> None:
    failing = "the custom op my::op is missing"
    assert diagnose.diagnose(failing, knowledge)[0].layer == "pytorch-registration"
    for text in (f"UserWarning: {failing}", f"skipping: {failing}", f"[W op.cpp:3] {failing}", f"onnx: {failing}"):
        found = diagnose.diagnose(text, knowledge)
        assert not found or found[0].layer == "unknown", text


def test_what_executorch_logs_is_not_atens(knowledge: Knowledge) -> None:
    said = "Unsupported dtype in clone_tensor_ptr"
    heads = {
        "RuntimeError: ": "pytorch-kernel-dtype",
        "E 00:00:01.123456 executorch:tensor_ptr.cpp:83] ": "executorch-runtime",
        "E 00:00:01.123456 executorch:op_topk.mm:83] ": "executorch-delegate",
    }
    for head, layer in heads.items():
        assert diagnose.diagnose(head + said, knowledge)[0].layer == layer, head


def test_a_backends_name_tells_more_than_the_shape_of_a_message(knowledge: Knowledge) -> None:
    asked = "only supports contiguous memory format for inputs"
    for text, layer in (
        (f"RuntimeError: this kernel {asked}", "pytorch-kernel-check"),
        (f"RuntimeError: XNNPACK backend {asked}", "executorch-delegate"),
    ):
        assert diagnose.diagnose(text, knowledge)[0].layer == layer, text


def test_a_long_text_is_searched_as_a_short_one_is(knowledge: Knowledge, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = clean.clean(mixed_log(knowledge, matcher.MANY * 2))
    at_once = matcher.find(knowledge, lines)
    monkeypatch.setattr(matcher, "MANY", len("\n".join(line.text for line in lines)) + 1)
    assert at_once == matcher.find(knowledge, lines)
    assert len({hit.entry.id for hit in at_once}) > 100
