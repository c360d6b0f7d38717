"""Files of the tests that are reviewed and compared: UPDATE_GOLDEN=1 (make golden) writes them anew."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).parents[1] / "golden"
COUNTS = GOLDEN / "counts.json"
"""How much is tried: calls around which a process dies, mutants that are killed, calls before which a move is made."""
IS_UPDATE = bool(os.environ.get("UPDATE_GOLDEN"))


def compare_text(path: Path, text: str) -> None:
    """Asserts that a golden file says the same."""
    if IS_UPDATE:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert text == path.read_text(), f"{path.name} differs: make golden writes it anew, to be reviewed"


def counts(section: str) -> dict[str, Any]:
    """What is committed of one kind of count."""
    found: dict[str, Any] = (json.loads(COUNTS.read_text()) if COUNTS.exists() else {}).get(section, {})
    return found


def compare_counts(section: str, name: str, found: Any) -> None:
    """Asserts that as much is tried as is committed, of each kind."""
    if IS_UPDATE:
        write_counts(section, {**counts(section), name: found})
    assert found == counts(section).get(name), f"{name}: {section} differ from {COUNTS.name}, see make golden"


def write_counts(section: str, found: dict[str, Any]) -> None:
    """Replaces one kind of count."""
    before = json.loads(COUNTS.read_text()) if COUNTS.exists() else {}
    COUNTS.write_text(json.dumps({**before, section: found}, indent=1, sort_keys=True) + "\n")


def compare_calls(names: Iterable[str]) -> None:
    """Asserts that a test of deaths has as many calls to die at, of each kind, as is committed for it.

    Not where a guard was taken away: a mutant must be killed by a promise that it breaks, not by a count.
    """
    test = os.environ["PYTEST_CURRENT_TEST"].rpartition(" ")[0]
    if "mutants" not in test.partition("::")[0]:
        compare_counts("crash calls", test, dict(sorted(Counter(names).items())))
