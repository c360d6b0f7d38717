"""The reasons of restarts explain themselves, in the code and in docs/restarting.md alike."""

from __future__ import annotations

from pathlib import Path

from seawall.domain.rollout_reasons import Blocker, FailureReason

PAGE = Path(__file__).parents[3] / "docs/restarting.md"


def test_the_tables_for_people_are_the_code() -> None:
    rows = [f"| `{each.value}` | {each.sentence} | {each.remedy} |" for each in (*Blocker, *FailureReason)]
    assert [line for line in PAGE.read_text().splitlines() if line in rows] == rows
