"""`kexec-lint rule` and `kexec-lint completion`."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from kexec_lint.cli import cli


def call(*arguments: str):
    return CliRunner().invoke(cli, arguments, prog_name="kexec-lint")


@pytest.mark.parametrize("name", ["OCL101", "ocl101", "missing-wait-edge"])
def test_a_rule_is_explained_by_code_or_name(name):
    result = call("rule", name)
    assert result.exit_code == 0
    assert result.stdout.startswith("# missing-wait-edge (OCL101)\n")
    assert "on by default" in result.stdout


def test_all_rules_are_listed_one_a_line():
    lines = call("rule", "--all").stdout.splitlines()
    assert "KXL001  warning  unused-suppression" in lines
    assert any(line.startswith("ATN206") and line.endswith("(off by default)") for line in lines)


def test_json():
    one = json.loads(call("rule", "KXL001", "--output-format", "json").stdout)
    assert (one["code"], one["name"], one["severity"], one["default"]) == (
        "KXL001",
        "unused-suppression",
        "warning",
        True,
    )
    every = json.loads(call("rule", "--all", "--output-format", "json").stdout)
    assert one in every
    assert len(every) == len({entry["code"] for entry in every})


def test_markdown():
    assert "\n# unknown-suppression (KXL002)\n" in call("rule", "--all", "--output-format", "markdown").stdout


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["OCL1O1"], "kexec-lint: no rule 'OCL1O1'; did you mean "),
        (["missing-wait"], "kexec-lint: no rule 'missing-wait'; did you mean missing-wait-edge?"),
        (["zzz"], "kexec-lint: no rule 'zzz'; `kexec-lint rule --all` lists them"),
    ],
)
def test_no_such_rule(arguments, line):
    result = call("rule", *arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith(line)
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("arguments", [[], ["OCL101", "--all"]])
def test_usage(arguments):
    assert call("rule", *arguments).exit_code == 2


@pytest.mark.parametrize(("shell", "sign"), [("bash", "complete -o"), ("zsh", "#compdef"), ("fish", "complete --")])
def test_completion(shell, sign):
    script = call("completion", shell).stdout
    assert sign in script
    assert "_KEXEC_LINT_COMPLETE" in script


def test_completion_offers_commands_and_options():
    def offers(words: str, count: int) -> list[str]:
        environment = {"_KEXEC_LINT_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(count)}
        lines = CliRunner(env=environment).invoke(cli, prog_name="kexec-lint").stdout.split()
        return [line.split(",")[1] for line in lines]

    assert "check" in offers("kexec-lint c", 1)
    assert "--confidence" in offers("kexec-lint check --conf", 2)
    assert offers("kexec-lint check --confidence l", 3) == ["likely"]
