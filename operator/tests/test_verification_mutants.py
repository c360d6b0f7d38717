"""The guards of verifications are taken away one by one: each story must then end badly. Prints the kills."""

from __future__ import annotations

from typing import Any

import pytest

from seawall.api.v1alpha1.wal_verification import Outcome
from seawall.controllers import claims, ledger_look
from seawall.domain.ledger.looked import Verifying
from seawall.domain.verification import holding, next_step, observed, releasing, running, selection, summary
from tests import test_purge_verified as purges
from tests import test_verification as stories
from tests.support.mutants import Mutant, find_survivors

Patch = pytest.MonkeyPatch


def no_grant(patch: Patch) -> None:
    """A hold that is not granted is as good as one that is."""
    for module in (holding, observed, running):
        patch.setattr(module, "is_granted", lambda _: True)


def any_request(patch: Patch) -> None:
    """A verdict about whatever request."""
    patch.setattr(running, "read_summary", lambda text, *_: summary.Summary.model_validate_json(text))


def any_exit_code(patch: Patch) -> None:
    """The exit code is not looked at."""
    honest = summary.read_summary

    def blind(text: str, digest: str, _: int) -> Any:
        codes = dict.fromkeys(Outcome, 0)
        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(summary, "EXIT_CODES", codes)
            return honest(text, digest, 0)

    patch.setattr(running, "read_summary", blind)


def truncated_list_believed(patch: Patch) -> None:
    """A list of topics that does not fit is taken for whole."""
    patch.setattr(summary.Summary, "proves", lambda self, topic: topic not in self.topics_not_verified)


def hold_stays(patch: Patch) -> None:
    """The hold is not let go."""
    for module in (releasing, next_step):
        patch.setattr(module, "leftovers", lambda *_: ())


def one_attempt(patch: Patch) -> None:
    """A driver that dies is not tried again."""
    patch.setattr(releasing, "MAX_ATTEMPTS", 1)


def silent_regions_read(patch: Patch) -> None:
    """A topic of which a region has not reported is read all the same."""
    patch.setattr(selection, "UNREADABLE", frozenset())


def verifications_read_once(patch: Patch) -> None:
    """What a verification has shown is remembered."""
    cache: list[claims.Verifications] = []

    def cached(*args: Any) -> claims.Verifications:
        found = claims.read_verifications(*args)
        if found.verified:
            cache.append(found)
        return cache[0] if cache else found

    patch.setattr(ledger_look, "read_verifications", cached)


def nobody_waits(patch: Patch) -> None:
    """A run does not wait for a verification that runs."""
    patch.setattr(Verifying, "may_satisfy", lambda *_: False)


MUTANTS: tuple[Mutant, ...] = (
    (no_grant, stories.test_nothing_is_submitted_before_the_hold_is_granted),
    (any_request, stories.test_a_verdict_about_another_request_proves_nothing),
    (any_exit_code, stories.test_a_verdict_that_the_exit_code_contradicts_proves_nothing),
    (truncated_list_believed, stories.test_a_list_of_topics_that_does_not_fit_proves_none),
    (hold_stays, stories.test_a_log_that_replays_is_verified_from_where_its_regions_would_read),
    (one_attempt, stories.test_a_driver_that_dies_is_tried_again_with_everything_anew),
    (silent_regions_read, stories.test_a_topic_whose_regions_are_silent_is_waited_for_and_then_not_read),
    (verifications_read_once, purges.test_a_verification_that_goes_before_the_delete_licenses_it_no_more),
    (nobody_waits, purges.test_a_run_waits_for_a_verification_that_runs_and_then_goes_as_far_as_it_licenses),
)


def test_every_guard_of_a_verification_is_needed() -> None:
    assert not find_survivors(MUTANTS)
