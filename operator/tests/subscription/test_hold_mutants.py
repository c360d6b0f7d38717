"""The guards of a subscription's hold are taken away one by one: each story must then end badly. Prints the kills."""

from __future__ import annotations

import pytest

from seawall.controllers import subscription
from seawall.domain.hold import decide as hold_decide
from seawall.domain.overview import findings
from seawall.domain.subscription import (
    decide,
    holdable,
    holding,
    kept,
    old_requests,
    published,
    running,
    standing,
    targets,
)
from seawall.observe import subscription_parts
from tests.subscription import test_held_anew as anew
from tests.subscription import test_kept as stories
from tests.subscription import test_refused_holds as refused
from tests.subscription import test_renewals as renewals
from tests.subscription import test_unheld_topics as unheld
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten

ALL_OR_NOTHING = "if held is None and (not known or None in case.standings.values()):"
RENEWING = "_renewing(obj, observed, _allowed(case, wanted))"
MUTANTS: tuple[Mutant, ...] = (
    (
        rewritten(holding, "_claims", "if held is None and not known:", ALL_OR_NOTHING),
        anew.a_hold_is_deleted_while_a_partition_of_the_target_has_no_leader,
    ),
    (
        rewritten(holding, "_claim", "standing is None and name not in held", "False"),
        anew.a_hold_is_deleted_while_a_partition_of_the_target_has_no_leader,
    ),
    (
        rewritten(holding, "_from_certain", "max(certain(row, 0), known.get(row.name, 0))", "known.get(row.name, 0)"),
        anew.a_hold_ends_by_a_topic_that_is_made_again_while_the_target_is_silent,
    ),
    (
        rewritten(holding, "_from_certain", "missing_source(row, source) is not None", "False"),
        anew.a_hold_ends_by_a_topic_that_is_made_again_while_the_target_is_silent,
    ),
    (
        rewritten(holding, "_from_certain", "min(least, ends.high_watermark)", "least"),
        anew.a_topic_is_cut_while_nothing_runs,
    ),
    (
        rewritten(holding, "_claim", "min(standing.keep_from, standing.source_end)", "standing.keep_from"),
        anew.a_topic_is_cut_of_which_it_is_in_doubt_how_far_it_is,
    ),
    (
        rewritten(kept, "_within_budget", "own is not None and is_alive(own)", "own is None or is_alive(own)"),
        stories.a_hold_that_cannot_be_placed_again_is_said,
    ),
    (
        rewritten(kept, "_within_budget", "state is SubscriptionState.LOST", "False"),
        stories.what_is_lost_stays_so_without_its_hold,
    ),
    (
        rewritten(kept, "_within_budget", " and state is not SubscriptionState.PROMOTED", ""),
        stories.what_is_promoted_needs_no_hold,
    ),
    (
        rewritten(published, "bare", "observed.obstacle is not None", "True", decide),
        stories.what_is_not_declared_any_more_is_said_without_a_hold,
    ),
    (
        rewritten(published, "bare", "observed.obstacle is not None", "False", decide),
        stories.what_cannot_be_read_is_as_it_was,
    ),
    (
        rewritten(published, "bare", "_events(obj, status)", "()", decide),
        stories.what_is_not_declared_any_more_is_said_without_a_hold,
    ),
    (
        rewritten(decide, "weigh", "_renewing(obj, observed, bared)", "bared", subscription),
        renewals.nobody_declares_it_any_more,
    ),
    (
        rewritten(decide, "weigh", RENEWING, "_allowed(case, wanted)", subscription),
        renewals.resync_waits_for_the_target,
    ),
    (
        rewritten(decide, "weigh", RENEWING, "_allowed(case, wanted)", subscription),
        renewals.a_promotion_waits_for_the_target,
    ),
    (
        rewritten(holding, "renewal", "found.metadata.controller_uid != obj.metadata.uid or ", ""),
        renewals.a_hold_of_somebody_else_is_not_renewed,
    ),
    (
        rewritten(holding, "_of_stopped", "missing_source(row, source) is not None", "False"),
        refused.a_topic_is_deleted_at_the_source,
    ),
    (
        rewritten(
            holding,
            "_claim",
            "held.get(name) if row.stopped is None else",
            "None if isinstance(standing, Halt) and standing.reason == 'IdentityFenceBroken' else",
        ),
        refused.a_topic_is_not_there_for_a_while,
    ),
    (
        rewritten(holding, "_of_stopped", "min(before, ends.high_watermark)", "before"),
        refused.a_stopped_topic_is_cut,
    ),
    (
        rewritten(kept, "find_refusal", "stalled if is_refused", "None if is_refused", standing),
        refused.somebody_else_deletes_what_was_copied,
    ),
    (
        rewritten(hold_decide, "measured", "lag_bytes(hold.kept,", "lag_bytes(hold.claim,"),
        refused.somebody_else_deletes_what_was_copied,
    ),
    (
        rewritten(findings, "_of_subscription", 'at.status == "Unknown"', "False"),
        stories.what_is_promoted_needs_no_hold,
    ),
    (
        rewritten(kept, "_within_budget", "bool(obj.status.topics) and ", ""),
        stories.what_has_not_begun_needs_no_hold,
    ),
    (
        rewritten(kept, "_within_budget", "and is_alive(own)", ""),
        stories.what_is_not_granted_is_not_within_the_budget,
    ),
    (
        rewritten(targets, "topics_of", "row.name in granted or row.name in copied", "True", running),
        unheld.a_topic_without_a_leader_keeps_no_other_from_being_copied,
    ),
    (
        rewritten(targets, "topics_of", " or row.name in copied", "", running),
        unheld.what_is_held_no_more_for_a_while_ends_nothing_that_runs,
    ),
    (
        rewritten(standing, "standing", "_unheld(case) or ", "", old_requests),
        unheld.a_topic_without_a_leader_keeps_no_other_from_being_copied,
    ),
    (
        rewritten(holdable, "find_ungranted", "name not in granted", "False", holding, subscription_parts),
        unheld.an_intent_that_is_written_before_the_grant_stops_its_topic_alone,
    ),
    (
        rewritten(holding, "_claims", "0 if name in asked", "0 if name in before"),
        unheld.a_leader_that_goes_before_the_grant_keeps_no_other_waiting,
    ),
    (
        rewritten(holdable, "find_ungranted", "name not in", "name in case.rows and name not in", holding),
        unheld.a_new_topic_whose_leader_goes_before_the_grant_keeps_no_other_waiting,
    ),
    (
        rewritten(holdable, "leaderless_lately", "< SUBSCRIPTION_GIVES_UP_SECONDS", "< 0", holding),
        unheld.a_claim_outlives_a_moment_without_a_leader,
    ),
    (
        rewritten(holding, "_claims", "if name not in refused", ""),
        unheld.a_topic_from_which_somebody_else_deletes_keeps_no_other_from_being_copied,
    ),
    (
        rewritten(holding, "_why_unheld", "standing.keep_from >= edge", "True"),
        unheld.an_intent_that_was_written_before_stops_its_topic_alone,
    ),
    (
        rewritten(holding, "leave", "name not in copied", "True"),
        unheld.what_runs_says_itself_that_something_is_gone,
    ),
)


@pytest.mark.timeout(600)
def test_each_guard_of_a_hold_is_missed_by_a_story() -> None:
    assert not find_survivors(MUTANTS)
