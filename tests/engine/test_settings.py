"""Settings files: which one counts, what they do, and how their errors read."""

from __future__ import annotations

from pathlib import Path

import pytest
from briefly import brief

from kexec_lint.engine import executors
from kexec_lint.engine.rules import Selection, UnknownRule
from kexec_lint.engine.settings import SettingsError, read

TWO = "x = 1  # MARK[OCL101] MARK[OCL102]\n"


def test_the_closest_file_wins(tree, run):
    tree(
        {
            "pyproject.toml": '[tool.kexec-lint]\nignore = ["OCL101"]\n',
            "a.py": TWO,
            "sub/kexec-lint.toml": 'ignore = ["OCL102"]\n',
            "sub/b.py": TWO,
            "sub/deep/pyproject.toml": "[project]\nname = 'has no table of ours, mentions kexec-lint'\n",
            "sub/deep/c.py": TWO,
        }
    )
    assert brief(run()) == ["a.py:1 OCL102", "sub/b.py:1 OCL101", "sub/deep/c.py:1 OCL101"]
    assert brief(run("sub/b.py", isolated=True)) == ["sub/b.py:1 OCL101", "sub/b.py:1 OCL102"]
    assert brief(run("sub/b.py", config="pyproject.toml")) == ["sub/b.py:1 OCL102"]


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ('select = ["OCL101"]', ["a.py:1 OCL101"]),
        ('select = ["OCL10", "ATN"]\nignore = ["OCL102"]', ["a.py:1 OCL101", "b/c.py:1 ATN206"]),
        ('extend-select = ["ATN206"]', ["a.py:1 OCL101", "a.py:1 OCL102", "b/c.py:1 ATN206"]),
        ('ignore = ["ALL"]', []),
        ('ignore = ["OCL"]\nextend-select = ["OCL102"]', ["a.py:1 OCL102"]),
        ('select = ["ALL"]', ["a.py:1 OCL101", "a.py:1 OCL102", "b/c.py:1 ATN206"]),
        ('[tool.kexec-lint.per-file-ignores]\n"a.py" = ["OCL101"]', ["a.py:1 OCL102"]),
        ('select = ["ALL"]\nper-file-ignores = {"b/" = ["ALL"]}', ["a.py:1 OCL101", "a.py:1 OCL102"]),
        ('confidence = "possible"', ["a.py:1 OCL101", "a.py:1 OCL102", "b/c.py:2 OCL101"]),
        ('confidence = "certain"', ["a.py:1 OCL101"]),
    ],
)
def test_keys(tree, run, table, expected):
    tree(
        {
            "pyproject.toml": f"[tool.kexec-lint]\n{table}\n",
            "a.py": "x = 1  # MARK[OCL101] MARK[OCL102 likely]\n",
            "b/c.py": "y = 1  # MARK[ATN206]\nz = 1  # MARK[OCL101 possible]\n",
        }
    )
    assert brief(run()) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[tool.kexec-lint]\n\nselct = ["A"]\n', "3: unknown key 'selct'; did you mean 'select'?"),
        (
            "[tool.kexec-lint]\nextend_select = []\n",
            "2: unknown key 'extend_select'; did you mean 'extend-select'?",
        ),
        ("[tool.other]\nzzz = 1\n[tool.kexec-lint]\nzzz = 1\n", "4: unknown key 'zzz'; known: select, "),
        ("[tool.kexec-lint.modles]\n", "1: unknown key 'modles'; did you mean 'models'?"),
        ('tool.kexec-lint = { "colour" = 1 }\n', "1: unknown key 'colour'"),
        ('[tool.kexec-lint]\nselect = "OCL"\n', "2: select must be a list of strings"),
        ("[tool.kexec-lint]\nignore = [1]\n", "2: ignore must be a list of strings"),
        ('[tool.kexec-lint]\nconfidence = "sure"\n', "2: confidence must be one of certain, likely, possible"),
        ('[tool.kexec-lint]\nassume-out-of-order = "yes"\n', "2: assume-out-of-order must be true or false"),
        ('[tool.kexec-lint]\nper-file-ignores = ["a"]\n', "2: per-file-ignores must be a table"),
        ('[tool.kexec-lint.per-file-ignores]\n"a.py" = "OCL"\n', "2: a.py must be a list of strings"),
        ("[tool.kexec-lint]\nmodels = 3\n", "2: models must be a table"),
        ("[tool]\nkexec-lint = 3\n", "2: must be a table"),
    ],
)
def test_errors_name_the_line(tmp_path: Path, text, message):
    file = tmp_path / "pyproject.toml"
    file.write_text(text)
    with pytest.raises(SettingsError) as error:
        read(str(file))
    assert str(error.value).startswith(f"{file}:{message}")


@pytest.mark.parametrize(("text", "message"), [(b"x = [\n", "not TOML: "), (b"\xff", "not UTF-8 text")])
def test_files_that_cannot_be_read(tmp_path: Path, text, message):
    file = tmp_path / "kexec-lint.toml"
    file.write_bytes(text)
    with pytest.raises(SettingsError) as error:
        read(str(file))
    assert str(error.value).startswith(f"{file}: {message}")


def test_a_file_that_is_not_there(tmp_path: Path):
    with pytest.raises(SettingsError, match="no such file or directory"):
        read(str(tmp_path / "none.toml"))


def test_a_code_that_no_rule_has(tree, run):
    top = tree({"kexec-lint.toml": 'select = ["OCX"]\n', "a.py": TWO})
    with pytest.raises(SettingsError) as error:
        run()
    assert str(error.value).startswith(f"{top}/kexec-lint.toml:1: no rule answers to 'OCX'; did you mean OCL")
    with pytest.raises(UnknownRule, match="no rule answers to 'OCL99'"):
        run(isolated=True, selection=Selection(ignore=("OCL99",)))


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        (Selection(select=("OCL101",)), ["OCL101"]),
        (Selection(extend_select=("OCL101",)), ["OCL101", "OCL102"]),
        (Selection(ignore=("OCL102",)), []),
        (Selection(select=("ALL",), ignore=("OCL10",)), ["ATN206"]),
        (Selection(select=("ocl102",)), ["OCL102"]),
    ],
)
def test_the_command_line_comes_after_the_file(tree, run, selection, expected):
    tree({"kexec-lint.toml": 'ignore = ["OCL101"]\n', "a.py": "MARK[OCL101] MARK[OCL102] MARK[ATN206]\n"})
    assert [finding.code for finding in run(selection=selection).findings] == expected


def test_a_model_that_makes_no_sense_is_the_users_to_mend(tree, run, monkeypatch):
    monkeypatch.setattr(executors, "EXECUTORS", {"opencl": "kexec_lint.opencl"})
    top = tree(
        {
            "kexec-lint.toml": '[models]\n"a.b" = { does = "nothing" }\n"my.settle" = { does = "finsh" }\n',
            "a.py": "import pyopencl as cl\ncl.enqueue_copy(cl.CommandQueue(ctx), a, b)\n",
        }
    )
    with pytest.raises(SettingsError) as error:
        run()
    assert str(error.value).startswith(f"{top}/kexec-lint.toml:3: models.'my.settle': does = 'finsh' is not one of")
