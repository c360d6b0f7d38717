"""A process in a pod that answers questions, of the e2e tests: what ends in the middle of an answer is asked again."""

from __future__ import annotations

from pathlib import Path

import pytest

from seawall_e2e.commands import CommandFailed
from seawall_e2e.shell import Shell

KUBECTL = """#!/bin/sh
echo >>"$0.starts"
[ "$(wc -l <"$0.starts")" -le {halves} ] && {{ read -r _; printf '{{"answer": [1'; exit; }}
while read -r _; do echo '{{"answer": [1, 2]}}'; done
"""


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Shell:
    """With a kubectl that dies as often in the middle of its first answer as the test says."""
    kubectl = tmp_path / "kubectl"
    kubectl.write_text(KUBECTL.format(halves=request.param))
    kubectl.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    return Shell("here", "pod", ("python",))


@pytest.mark.parametrize("shell", [0, 1], indirect=True)
def test_half_an_answer_is_none_and_the_question_is_put_again(shell: Shell) -> None:
    assert shell.ask("offsets") == [1, 2]
    shell.close()


@pytest.mark.parametrize("shell", [2], indirect=True)
def test_who_dies_twice_has_not_answered(shell: Shell) -> None:
    with pytest.raises(CommandFailed, match="ended without an answer twice"):
        shell.ask("offsets")
