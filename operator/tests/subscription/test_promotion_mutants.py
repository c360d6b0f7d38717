"""The guards of promotions are taken away one by one: each story must then end badly. Prints the kills."""

from __future__ import annotations

import pytest

from seawall.domain.ledger import needs as ledger_needs
from seawall.domain.subscription import copies, holding, needed, promotion, standing
from seawall.observe import database_ids, subscription, subscription_parts
from seawall.observe.subscription_parts import SubscriptionReader
from tests.subscription import test_beyond_count as beyond
from tests.subscription import test_lost_sources as sources
from tests.subscription import test_promotion as promotions
from tests.subscription import test_promotion_causes as causes
from tests.subscription import test_promotion_needs as needs
from tests.subscription import test_promotion_refusals as refusals
from tests.subscription import test_switchovers as switchovers
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten

MUTANTS: tuple[Mutant, ...] = (
    (
        rewritten(copies, "says_all", "name in flushed and None not in flushed[name].values()", "flushed", promotion),
        promotions.test_regions_that_say_nothing_are_not_taken_for_regions_that_have_flushed_all,
    ),
    (
        rewritten(promotion, "begin", " or _why_forgotten(case)", ""),
        refusals.somebody_elses_topic_is_not_promoted,
    ),
    (
        rewritten(subscription_parts, "_listed", "tuple(wal_topics(case.kafka.topics, opened.view))", "()"),
        beyond.a_topic_beyond_the_count_is_held_copied_and_promoted,
    ),
    (
        rewritten(subscription_parts, "_with_spoken_of", "if case.observed.pool is None", "if False"),
        beyond.of_what_only_the_database_speaks_is_not_forgotten,
    ),
    (
        rewritten(copies, "lost_by_source", "needs[name].end > 0", "False", promotion),
        refusals.a_topic_that_the_source_lost_before_it_was_copied_is_not_forgotten,
    ),
    (
        rewritten(copies, "lost_by_source", "needs[name].end > 0", "True", promotion),
        refusals.test_a_topic_that_does_not_exist_yet_hinders_nobody,
    ),
    (
        rewritten(promotion, "_promote", "if forgotten is not None:", "if False:"),
        refusals.a_topic_that_the_pool_gets_after_the_copying_ended_is_not_forgotten,
    ),
    (
        rewritten(copies, "copied", " if row.target_id is not None", "", promotion),
        refusals.somebody_elses_topic_is_not_promoted,
    ),
    (
        rewritten(promotion, "explained", "if forgotten is None or", "if True or"),
        refusals.test_a_topic_that_had_not_begun_when_the_source_died_is_not_forgotten,
    ),
    (
        rewritten(copies, "_others", "{*names, *_absent(case)}", "{*names}"),
        refusals.test_a_topic_that_does_not_exist_yet_hinders_nobody,
    ),
    (
        rewritten(promotion, "_promote", "if forgotten is not None and case", "if False and case"),
        switchovers.test_a_switchover_goes_back_for_a_topic_that_the_pool_got_meanwhile,
    ),
    (
        rewritten(promotion, "_plan", "if uneven:", "if False:"),
        switchovers.test_a_switchover_goes_on_copying_when_the_source_got_more_before_anything_was_fenced,
    ),
    (
        rewritten(promotion, "_is_uneven", "at_source is None or", "at_source is not None and"),
        switchovers.test_a_switchover_waits_for_a_source_that_does_not_answer_when_it_matters,
    ),
    (
        rewritten(
            promotion,
            "_is_even",
            "case.rows[name].stopped is not None",
            "each is not None and not hasattr(each, 'behind')",
        ),
        switchovers.test_a_topic_that_one_broker_does_not_know_for_a_moment_is_not_even,
    ),
    (
        rewritten(promotion, "_write", "with_late(case, promotion)", "promotion"),
        switchovers.test_what_the_source_gets_after_all_is_recorded_is_padded_and_listed,
    ),
    (
        rewritten(needed, "_with_late", "row.known_end + MARGIN", "row.known_end"),
        switchovers.test_what_a_source_got_that_died_after_all_was_recorded_is_within_the_margin,
    ),
    (
        rewritten(needed, "_with_late", "end + MARGIN})", "end})"),
        switchovers.test_a_database_that_never_stops_writing_does_not_keep_a_failover_from_its_end,
    ),
    (
        rewritten(copies, "without_copy", "recorded or copied(case)", "copied(case)", promotion),
        switchovers.test_a_topic_that_is_selected_again_after_all_was_recorded_is_not_forgotten,
    ),
    (
        rewritten(promotion, "is_over", "return case", "return False and case"),
        switchovers.test_the_source_is_not_asked_any_more_when_it_is_over,
    ),
    (
        rewritten(SubscriptionReader, "_is_over_budget", "except SeawallError:", "except ZeroDivisionError:"),
        sources.a_hold_that_is_over_is_not_placed_anew_while_nobody_says_of_which_age_it_was,
    ),
    (
        rewritten(holding, "_after_its_end", "is_over_budget is None", "is_over_budget is ..."),
        sources.a_hold_that_is_over_is_not_placed_anew_while_nobody_says_of_which_age_it_was,
    ),
    (
        rewritten(subscription_parts, "_matters_why", "return obj", "return True or obj"),
        sources.test_why_a_hold_is_over_is_nobodys_affair_once_it_is_lost,
    ),
    (
        rewritten(promotion, "_unknown", "if refused:", "if False:"),
        causes.one_that_is_refused_is_a_persons_affair,
    ),
    (
        rewritten(promotion, "_write", "    if len(standings) < len(rows):", "    if False:"),
        causes.the_others_are_fenced_and_padded_while_one_has_no_leader,
    ),
    (
        rewritten(
            promotion,
            "_write",
            "    new = ProducerId",
            "    if len(standings) < len(rows):\n        return _unknown(case, 'x', [])\n    new = ProducerId",
        ),
        causes.the_others_are_fenced_and_padded_while_one_has_no_leader,
    ),
    (
        rewritten(subscription, "_append", "except (Refused, OutsideUnavailable)", "except ZeroDivisionError"),
        causes.test_the_others_are_fenced_where_one_may_not_be_written_to,
    ),
    (
        rewritten(promotion, "_plan", "if problems:", "if False:"),
        needs.a_record_that_cannot_be_read_for_a_moment_is_waited_for,
    ),
    (
        rewritten(needed, "record_problem", " or source_end(case, name) is not None", "", promotion),
        needs.test_a_record_that_cannot_be_read_hinders_nothing_where_the_source_says_where_it_ends,
    ),
    (
        rewritten(SubscriptionReader, "_needs", "if is_alone else {}", "if False else {}"),
        needs.the_database_is_believed_where_its_kafka_is_dead,
    ),
    (
        rewritten(database_ids, "read_database_ids", "if other is None and is_one", "if True", subscription_parts),
        needs.another_database_is_not_believed,
    ),
    (
        rewritten(
            ledger_needs,
            "ids_of",
            "(by_region.get(region), key.checkpoint_entry_id",
            "(by_region.get(region)",
            database_ids,
        ),
        needs.all_that_the_database_speaks_of_counts,
    ),
    (
        rewritten(ledger_needs, "ids_of", "(by_region.get(region), ", "(", database_ids),
        needs.the_database_is_believed_where_its_kafka_is_dead,
    ),
    (
        rewritten(ledger_needs, "ids_of", " + list(newest.items())", "", database_ids),
        needs.all_that_the_database_speaks_of_counts,
    ),
    (
        rewritten(standing, "_beginning", "if not new:", "if True:"),
        refusals.a_topic_that_cannot_begin_is_named,
    ),
)


@pytest.mark.timeout(600)
def test_each_guard_of_a_promotion_is_missed_by_a_story() -> None:
    assert not find_survivors(MUTANTS)
