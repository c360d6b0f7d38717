"""The guards of verifications are taken away one by one: each story must then end badly. Prints the kills."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from seawall import observe
from seawall.api.meta import Rule
from seawall.api.v1alpha1 import spark_spec
from seawall.api.v1alpha1.spark_job import Outcome
from seawall.controllers import schedule as schedules
from seawall.controllers.verification import WALVerificationController
from seawall.domain.ledger import assess, identities
from seawall.domain.ledger.observation import Verifying
from seawall.domain.restore import attempt as restore_attempt
from seawall.domain.spark_job import allowed as allowing
from seawall.domain.spark_job import attempt, case, decide, following, holding, request
from seawall.domain.verification import contract, doubts, kind, schedule, selection
from seawall.observe import claims
from tests.purge import test_purge_verified as purges
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten
from tests.verification import test_verification as stories
from tests.verification import test_verification_allowed as allowed
from tests.verification import test_verification_doubts as doubted
from tests.verification import test_verification_requests as requests
from tests.verification import test_verification_schedule as scheduled

Patch = pytest.MonkeyPatch


def no_grant(patch: Patch) -> None:
    """A hold that is not granted is as good as one that is."""
    for module in (holding, case, attempt):
        patch.setattr(module, "is_granted", lambda _: True)


def any_request(patch: Patch) -> None:
    """A verdict about whatever request."""
    patch.setattr(attempt, "read_summary", lambda model, text, *_: model.model_validate_json(text))


def any_exit_code(patch: Patch) -> None:
    """The exit code is not looked at."""
    honest = request.read_summary

    def unaware(model: type[Any], text: str, digest: str, _: int) -> Any:
        codes = dict.fromkeys(Outcome, 0)
        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(request, "EXIT_CODES", codes)
            return honest(model, text, digest, 0)

    patch.setattr(attempt, "read_summary", unaware)


def truncated_list_believed(patch: Patch) -> None:
    """A list of topics that does not fit is taken for whole."""
    patch.setattr(contract.Summary, "proves", lambda self, topic: topic not in self.topics_not_verified)


def newest_version(patch: Patch) -> None:
    """The job is told of a reader that lets more pass than the database's does."""
    patch.setattr(kind, "database_version", lambda *_: "99.0")


def hold_stays(patch: Patch) -> None:
    """The hold is not let go."""
    for module in (attempt, decide):
        patch.setattr(module, "leftovers", lambda *_: ())


def one_attempt(patch: Patch) -> None:
    """A driver that dies is not tried again."""
    patch.setattr(attempt, "MAX_ATTEMPTS", 1)


def silent_regions_read(patch: Patch) -> None:
    """A topic of which a region has not reported is read all the same."""
    patch.setattr(selection, "UNREADABLE", frozenset())


def verifications_read_once(patch: Patch) -> None:
    """What a verification has shown is remembered."""
    cache: list[observe.claims.Verifications] = []

    def cached(*args: Any) -> observe.claims.Verifications:
        found = observe.claims.read_verifications(*args)
        if found.verified:
            cache.append(found)
        return cache[0] if cache else found

    patch.setattr(observe.reading, "read_verifications", cached)


def nobody_waits(patch: Patch) -> None:
    """A run does not wait for a verification that runs."""
    patch.setattr(Verifying, "may_satisfy", lambda *_: False)


def any_config_map(patch: Patch) -> None:
    """The request that is there is the request."""
    for module in (holding, attempt):
        patch.setattr(module, "check_request", lambda _: None)


def digest_of_what_is_there(patch: Patch) -> None:
    """The status takes the digest from the ConfigMap."""
    patch.setattr(following, "digest_of", AnyText)


class AnyText(bytes):
    """Bytes that are whatever they are compared with."""

    def __ne__(self, _: object) -> bool:
        return False


def verdict_alone(patch: Patch) -> None:
    """A driver's verdict counts, whatever request it names."""
    honest = request.read_summary

    def unaware(model: type[Any], text: str, _: str, code: int) -> Any:
        return honest(model, text, json.loads(text)["requestDigest"] if text else "", code)

    patch.setattr(attempt, "read_summary", unaware)


def asked_once(patch: Patch) -> None:
    """What was decided is done, however long ago that was."""
    patch.setattr(WALVerificationController, "_ask_again", lambda *_: None)


def look_forgotten(patch: Patch) -> None:
    """The request is of another look than the one that the status names."""
    patch.setattr(WALVerificationController, "_observe", lambda self, _, cluster: self.observer.observe(cluster))


def any_image(patch: Patch) -> None:
    """A verification runs what it likes."""
    patch.setattr(decide, "why_not_allowed", lambda *_: None)


def image_asked_once(patch: Patch) -> None:
    """What may run is asked before the verification begins, and not before its job is made."""
    honest = allowing.why_not_allowed

    def early(asked: Any, *others: Any) -> str | None:
        return None if asked.image == "replay-verification:1" else honest(asked, *others)

    patch.setattr(decide, "why_not_allowed", early)


