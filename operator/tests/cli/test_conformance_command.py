"""`seawall conformance`: a table of what a server keeps; one that breaks a promise ends with an error."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import cast

import pytest

from seawall.cli import conformance
from seawall.cli.session import Session
from seawall.domain.errors import Refused
from tests.adapters.test_conformance import database
from tests.support.contract_facade import Ask, served, serving
from tests.support.contract_mistakes import declares_a_flush_that_it_has_not


def typed(url: str, *flags: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    conformance.add_arguments(parser)
    return parser.parse_args([url, *flags])


def run(ask: Ask, monkeypatch: pytest.MonkeyPatch, *flags: str, require: str | None = None) -> list[str]:
    monkeypatch.setattr("time.sleep", lambda _: None)
    printed: list[str] = []
    with serving(ask, require=require) as url:
        for piece in conformance.answers(typed(url, *flags), cast("Session", None)):
            printed.append(piece)  # noqa: PERF402 - what was printed before an error counts
    return printed


def test_a_table_of_what_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    table, said = run(served(database()), monkeypatch, "--write")
    assert said == "21 of 21 passed, 0 skipped"
    lines = table.splitlines()
    assert lines[0].split() == ["CHECK", "RESULT", "WHAT", "MUST", "BE", "SO,", "OR", "WHAT", "IS", "NOT"]
    assert any(line.startswith("markers move") and "passed" in line for line in lines)


def test_without_write_nothing_is_changed_and_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    _, said = run(served(database()), monkeypatch)
    assert said == "16 of 21 passed, 5 skipped"


def test_a_broken_promise_is_an_error_after_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Refused, match=r"20 of 21 passed.*1 broken: this server does not keep the contract"):
        run(declares_a_flush_that_it_has_not(database()), monkeypatch, "--write")


def test_a_user_is_who_was_typed_with_the_password_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(conformance.PASSWORD, "hunter2")
    right = "Basic c2Vhd2FsbDpodW50ZXIy"
    _, said = run(served(database()), monkeypatch, "--user", "seawall", require=right)
    assert said.startswith("16 of 21")
    with pytest.raises(Refused) as refused:
        run(served(database()), monkeypatch, require=right)
    assert "0 of 21 passed" in str(refused.value)


def test_a_ca_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    arguments = typed("https://db", "--ca-file", str(tmp_path / "nothing.pem"))
    with pytest.raises(Refused, match=r"nothing\.pem cannot be read"):
        list(conformance.answers(arguments, cast("Session", None)))
