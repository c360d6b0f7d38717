"""The guards of what a hold says and does are taken away one by one. Prints the kills."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial

import pytest

from seawall.controllers import hold as controller
from seawall.controllers import topic_deletion
from seawall.controllers.hold import WALHoldController
from seawall.domain import clocks
from seawall.domain.hold import decide, view
from seawall.domain.ledger import declared, held, holds
from seawall.domain.ledger.held import HoldView
from seawall.observe import claims, reading
from tests.domain.ledger import test_holds as renewals
from tests.hold import test_hold_outage as outages
from tests.hold import test_hold_reused_name as reused
from tests.hold import test_wal_hold as stories
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten

Patch = pytest.MonkeyPatch


def no_obstacle(patch: Patch) -> None:
    """Holds are granted, whoever deletes."""
    patch.setattr(HoldView, "why_no_promise", None)


def no_risk(patch: Patch) -> None:
    """What was granted is not in doubt, whoever deletes."""
    patch.setattr(HoldView, "second_pruner", None)


def granted_all_the_same(patch: Patch) -> None:
    """The condition Granted is of what was granted once."""
    patch.setattr(decide, "_is_worth", lambda *_: True)


def silence_believed(patch: Patch) -> None:
    """Where nobody knows whether the database deletes, it does not."""
    patch.setattr(decide, "_is_worth", lambda _, __, deletes: not deletes)


def unknown_is_no(patch: Patch) -> None:
    """The granter takes a metasrv that does not say for one that deletes nothing."""
    patch.setattr(view, "HoldView", lambda topics, deletes=False, *rest: HoldView(topics, bool(deletes), *rest))


def step_rewritten(name: str, guard: str, instead: str) -> Callable[[Patch], None]:
    """A step of the next change, without its guard."""
    rewrite = rewritten(holds, name, guard, instead)

    def mutate(patch: Patch) -> None:
        rewrite(patch)
        patch.setattr(holds, "STEPS", tuple(getattr(holds, step.__name__) for step in holds.STEPS))

    mutate.__name__ = rewrite.__name__
    return mutate


ANOTHERS = "each.spec.cluster_ref.name in others"
NEVER_RENEWED = outages.test_who_never_renews_loses_it_when_its_ttl_is_over_and_half_a_ttl_after_an_outage_at_the_latest

NO_DATABASE = stories.test_a_hold_whose_cluster_names_no_database_is_renewed_or_ends_by_its_ttl
SILENT = partial(
    stories.test_a_hold_is_released_whoever_is_silent_and_its_ttl_does_not_count_meanwhile, stories.silent_store
)


MUTANTS: tuple[Mutant, ...] = (
    (no_obstacle, stories.test_while_the_database_deletes_a_hold_is_not_granted_and_its_sentence_has_the_key),
    (no_risk, stories.test_a_granted_hold_says_at_once_that_it_is_worth_nothing_and_does_not_believe_silence),
    (granted_all_the_same, stories.test_a_hold_at_risk_for_another_reason_says_that_it_is_not_granted_any_more),
    (silence_believed, stories.test_a_granted_hold_says_at_once_that_it_is_worth_nothing_and_does_not_believe_silence),
    (unknown_is_no, stories.test_a_granted_hold_says_at_once_that_it_is_worth_nothing_and_does_not_believe_silence),
    (
        rewritten(claims, "read_holds", "not _may_hold_of(each, cluster, others)", ANOTHERS, reading, topic_deletion),
        partial(reused.test_a_purge_keeps_what_was_held_before_the_name_was_used_again, reused.named),
    ),
    (
        rewritten(claims, "read_holds", "not _may_hold_of(each, cluster, others)", ANOTHERS, reading, topic_deletion),
        partial(reused.test_topics_stay_that_were_held_before_the_name_was_used_again, reused.named),
    ),
    *(
        (rewritten(claims, "_may_hold_of", guard, instead), partial(story, held))
        for story in (
            reused.test_a_purge_keeps_what_was_held_before_the_name_was_used_again,
            reused.test_topics_stay_that_were_held_before_the_name_was_used_again,
        )
        for guard, instead, held in (
            ("named = hold.status.granted.keys() | ", "named = ", reused.named_and_edited),
            (" | (claimed or {}).keys()", "", reused.requested),
            ("return hold.status.granted_prefix == cluster.prefix", "return False", reused.on_everything_and_edited),
            (" or ALL_TOPICS in named", "", reused.on_everything_long_ago),
            ("is_unreadable = claimed is None or ", "is_unreadable = ", reused.unreadable),
        )
    ),
    (
        rewritten(claims, "_may_hold_of", "hold.metadata.creation_timestamp < other", "other"),
        partial(reused.test_what_is_held_of_another_pool_keeps_nothing_of_this_one, reused.after_it),
    ),
    (
        rewritten(claims, "_may_hold_of", "hold.status.granted_prefix == cluster.prefix", "True"),
        partial(
            reused.test_a_hold_whose_cluster_is_gone_keeps_nothing_of_other_topics, reused.EVERYTHING, reused.EVERYTHING
        ),
    ),
    (
        rewritten(claims, "_may_hold_of", "if other is None and (", "if False and ("),
        reused.test_an_open_request_on_everything_counts_while_its_cluster_is_gone,
    ),
    (
        rewritten(decide, "_conditions", " or verdict.reason not in UNKNOWN_TOPICS", " or True"),
        reused.test_a_hold_whose_cluster_is_gone_is_granted_for_nobody_and_ends_by_its_ttl,
    ),
    (
        rewritten(decide, "_conditions", "not in UNKNOWN_TOPICS", "!= Reason.CLUSTER_MISSING"),
        partial(
            reused.test_a_hold_is_not_judged_by_the_topics_of_a_later_cluster_of_that_name, reused.EVERYTHING, "former"
        ),
    ),
    (
        rewritten(decide, "_alone", "next_change_alone(hold, observed.time)", "None"),
        reused.test_a_hold_whose_cluster_is_gone_is_granted_for_nobody_and_ends_by_its_ttl,
    ),
    (
        rewritten(decide, "_over", "Outlook.READY if state is HoldState.RELEASED else ", ""),
        reused.test_a_hold_that_is_released_while_its_cluster_is_gone_is_ready,
    ),
    *(
        (
            rewritten(decide, "_manage", "_alone(obj, hold, _verdict", "_as_it_is(obj, hold, _verdict"),
            partial(story, reused.EVERYTHING, "former"),
        )
        for story in (
            reused.test_a_hold_of_a_later_clusters_name_is_released,
            reused.test_a_hold_of_a_later_clusters_name_ends_by_its_ttl,
        )
    ),
    *(
        (rewritten(decide, "decide", guard, instead, controller), story)
        for guard, instead, story in (
            ("is UnavailableReason.NO_DATA_PLANE", "is None", NO_DATABASE),
            ("observation.why is UnavailableReason.NO_DATA_PLANE", "observation.why", SILENT),
            ("release(hold)", "None", SILENT),
        )
    ),
    (
        rewritten(held, "limit_reached", " and (share < 1 or was_recorded_unrenewed(hold, now))", "", holds),
        partial(outages.test_a_holder_who_renews_in_time_loses_nothing_by_an_outage, 1, {"maxLagBytes": "near"}),
    ),
    (
        rewritten(held, "was_recorded_unrenewed", "now >= hold.unrenewed.from_time", "now >= hold.at_risk_since"),
        partial(outages.test_a_holder_who_renews_in_time_loses_nothing_by_an_outage, 1, {"maxLagBytes": "near"}),
    ),
    (
        rewritten(held, "limit_reached", "was_recorded_unrenewed(hold, now)", "hold.unrenewed is not None", holds),
        partial(outages.test_a_holder_who_renews_in_time_loses_nothing_by_an_outage, 1, {}),
    ),
    (
        rewritten(clocks, "prolonged", " <= longest_break:", ":", held),
        partial(outages.test_a_holder_who_renews_in_time_loses_nothing_by_an_outage, 6, {}),
    ),
    (
        rewritten(clocks, "prolonged", " <= longest_break:", ":", held),
        outages.test_a_hold_that_is_renewed_each_third_of_its_ttl_is_never_lost_by_outages_in_a_row,
    ),
    (
        rewritten(clocks, "prolonged", "-2 * CLOCKS_AGREE <= now", "now", held),
        outages.test_a_clock_that_was_set_back_begins_the_time_anew_and_ends_it,
    ),
    (
        rewritten(clocks, "prolonged", '{"until_time": now}', '{"from_time": now, "until_time": now}', held),
        partial(NEVER_RENEWED, timedelta(minutes=3), timedelta(0)),
    ),
    (
        rewritten(clocks, "prolonged", "longest_break / 3", "longest_break * 2 / 3", held),
        partial(NEVER_RENEWED, timedelta(minutes=10), timedelta(0)),
    ),
    (
        rewritten(decide, "_until_next_limit", "(DUE_SHARE, NEAR)", "(NEAR,)"),
        partial(NEVER_RENEWED, timedelta(minutes=1), timedelta(0)),
    ),
    (
        step_rewritten("_renewed", ", unrenewed=None", ""),
        partial(outages.test_a_holder_who_renews_in_time_loses_nothing_by_an_outage, 6, {}),
    ),
    (
        rewritten(decide, "_manage", "if change.sentence", "if True"),
        outages.test_what_is_written_while_nobody_renews_says_nothing_new,
    ),
    (
        rewritten(decide, "_manage", "if hold.granted_prefix not in", "if None not in"),
        partial(
            reused.test_a_hold_is_not_judged_by_the_topics_of_a_later_cluster_of_that_name, reused.EVERYTHING, "former"
        ),
    ),
    (
        rewritten(decide, "_manage", "hold.granted_cluster_id not in", "None not in"),
        reused.test_a_hold_whose_name_of_a_walcluster_is_on_another_kafka_now_is_not_lost,
    ),
    (
        rewritten(claims, "_may_hold_of", "_is_at_home(hold, other) and", "False and"),
        reused.test_a_hold_on_another_kafka_with_the_same_names_of_topics_keeps_nothing_here,
    ),
    (
        rewritten(claims, "_may_hold_of", "_is_at_home(hold, other) and", "True and"),
        partial(reused.test_a_purge_keeps_what_was_held_before_the_name_was_used_again, reused.named),
    ),
    (
        step_rewritten("_renewed", "return _corrected(hold, hold.renewal, time)", "return None"),
        renewals.test_a_renewal_that_was_counted_by_a_clock_a_year_ahead_counts_from_when_it_is_right_again,
    ),
    (
        rewritten(declared, "hold_of", " or _prefix_of(obj.status.granted)", "", decide, claims),
        partial(reused.test_a_hold_is_not_judged_by_the_topics_of_a_later_cluster_of_that_name, {"former_0": 3}, None),
    ),
    (
        step_rewritten("_granted", "_on_pool_of(view, granted)", "granted"),
        reused.test_a_grant_says_on_which_topics_it_is_also_one_that_did_not,
    ),
    (
        rewritten(WALHoldController, "record", " and obj.status.state is not HoldState.LOST", ""),
        stories.test_a_hold_that_is_lost_is_counted_once_although_it_is_edited_later,
    ),
)


def test_every_guard_of_a_promise_is_needed() -> None:
    assert not find_survivors(MUTANTS)
