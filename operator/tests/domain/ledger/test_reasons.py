"""Each reason explains itself."""

from __future__ import annotations

from seawall.domain.ledger.reasons import Reason
from seawall.domain.ledger.rules import LEFT_ALONE


def test_every_reason_has_a_rule_and_the_order_is_one() -> None:
    assert [reason for reason, _ in LEFT_ALONE] == list(Reason)


def test_a_reason_is_one_sentence_and_one_thing_to_do() -> None:
    for reason in Reason:
        assert reason.sentence.endswith("."), reason
        assert reason.remedy.endswith("."), reason
        assert ". " not in reason.sentence, reason