def any_setting(patch: Patch) -> None:
    """Every setting of Spark is one about sizes."""
    patch.setattr(spark_spec.SparkOverrides, "RULES", without("takes only"))


def any_value(patch: Patch) -> None:
    """A setting about sizes may be any text."""
    patch.setattr(spark_spec.SparkOverrides, "RULES", without("takes numbers"))


def without(words: str) -> tuple[Rule, ...]:
    kept = tuple(rule for rule in spark_spec.SparkOverrides.RULES if words not in rule.message)
    assert len(kept) == len(spark_spec.SparkOverrides.RULES) - 1
    return kept


def set_to(name: str, value: str) -> Callable[[], None]:
    return partial(allowed.test_settings_that_could_do_more_than_size_are_refused, {name: value})


def seawalls_user(patch: Patch) -> None:
    """The job gets Seawall's own user of Kafka."""
    patch.setattr(case, "kafka_of_job", lambda key, spec, _: spec.kafka.access(key))


def nobody_warns(patch: Patch) -> None:
    """Nobody says whose user the job has."""
    patch.setattr(decide, "kafka_user", lambda *_: None)


def secrets_taken_for_granted(patch: Patch) -> None:
    """The job's own Secret is not looked for."""
    patch.setattr("seawall.controllers.spark_job.require_secrets", lambda *_: None)


def forged(*, is_named: bool) -> Callable[[], None]:
    return partial(requests.test_a_forged_request_proves_nothing_and_no_job_is_started_on_it, is_named)


NEWEST = doubted.test_the_newest_bad_verdict_stays_while_an_older_good_one_is_there
BEGAN = doubted.test_a_bad_verdict_stays_while_one_is_there_that_began_before_it_was_over
OF_TWO = doubted.test_of_two_bad_verdicts_the_newer_one_stays
OUTLIVES = doubted.test_a_bad_verdict_outlives_its_ttl_and_goes_when_nothing_counts_without_it

