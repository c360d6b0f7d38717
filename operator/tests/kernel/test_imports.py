"""What the operator imports at its start, all objects pay for."""

from __future__ import annotations

import subprocess
import sys

import pytest

LATER = ("pg8000", "pymysql", "obstore")
"""Libraries of stores that most operators never meet."""
CODE = "import sys, seawall.handlers.operator; print(*sorted({name.partition('.')[0] for name in sys.modules}))"


@pytest.fixture(scope="module")
def imported() -> set[str]:
    found = subprocess.run([sys.executable, "-c", CODE], check=True, capture_output=True, text=True)  # noqa: S603 - our own interpreter
    return set(found.stdout.split())


@pytest.mark.parametrize("library", LATER)
def test_libraries_of_stores_are_imported_when_the_first_of_their_kind_is_met(imported: set[str], library: str) -> None:
    assert library not in imported


def test_the_others_are_there_before_threads_begin(imported: set[str]) -> None:
    assert {"kafka", "confluent_kafka", "kopf", "numpy"} <= imported
