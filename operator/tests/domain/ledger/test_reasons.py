"""Each reason explains itself, in the code and in docs/purging.md alike."""

from __future__ import annotations

from pathlib import Path

from seawall.domain.ledger.reasons import Reason
from seawall.domain.ledger.rules import LEFT_ALONE

PAGE = Path(__file__).parents[4] / "docs" / "purging.md"


def test_the_table_in_the_page_is_the_code() -> None:
    rows = [f"| `{reason.value}` | {reason.sentence} | {reason.remedy} |" for reason in Reason]
    written = [line for line in PAGE.read_text().splitlines() if line.startswith("| `") and line in rows]
    assert written == rows


def test_every_reason_has_a_rule_and_the_order_is_one() -> None:
    assert [reason for reason, _ in LEFT_ALONE] == list(Reason)


def test_a_reason_is_one_sentence_and_one_thing_to_do() -> None:
    for reason in Reason:
        assert reason.sentence.endswith("."), reason
        assert reason.remedy.endswith("."), reason
        assert ". " not in reason.sentence, reason