AS_OLD = "min(now, driver.finished_at or application.created_at + timeout)"
read_late = purges.test_a_verdict_that_is_read_late_is_as_old_as_the_verdict
LAST_OF_ALL = "max((due for due, _ in self.by_time), default=None)"
deleted_one = stories.test_an_application_that_is_deleted_is_not_made_again_as_the_same_attempt
MUTANTS: tuple[Mutant, ...] = (
    (rewritten(doubts, "why_it_stays", "began_at(each) <= ended", "began_at(each) < ended", doubted), NEWEST),
    (
        rewritten(doubts, "why_it_stays", "began_at(each) <= ended", "each.status.completion_time <= ended", doubted),
        BEGAN,
    ),
    (rewritten(doubts, "_trusted_by", " or is_open", ""), BEGAN),
    (rewritten(doubts, "why_it_stays", "is_newer and ", "", doubted), OF_TWO),
    (rewritten(doubts, "_may_replace", "other.metadata.deletion_timestamp is None and ", ""), OF_TWO),
    (rewritten(doubts, "_may_replace", " and cluster_name(other) == cluster_name(obj)", ""), OF_TWO),
    (rewritten(decide, "_after_the_end", "observed.outlives_ttl is not None", "False"), OUTLIVES),
    (
        rewritten(decide, "_after_the_end", "observed.obstacle is not None", "False"),
        doubted.test_a_bad_verdict_outlives_its_ttl_also_while_the_api_server_refuses_a_read,
    ),
    (rewritten(WALVerificationController, "outlives_ttl", "not has_ttl or", "True or"), OUTLIVES),
    (
        rewritten(identities, "_begun_anew", "if found.record is None", "if True"),
        doubted.test_a_verdict_of_before_lost_records_began_anew_licenses_nothing_and_the_next_one_does,
    ),
    (
        rewritten(schedule, "_due", " if why_it_stays(each, observed.verifications) is None", ""),
        doubted.test_a_bad_verdict_outlives_the_history_limits,
    ),
    (
        rewritten(schedule, "expected_since", " or spec.suspend", "", schedules),
        scheduled.test_a_schedule_that_makes_no_sense_was_meant_to_have_some,
    ),
    (
        rewritten(schedule, "expected_since", " or found.reason == SUSPENDED", "", schedules),
        scheduled.test_a_schedule_that_goes_on_is_not_late_by_the_time_for_which_it_was_suspended,
    ),
    (
        rewritten(schedule.OwnVerifications, "last", "newest((due for due, _ in self.by_time), now)", LAST_OF_ALL),
        lambda: scheduled.test_a_clock_that_was_ahead_once_stops_no_verification(3),
    ),
    (
        rewritten(claims, "_is_of", "in {None, cluster.metadata.name}", "== cluster.metadata.name"),
        doubted.test_a_bad_verdict_counts_also_when_its_spec_cannot_be_read,
    ),
    (
        rewritten(WALVerificationController, "now", "self.clock.trusted().shared", "self.clock.now()"),
        partial(doubted.test_a_leader_whose_clock_is_ahead_makes_no_verdict_newer_than_it_is, says_when=False),
    ),
    (
        rewritten(assess, "_bounds", "read.shared_now or read.now", "read.now"),
        doubted.test_an_operator_whose_clock_is_behind_takes_no_old_verdict_for_recent,
    ),
    (rewritten(following, "follow", AS_OLD, "now", attempt, restore_attempt), partial(read_late, says_when=True)),
    (
        rewritten(following, "follow", AS_OLD, "driver.finished_at or now", attempt, restore_attempt),
        partial(read_late, says_when=False),
    ),
    (
        rewritten(following, "follow", AS_OLD, AS_OLD.removeprefix("min(now, ")[:-1], purges),
        purges.test_a_verdict_of_a_node_whose_clock_is_ahead_is_no_younger_than_its_reading,
    ),
    (rewritten(kind.Verification, "judge", "verdict_time=driver.finished_at,", ""), partial(read_late, says_when=True)),
    (rewritten(attempt, "run", "if lost is not None", "if False", decide), partial(deleted_one, "COMPLETED")),
    (rewritten(attempt, "_follow", ', "application_uid": application.uid', ""), partial(deleted_one, "")),
    (
        rewritten(following, "why_lost", "application.uid == uid", "True", case, restore_attempt),
        stories.test_an_application_that_comes_back_as_another_one_goes_and_is_not_believed,
    ),
    (
        rewritten(decide, "_decide", " or case.why_lost() is not None", ""),
        stories.test_an_application_that_is_deleted_while_it_is_paused_lets_its_hold_go,
    ),
    (no_grant, stories.test_nothing_is_submitted_before_the_hold_is_granted),
    (
        rewritten(holding, "_freeze", "found.status.granted", "found.spec.topics"),
        stories.test_what_is_read_is_what_was_granted_whatever_its_hold_claims_by_now,
    ),
    (any_request, stories.test_a_verdict_about_another_request_proves_nothing),
    (any_exit_code, stories.test_a_verdict_that_the_exit_code_contradicts_proves_nothing),
    (truncated_list_believed, stories.test_a_list_of_topics_that_does_not_fit_proves_none),
    (newest_version, stories.test_the_job_is_told_what_each_region_would_read_and_has_durable),
    (hold_stays, stories.test_a_log_that_replays_is_verified_from_where_its_regions_would_read),
    (one_attempt, stories.test_a_driver_that_dies_is_tried_again_with_everything_anew),
    (silent_regions_read, stories.test_a_topic_whose_regions_are_silent_is_waited_for_and_then_not_read),
    (verifications_read_once, purges.test_a_verification_that_goes_before_the_delete_licenses_it_no_more),
    (any_config_map, forged(is_named=False)),
    (any_config_map, forged(is_named=True)),
    (any_config_map, requests.test_a_request_that_is_exchanged_before_the_job_is_made_starts_none),
    (any_config_map, requests.test_a_request_that_is_exchanged_while_the_job_starts_ends_the_job),
    (any_config_map, requests.test_a_request_that_somebody_else_owns_is_never_used),
    (digest_of_what_is_there, requests.test_a_request_that_is_exchanged_before_the_job_is_made_starts_none),
    (verdict_alone, requests.test_a_job_that_read_another_request_proves_nothing_even_if_the_right_one_is_back),
    (verdict_alone, requests.test_a_verdict_of_the_attempt_before_proves_nothing_about_this_one),
    (asked_once, requests.test_a_process_that_slept_before_it_made_the_job_asks_again),
    (
        asked_once,
        requests.test_a_process_that_slept_before_it_wrote_the_request_writes_none_that_the_status_does_not_name,
    ),
    (look_forgotten, requests.test_a_log_that_grows_all_the_time_is_verified_all_the_same),
    (any_image, allowed.test_a_verification_with_its_own_image_is_refused_in_one_sentence),
    (any_image, allowed.test_a_verification_with_its_own_account_is_refused),
    (image_asked_once, allowed.test_an_edit_of_the_walcluster_before_the_job_is_made_is_heeded),
    (any_setting, set_to("spark.driver.port", "7077")),
    (any_value, set_to("spark.sql.shuffle.partitions", "${env:PASSWORD}")),
    (seawalls_user, allowed.test_the_driver_has_the_user_of_verifications_and_no_other),
    (seawalls_user, allowed.test_the_driver_has_the_certificate_of_verifications_and_no_other),
    (nobody_warns, allowed.test_a_job_that_has_seawalls_own_user_is_warned_about),
    (secrets_taken_for_granted, allowed.test_a_secret_of_the_job_that_is_missing_stalls_it_until_somebody_makes_it),
    (nobody_waits, purges.test_a_run_waits_for_a_verification_that_runs_and_then_goes_as_far_as_it_licenses),
)


def test_every_guard_of_a_verification_is_needed() -> None:
    assert not find_survivors(MUTANTS)
