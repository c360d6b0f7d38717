"""A bad verdict outlives ttl and history limits, and the spec that cannot be read: no earlier good one counts again."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from seawall.api.meta import Key
from seawall.api.v1alpha1.purge import WALPurge
from seawall.api.v1alpha1.spark_job import JobStage
from seawall.api.v1alpha1.verification import WALVerification
from seawall.domain.verification.doubts import why_it_stays
from tests.domain.verifications import ENDED, METADATA
from tests.ledger.test_ledger_watch import look, until, watch
from tests.ledger.test_licences import remember_shards
from tests.purge.test_purge_verified import REQUIRED, flush_all, skipped
from tests.verification.test_verification_schedule import DAY, World
from tests.worlds.purge_world import NAMESPACE, RUN, TOPICS
from tests.worlds.verification_world import CHECK, SPEC, VerificationWorld

LATER = Key(NAMESPACE, "later")
MINUTE = timedelta(minutes=1)


def verified(
    name: str, minute: int, *topics: str, bad: Sequence[str] = (), took: int = 0, **other: Any
) -> WALVerification:
    """One that is over, by the minute of its end, and how many it took."""
    rows = [
        {"name": each, "topicId": f"id-{each}", "verifiedFrom": 5, "end": 9, "verified": each not in bad}
        for each in (*topics, *bad)
    ]
    began, ended = ((ENDED + time * MINUTE).isoformat() for time in (minute - took, minute))
    status = {"stage": "Failed" if bad else "Completed", "outcome": "Failed" if bad else "Passed", "topics": rows}
    times = {"startTime": began, "completionTime": ended}
    metadata = {**METADATA, "name": name, "uid": f"uid-{name}", **other.get("metadata", {})}
    spec = {**SPEC, **other.get("spec", {})}
    return WALVerification.parse(
        {"metadata": metadata, "spec": spec, "status": {**status, **times, **other.get("status", {})}}
    )


OLD, BAD = verified("old", 1, "a", "b"), verified("bad", 3, "b", bad=("a",))


def test_the_newest_bad_verdict_stays_while_an_older_good_one_is_there() -> None:
    assert why_it_stays(BAD, (OLD, BAD)) == "without it old would count again for topic a"
    assert why_it_stays(BAD, (verified("at-once", 3, "a"), BAD)) is not None
    assert why_it_stays(OLD, (OLD, BAD)) is None
    assert why_it_stays(BAD, (BAD,)) is None
    assert why_it_stays(BAD, (verified("other-topic", 1, "b"), BAD)) is None
    assert why_it_stays(BAD, (verified("newer", 4, "a"), BAD)) is None
    assert why_it_stays(BAD, (OLD, verified("newer", 4, "a"), BAD)) is not None
    unproved = verified("unproved", 3, bad=("a",), status={"outcome": "Interrupted"})
    assert why_it_stays(unproved, (OLD, unproved)) is None


def test_a_bad_verdict_stays_while_one_is_there_that_began_before_it_was_over() -> None:
    """Its look may be the older one, however late it ended, or ends yet; nobody knows how while it runs."""
    late, later = verified("late", 9, "a", took=6), verified("later", 9, "a", took=5)
    assert why_it_stays(BAD, (late, BAD)) == "without it late would count again for topic a"
    assert why_it_stays(BAD, (later, BAD)) is None
    for stage, outcome in (("Running", None), ("Releasing", "Interrupted")):
        status = {"stage": stage, "outcome": outcome, "completionTime": None}
        runs = verified("runs", 9, bad=("a",), took=6, status=status)
        assert why_it_stays(BAD, (runs, BAD)) == "without it runs could count for topic a"
        assert why_it_stays(BAD, (verified("runs", 9, bad=("a",), took=5, status=status), BAD)) is None
        assert why_it_stays(BAD, (verified("runs", 9, bad=("b",), took=6, status=status), BAD)) is None
    unproved = verified("unproved", 9, bad=("a",), took=6, status={"outcome": "Interrupted"})
    assert why_it_stays(BAD, (unproved, BAD)) is None


def test_of_two_bad_verdicts_the_newer_one_stays() -> None:
    newer = verified("newer", 4, bad=("a",))
    assert why_it_stays(BAD, (OLD, BAD, newer)) is None
    assert why_it_stays(newer, (OLD, BAD, newer)) is not None
    twin = verified("twin", 3, bad=("a",))
    assert [why_it_stays(each, (OLD, BAD, twin)) is None for each in (BAD, twin)].count(True) == 1
    going = verified("newer", 4, bad=("a",), metadata={"deletionTimestamp": ENDED})
    assert why_it_stays(BAD, (OLD, BAD, going)) is not None
    of_another = verified("newer", 4, bad=("a",), spec={"clusterRef": {"name": "other"}})
    assert why_it_stays(BAD, (OLD, BAD, of_another)) is not None


def after_a_bad_verdict(**spec: Any) -> VerificationWorld:
    """A topic was good; a later verification found that it does not replay, and is over."""
    world = VerificationWorld()
    flush_all(world)
    world.start()
    world.settle_verification()
    world.bad = {"wal_1"}
    world.start(LATER.name, **spec)
    world.settle_job(world.verifier(), WALVerification, LATER)
    return world


def purged(world: VerificationWorld) -> dict[str, int]:
    """Where logs begin after a run."""
    world.start_run(safety=REQUIRED)
    run = world.settle()
    assert skipped(run) <= {"VerificationMissing"}
    return world.log_starts()


@pytest.mark.parametrize("says_when", [True, False])
def test_a_leader_whose_clock_is_ahead_makes_no_verdict_newer_than_it_is(*, says_when: bool) -> None:
    """Its good one is of before the bad one of the next leader, also when that clock's time has come."""
    world = VerificationWorld(node_says_when=says_when)
    flush_all(world)
    world.time.ahead = timedelta(hours=1)
    world.start()
    world.settle_verification()
    world.time.ahead = timedelta(0)
    world.bad = {"wal_1"}
    world.start(LATER.name)
    world.settle_job(world.verifier(), WALVerification, LATER)
    world.time.time += timedelta(hours=2)
    assert purged(world) == {"wal_0": 36, "wal_1": 0, "wal_2": 36}


