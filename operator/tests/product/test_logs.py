"""Log lines: one JSON object each where that is asked for, a traceback in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import datetime

import pytest

PROGRAM = r"""
import logging
from seawall.handlers.logs import begin_logging
from seawall.settings import Settings

begin_logging(Settings())
log = logging.getLogger("seawall.purge")
log.debug("not said")
log.warning("purged %s: \u00fc\nand more", "wal_0")
try:
    int("x")
except ValueError:
    log.exception("it failed")
"""


def lines(**settings: str) -> list[str]:
    """What a process that logs says."""
    command = [sys.executable, "-c", PROGRAM]
    found = subprocess.run(command, env={**os.environ, **settings}, capture_output=True, text=True, check=True)  # noqa: S603
    assert found.stdout == ""
    return found.stderr.splitlines()


def test_a_line_is_one_object_and_a_traceback_is_in_it() -> None:
    first, second = map(json.loads, lines(SEAWALL_LOG_FORMAT="json"))
    assert datetime.fromisoformat(first.pop("ts")).tzinfo is not None
    assert first == {"level": "WARNING", "logger": "seawall.purge", "msg": "purged wal_0: \u00fc\nand more"}
    assert second["msg"] == "it failed"
    assert second["error"].splitlines()[-1].startswith("ValueError: ")


@pytest.mark.parametrize("settings", [{}, {"SEAWALL_LOG_FORMAT": "text"}])
def test_people_read_lines(settings: dict[str, str]) -> None:
    assert " WARNING seawall.purge: purged wal_0: \u00fc" in lines(**settings)[0]