def test_an_operator_whose_clock_is_behind_takes_no_old_verdict_for_recent() -> None:
    world = VerificationWorld()
    flush_all(world)
    world.start()
    world.settle_verification()
    world.time.time += timedelta(hours=25)
    world.time.ahead = timedelta(hours=-2)
    world.start_run(safety=REQUIRED)
    assert skipped(world.settle()) == {"VerificationTooOld"}
    assert set(world.log_starts().values()) == {0}


def test_a_bad_verdict_outlives_its_ttl_and_goes_when_nothing_counts_without_it() -> None:
    world = after_a_bad_verdict(ttlSecondsAfterFinished=60)
    world.time.time += 10 * MINUTE
    process = world.verifier()
    for _ in range(5):
        process.tick(LATER)
    assert purged(world) == {"wal_0": 36, "wal_1": 0, "wal_2": 36}
    world.kube.remove(CHECK, WALVerification)
    for _ in range(5):
        process.tick(LATER)
    assert world.kube.get(WALVerification, LATER) is None


def test_a_bad_verdict_outlives_its_ttl_also_while_the_api_server_refuses_a_read() -> None:
    """As one does that has begun a moment ago, before it has read its Roles; or where Spark's are taken back."""
    world = after_a_bad_verdict(ttlSecondsAfterFinished=60)
    world.time.time += 10 * MINUTE
    world.spark.refuses = "403 sparkapplications is forbidden"
    process = world.verifier()
    for _ in range(5):
        process.tick(LATER)
    assert purged(world) == {"wal_0": 36, "wal_1": 0, "wal_2": 36}
    world.spark.refuses = None
    world.kube.remove(CHECK, WALVerification)
    for _ in range(5):
        process.tick(LATER)
    assert world.kube.get(WALVerification, LATER) is None


def test_a_bad_verdict_counts_also_when_its_spec_cannot_be_read() -> None:
    world = after_a_bad_verdict()
    raw = world.kube._objects["WALVerification", LATER]
    raw["spec"] = {"level": "Perfect"}  # and not even which WALCluster it is about
    world.kube._touch(raw)
    assert purged(world) == {"wal_0": 36, "wal_1": 0, "wal_2": 36}


def test_a_verdict_of_before_lost_records_began_anew_licenses_nothing_and_the_next_one_does() -> None:
    """While they were gone the log may have been cut off, and written anew under the same id; nobody could see it."""
    world = VerificationWorld()
    watching = watch(world)
    look(world, watching, times=10)
    remember_shards(world)
    flush_all(world)
    world.start()
    world.settle_verification()
    world.intents.__init__()  # type: ignore[misc] # somebody deletes the ConfigMaps
    world.annotate(readopt=until(world, 2))
    look(world, watching, times=3)
    assert world.records().keys() == set(TOPICS)
    assert set(purged(world).values()) == {0}
    world.start(LATER.name)
    world.settle_job(world.verifier(), WALVerification, LATER)
    world.kube.remove(RUN, WALPurge)
    world.start_run(safety=REQUIRED)
    world.settle()
    assert set(world.log_starts().values()) == {36}


def end(world: World, *, bad: Sequence[str] = ()) -> None:
    """All that run end with a verdict about one topic."""
    rows = verified("x", 0, *(() if bad else ("a",)), bad=bad).status.topics
    for each in world.found():
        if not each.status.is_over:
            update = {
                "stage": JobStage.FAILED if bad else JobStage.COMPLETED,
                "outcome": "Failed" if bad else "Passed",
                "start_time": world.time.now(),
                "completion_time": world.time.now(),
                "topics": rows,
            }
            world.kube.replace_status(each, type(each.status).model_validate({**each.status.model_dump(), **update}))


def test_a_bad_verdict_outlives_the_history_limits() -> None:
    world = World(successfulRunsHistoryLimit=1, failedRunsHistoryLimit=1)
    for bad in ((), ("a",), ("b",)):
        world.pass_time(DAY)
        end(world, bad=bad)
    world.pass_time(DAY)
    assert world.names() == ["wal-2611220300", "wal-2611230300", "wal-2611240300", "wal-2611250300"]
    end(world)
    world.settle()
    world.pass_time(DAY)
    assert world.names() == ["wal-2611240300", "wal-2611250300", "wal-2611260300"]
