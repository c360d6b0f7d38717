"""The life of a WALVerification, on the in-memory ports."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from seawall.api.meta import ConditionType, Key
from seawall.api.v1alpha1.cluster import DataPlaneStatus, WALCluster, WALClusterSpec
from seawall.api.v1alpha1.hold import WALHold, WALHoldSpec
from seawall.api.v1alpha1.purge_template import ClusterRef
from seawall.api.v1alpha1.spark_job import JobStage, Outcome
from seawall.api.v1alpha1.verification import WALVerification
from seawall.domain.conditions import find_condition
from seawall.domain.spark_job.application import Ended, Stuck
from seawall.domain.spark_job.request import database_version
from seawall.reconciler import Outcome as Tick
from tests.hold.test_wal_hold import granter
from tests.worlds.purge_world import NAMESPACE, TOPICS, WAL
from tests.worlds.verification_world import CHECK, SERVICE_ACCOUNT, VerificationWorld, why

FIRST = Key(NAMESPACE, "check-1")


def is_true(obj: WALVerification, kind: ConditionType) -> bool:
    found = find_condition(obj.status.conditions, kind)
    return found is not None and found.status == "True"


def test_a_log_that_replays_is_verified_from_where_its_regions_would_read() -> None:
    world = VerificationWorld()
    world.start()
    found = world.settle_verification()
    assert (found.status.stage, found.status.outcome) == (JobStage.COMPLETED, Outcome.PASSED)
    assert is_true(found, ConditionType.COMPLETE)
    rows = [(row.name, row.verified_from, row.end, row.verified) for row in found.status.topics]
    assert rows == [(name, 1, 40, True) for name in TOPICS]  # one region of each has flushed nothing
    topic_ids = {topic.log.topic_id for topic in world.kafka.topics.values()}
    assert {row.topic_id for row in found.status.topics} == topic_ids
    assert found.status.topic_counts is not None
    assert (found.status.topic_counts.verified, found.status.attempt) == (3, 1)
    assert world.holds() == []
    assert why(found)[0] == "Verified"


def test_the_job_is_told_what_each_region_would_read_and_has_durable() -> None:
    world = VerificationWorld()
    world.start(topics=["wal_1"], level="Coverage")
    world.settle_verification()
    request = world.request()
    (topic,) = request["topics"]
    assert (request["level"], request["snapshot"]) == ("Coverage", None)
    assert (request["version"], request["databaseVersion"]) == (2, "1.1")
    assert request["kafka"] == {
        "bootstrapServers": ["kafka:9092"],
        "clusterId": "fake-cluster",
        "tls": None,
        "sasl": None,
    }
    assert request["verification"]["attempt"] == 1
    assert (topic["name"], topic["logStart"], topic["from"], topic["to"]) == ("wal_1", 0, 1, 40)
    assert [(region["readsFrom"], region["flushed"]) for region in topic["regions"]] == [
        (37, 36),
        (38, 37),
        (39, 38),
        (1, 0),
    ]


def test_the_job_is_told_the_oldest_version_that_runs() -> None:
    world = VerificationWorld()
    status = world.cluster().status
    view = DataPlaneStatus.model_construct(version="1.1.3")
    running = replace(world.cluster(), status=status.model_copy(update={"data_plane": view}))
    assert isinstance(running.spec, WALClusterSpec)
    assert database_version(running, running.spec) == "1.1.3"
    silent = replace(running, status=status.model_copy(update={"data_plane": None}))
    assert database_version(silent, running.spec) == "1.1"
    nobody = running.spec.model_copy(update={"data_plane": None})
    assert database_version(silent, nobody) is None


def test_nothing_is_submitted_before_the_hold_is_granted() -> None:
    world = VerificationWorld()
    world.start()
    process = world.verifier()
    for _ in range(20):  # nobody grants
        process.tick(CHECK)
        world.time.time += timedelta(seconds=5)
    assert world.holds() == ["check-1"]
    assert not world.spark.specs
    assert world.kube.get_config_map(FIRST) is None
    assert why(world.verification())[0] == "WaitingForHold"
    world.settle_verification()
    assert world.verification().status.outcome is Outcome.PASSED


def test_what_is_read_is_what_was_granted_whatever_its_hold_claims_by_now() -> None:
    """An edit counts once it is granted: until then records that it claims may go."""
    world = VerificationWorld()
    world.start()
    process, granting = world.verifier(), granter(world)
    for _ in range(20):
        process.tick(CHECK)
        world.time.time += timedelta(seconds=5)
    claim(world, wal_1=30)
    for _ in range(20):
        granting.tick(FIRST)
        world.time.time += timedelta(milliseconds=50)
    claim(world, wal_1=1)
    for _ in range(5):
        process.tick(CHECK)
    assert {topic["name"] for topic in world.request()["topics"]} == {"wal_0", "wal_2"}


def claim(world: VerificationWorld, **offsets: int) -> None:
    """Somebody edits the hold of the first attempt."""
    found = world.kube.get(WALHold, FIRST)
    assert found is not None
    assert isinstance(found.spec, WALHoldSpec)
    world.kube.replace_spec(found, found.spec.model_copy(update={"topics": {**found.spec.topics, **offsets}}))


def test_while_it_runs_its_hold_keeps_a_purge_from_what_it_reads() -> None:
    world = VerificationWorld(slow=10**6)
    world.start()
    world.settle_verification(ticks=30)
    assert world.verification().status.stage is JobStage.RUNNING
    for region in list(world.data_plane.regions):
        world.flush(region)
    world.start_run(flush={"whenBehindEntries": 1, "timeout": "10m"})
    world.settle()
    assert set(world.log_starts().values()) == {1}
    world.slow = 0
    found = world.settle_verification()
    assert (found.status.outcome, world.holds()) == (Outcome.PASSED, [])


def test_a_topic_that_does_not_replay_fails_it_with_its_first_bad_offset() -> None:
    world = VerificationWorld(bad={"wal_1"})
    world.start()
    found = world.settle_verification()
    assert (found.status.stage, found.status.attempt) == (JobStage.FAILED, 1)
    assert [row.verified for row in found.status.topics] == [True, False, True]
    (finding,) = found.status.findings
    assert (finding.topic, finding.offset, finding.region) == ("wal_1", 7, str(2**63))
    assert (why(found)[0], world.holds()) == ("DoesNotReplay", [])
    assert is_true(found, ConditionType.FAILED)


def test_a_driver_that_dies_is_tried_again_with_everything_anew() -> None:
    world = VerificationWorld(dies=2)
    world.start()
    found = world.settle_verification()
    assert (found.status.outcome, found.status.attempt) == (Outcome.PASSED, 3)
    assert [key.name for key in world.spark.applications] == ["check-3"]
    assert world.holds() == []
    assert world.request(3)["verification"]["attempt"] == 3


@pytest.mark.parametrize("state", ["", "RUNNING", "COMPLETED"])
def test_an_application_that_is_deleted_is_not_made_again_as_the_same_attempt(state: str) -> None:
    world = VerificationWorld()
    world.spark_operator_runs = bool(state)
    world.start()
    gone = world.delete_application("check-1", state, partial(world.settle_verification, world.verifier(), 1))
    world.spark_operator_runs = True
    world.settle_verification(ticks=3)
    assert world.verification().status.message == "SparkApplication check-1 was deleted before its verdict was read"
    assert gone.uid == world.verification().status.application_uid
    found = world.settle_verification()
    assert (found.status.outcome, found.status.attempt) == (Outcome.PASSED, 2)
    assert [key.name for key in world.spark.made] == ["check-1", "check-2"]


def test_an_application_that_comes_back_as_another_one_goes_and_is_not_believed() -> None:
    """As by a tool that restores objects: the driver of the first one has done part of it already."""
    world = VerificationWorld(slow=10**6)
    world.start()
    world.settle_verification(ticks=30)
    world.spark.delete(world.spark.applications[FIRST])
    world.spark.create(world.verification(), FIRST, world.spark.specs[FIRST], SERVICE_ACCOUNT.name)
    world.slow = 0
    found = world.settle_verification()
    assert (found.status.outcome, found.status.attempt) == (Outcome.PASSED, 2)
    assert [key.name for key in world.spark.applications] == ["check-2"]


def test_an_application_that_is_deleted_while_it_is_paused_lets_its_hold_go() -> None:
    world = VerificationWorld(slow=10**6)
    world.start()
    world.settle_verification(ticks=30)
    world.kube.apply(CHECK, {"clusterRef": {"name": "wal"}}, {"seawall.dev/paused": "true"}, kind=WALVerification)
    world.spark.delete(world.spark.applications[FIRST])
    world.settle_verification(ticks=30)
    assert (world.verification().status.attempt, world.holds()) == (2, [])


def test_after_three_attempts_it_gives_up_and_says_what_happened() -> None:
    world = VerificationWorld(dies=3)
    world.start()
    found = world.settle_verification()
    assert (found.status.stage, found.status.outcome) == (JobStage.FAILED, Outcome.INTERRUPTED)
    assert why(found) == (
        "Interrupted",
        "attempt 3 of 3 proved nothing either: the driver left no verdict (exit code 137)",
    )
    assert (world.holds(), world.spark.applications) == ([], {})
    assert not any(row.verified for row in found.status.topics)


def test_a_submission_that_fails_tells_the_exception_and_not_the_log() -> None:
    world = VerificationWorld()
    world.fail_submissions = "WARN a\nio.fabric8.KubernetesClientException: Message: pods is forbidden. Received\n at X"
    world.start()
    found = world.settle_verification()
    assert "Message: pods is forbidden" in why(found)[1]
    assert found.status.attempt == 3


@pytest.mark.parametrize(
    ("text", "code", "reported"),
    [
        ("", 1, "left no verdict (exit code 1)"),
        ("Killed", 137, "cannot be read"),
        ('{"version": 2}', 0, "cannot be read"),
    ],
)
def test_what_is_no_verdict_proves_nothing(text: str, code: int, reported: str) -> None:
    world = VerificationWorld(slow=10**6)
    world.start()
    world.settle_verification(ticks=30)
    world.spark.report(FIRST, "FAILED", driver=Ended(code, text))
    found = world.settle_verification(ticks=4)
    assert reported in (found.status.message or "")
    assert found.status.outcome is Outcome.INTERRUPTED


def test_a_verdict_about_another_request_proves_nothing() -> None:
    world = VerificationWorld(slow=10**6)
    world.start()
    world.settle_verification(ticks=30)
    text, code = world.judge(FIRST)
    digest = world.verification().status.request_digest or ""
    world.spark.report(FIRST, "COMPLETED", driver=Ended(code, text.replace(digest, "0" * 64)))
    found = world.settle_verification(ticks=4)
    assert found.status.message == "the driver's verdict is about another request"


def test_a_verdict_that_the_exit_code_contradicts_proves_nothing() -> None:
    world = VerificationWorld(slow=10**6)
    world.start()
    world.settle_verification(ticks=30)
    world.spark.report(FIRST, "FAILED", driver=Ended(137, world.judge(FIRST)[0]))
    found = world.settle_verification(ticks=4)
    assert found.status.outcome is Outcome.INTERRUPTED


def test_a_list_of_topics_that_does_not_fit_proves_none() -> None:
    world = VerificationWorld(slow=10**6, bad={"wal_1"})
    world.start()
    world.settle_verification(ticks=30)
    text, code = world.judge(FIRST)
    cut = text.replace('"topicsNotVerifiedTruncated": false', '"topicsNotVerifiedTruncated": true')
    assert cut != text
    world.spark.report(FIRST, "FAILED", driver=Ended(code, cut))
    found = world.settle_verification()
    assert found.status.outcome is Outcome.FAILED
    assert not any(row.verified for row in found.status.topics)


def test_a_job_that_takes_too_long_is_removed() -> None:
    world = VerificationWorld(slow=10**6)
    world.start(timeout="1h")
    world.settle_verification(ticks=30)
    world.time.time += timedelta(hours=1)
    found = world.settle_verification(ticks=3)
    assert found.status.message == "it took longer than spec.timeout"
    world.settle_verification(ticks=3)
    assert (world.spark.applications, world.holds()) == ({}, [])


def test_an_image_that_cannot_be_pulled_is_told_to_a_person() -> None:
    world = VerificationWorld(slow=10**6)
    world.start()
    world.settle_verification(ticks=30)
    world.spark.report(FIRST, "SUBMITTED", driver=Stuck("ImagePullBackOff", 'Back-off pulling image "x"'))
    world.settle_verification(ticks=2)
    found = world.verification()
    assert is_true(found, ConditionType.STALLED)
    assert why(found)[0] == "DriverCannotStart"
    assert 'Back-off pulling image "x"' in why(found)[1]


def test_a_missing_spark_operator_stalls_it_until_somebody_installs_one() -> None:
    world = VerificationWorld()
    world.spark.installed = False
    world.start()
    found = world.settle_verification(ticks=40)
    assert is_true(found, ConditionType.STALLED)
    assert "install the Spark Operator" in why(found)[1]
    assert world.holds() == ["check-1"]
    world.spark.installed = True
    assert world.settle_verification().status.outcome is Outcome.PASSED


def test_a_right_that_the_operator_lacks_stalls_it_and_changes_nothing_else() -> None:
    world = VerificationWorld(slow=10**6)
    world.start()
    before = world.settle_verification(ticks=30).status
    world.spark.refuses = "403 sparkapplications is forbidden"
    found = world.settle_verification(ticks=2)
    assert is_true(found, ConditionType.STALLED)
    assert why(found) == ("ChangeRefused", "403 sparkapplications is forbidden")
    assert (found.status.stage, found.status.attempt, found.status.topics) == (before.stage, 1, before.topics)
    world.spark.refuses = None
    world.slow = 0
    assert world.settle_verification().status.outcome is Outcome.PASSED


def test_an_application_that_no_spark_operator_takes_up_stalls_it_after_a_minute_until_one_runs() -> None:
    world = VerificationWorld()
    world.start()
    world.spark_operator_runs = False
    world.settle_verification(ticks=20)
    made = world.spark.applications[FIRST].created_at
    world.time.time = made + timedelta(seconds=50)
    found = world.settle_verification(ticks=1)
    assert not is_true(found, ConditionType.STALLED)
    assert why(found) == ("Running", "the Spark Operator has not started SparkApplication check-1 yet")

    world.time.time = made + timedelta(seconds=60)
    first = why(world.settle_verification(ticks=1))
    found = world.settle_verification(ticks=20)
    assert is_true(found, ConditionType.STALLED)
    since = f"since {made:%H:%M:%SZ}: is it running, and does it serve this namespace (spark.jobNamespaces)?"
    assert why(found) == ("SparkOperatorSilent", f"the Spark Operator has not started SparkApplication check-1 {since}")
    assert why(found) == first
    assert (found.status.stage, found.status.attempt, world.holds()) == (JobStage.RUNNING, 1, ["check-1"])
    world.spark_operator_runs = True
    assert world.settle_verification().status.outcome is Outcome.PASSED


def test_a_driver_whose_executors_do_not_come_is_told() -> None:
    world = VerificationWorld(slow=10**6)
    world.start()
    world.settle_verification(ticks=30)
    said = []
    for executors in ((), ("PENDING", "PENDING"), ("PENDING", "RUNNING")):
        world.spark.report(FIRST, "RUNNING", executors=executors)
        said.append(why(world.settle_verification(ticks=2)))
    assert said == [
        ("Running", "SparkApplication check-1 is RUNNING, and no executor of it runs (none has a pod)"),
        ("Running", "SparkApplication check-1 is RUNNING, and no executor of it runs (PENDING, PENDING)"),
        ("Running", "SparkApplication check-1 is RUNNING"),
    ]


def test_a_claim_that_nobody_made_stalls_it_until_somebody_does() -> None:
    world = VerificationWorld(slow=10**6)
    world.start(report={"persistentVolumeClaim": "reports"})
    world.settle_verification(ticks=30)
    said = '0/1 nodes are available: persistentvolumeclaim "reports" not found. not found'
    world.spark.report(FIRST, "SUBMITTED", driver=Stuck("Unschedulable", said))
    found = world.settle_verification(ticks=2)
    assert is_true(found, ConditionType.STALLED)
    assert why(found) == (
        "DriverCannotStart",
        f"the driver of SparkApplication check-1 does not start: Unschedulable: {said}",
    )
    world.spark.drivers.clear()
    world.spark.report(FIRST, "RUNNING")
    world.slow = 0
    assert world.settle_verification().status.outcome is Outcome.PASSED


def test_a_missing_service_account_stalls_it() -> None:
    world = VerificationWorld()
    world.spark.service_accounts.clear()
    world.start()
    found = world.settle_verification(ticks=40)
    assert is_true(found, ConditionType.STALLED)
    assert "there is no ServiceAccount seawall-replay-verification" in why(found)[1]


def test_a_paused_cluster_begins_nothing_and_a_job_that_runs_goes_on() -> None:
    world = VerificationWorld()
    world.annotate(paused="true")
    world.start()
    found = world.settle_verification(ticks=10)
    assert (why(found)[0], found.status.stage, world.holds()) == ("Paused", None, [])
    world.annotate()
    world.slow = 10**6
    world.settle_verification(ticks=30)
    world.annotate(paused="true")
    world.slow = 0
    assert world.settle_verification().status.outcome is Outcome.PASSED
    assert world.holds() == []


def test_a_stalled_cluster_is_waited_for() -> None:
    world = VerificationWorld()
    cluster = world.cluster()
    stalled = {"type": "Stalled", "status": "True", "reason": "X", "message": "rf > brokers"}
    status = {
        **world.kube.raw_status(WAL, WALCluster),
        "conditions": [{**stalled, "lastTransitionTime": "2026-11-21T12:00:00Z"}],
    }
    world.kube.write_raw_status(cluster.metadata.key, WALCluster, status)
    world.start()
    found = world.settle_verification(ticks=10)
    assert why(found) == ("ClusterStalled", "WALCluster wal is Stalled: rf > brokers")


def test_a_hold_that_is_lost_before_the_job_begins_costs_the_attempt_only() -> None:
    world = VerificationWorld()
    world.spark.installed = False
    world.start()
    world.settle_verification(ticks=40)
    hold = world.kube.get(WALHold, FIRST)
    assert hold is not None
    world.kube.delete(hold)
    world.spark.installed = True
    found = world.settle_verification()
    assert (found.status.outcome, found.status.attempt) == (Outcome.PASSED, 2)


def test_a_name_that_somebody_else_took_ends_it_and_leaves_theirs_alone() -> None:
    world = VerificationWorld()
    world.hold("check-1", {"wal_0": 5})
    world.start()
    found = world.settle_verification()
    assert (why(found)[0], world.holds()) == ("NameTaken", ["check-1"])


def test_a_config_map_that_somebody_else_made_ends_it() -> None:
    world = VerificationWorld()
    world.kube.put_config_map(FIRST, {"a": "b"})
    world.start()
    found = world.settle_verification()
    assert (why(found)[0], world.holds()) == ("NameTaken", [])


def test_topics_that_no_region_writes_to_are_not_read() -> None:
    world = VerificationWorld()
    for topic, region in list(world.store.snapshot().region_keys):
        if topic == "wal_2":
            world.store.drop_region(topic, region)
            del world.data_plane.regions[region]
    world.start()
    found = world.settle_verification()
    assert [row.name for row in found.status.topics] == ["wal_0", "wal_1"]
    assert found.status.topic_counts is not None
    assert found.status.topic_counts.idle == 1
    assert found.status.stage is JobStage.COMPLETED


def test_a_topic_whose_regions_are_silent_is_waited_for_and_then_not_read() -> None:
    world = VerificationWorld()
    silent = next(region for (topic, region) in world.store.snapshot().region_keys if topic == "wal_2")
    del world.data_plane.regions[silent]
    world.foreign.add("wal_2")
    world.start()
    begun = world.time.time
    found = world.settle_verification()
    assert found.status.stage is JobStage.FAILED
    assert why(found)[0] == "NotAllRead"
    assert [(each.topic, each.reason) for each in found.status.not_read] == [("wal_2", "RegionMissing")]
    assert [row.verified for row in found.status.topics] == [True, True]
    assert world.time.time - begun >= timedelta(minutes=3)


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ({"topics": ["other_*"]}, "NoTopics"),
        ({"clusterRef": {"name": "nobody"}}, "ClusterMissing"),
        ({"level": "Equivalence"}, "InvalidSpec"),
        ({"spark": {"image": "x", "executors": 0}}, "InvalidSpec"),
    ],
)
def test_what_can_never_be_done_ends_at_once(spec: dict[str, Any], reason: str) -> None:
    world = VerificationWorld()
    world.start(**spec)
    found = world.settle_verification()
    assert (found.status.stage, why(found)[0]) == (JobStage.FAILED, reason)
    assert world.holds() == []


def test_it_goes_when_its_ttl_is_over() -> None:
    world = VerificationWorld()
    world.start(ttlSecondsAfterFinished=600)
    process = world.verifier()
    found = world.settle_verification(process)
    ticked = process.tick(CHECK)
    assert (found.status.outcome, ticked.outcome) == (Outcome.PASSED, Tick.WAITING)
    assert ticked.after is not None
    assert 500 < ticked.after <= 600
    world.time.time += timedelta(seconds=600)
    process.tick(CHECK)
    assert world.kube.get(WALVerification, CHECK) is None


def test_what_came_of_it_is_counted_once() -> None:
    world = VerificationWorld(dies=1)
    world.start()
    found = world.settle_verification()
    world.verifier().tick(CHECK)
    assert [status.outcome for status in world.meters.verifications] == [Outcome.PASSED]
    assert world.meters.verified == {WAL: found.status.verdict_time}


def test_a_hold_that_came_back_after_the_end_is_let_go_again() -> None:
    """An old process that slept before it placed the hold wakes up when all is over."""
    world = VerificationWorld()
    world.start()
    found = world.settle_verification()
    assert list(world.spark.applications) == [FIRST]  # it stays for its driver's log
    late = WALHoldSpec(cluster_ref=ClusterRef(name="wal"), topics={"wal_0": 1})
    world.kube.create(WALHold, FIRST, late, owner=found)
    world.settle_verification()
    assert world.holds() == []


def test_the_application_fits_restricted_pods_and_reads_its_secrets_in_the_driver_alone() -> None:
    world = VerificationWorld()
    world.start(report={"persistentVolumeClaim": "reports"})
    world.settle_verification()
    spec = world.spark.specs[FIRST]
    assert spec["arguments"][3] == "file:///reports/db/check-1.json"
    for part in ("driver", "executor"):
        pod = spec[part]["template"]["spec"]
        (container,) = pod["containers"]
        assert pod["securityContext"]["runAsNonRoot"]
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        assert not container["securityContext"]["allowPrivilegeEscalation"]
        mounts = [mount["name"] for mount in container["volumeMounts"]]
        assert mounts == [volume["name"] for volume in pod["volumes"]]
        assert ("request" in mounts) is (part == "driver")


def test_a_driver_that_cannot_be_placed_yet_is_no_reason_to_give_up() -> None:
    world = VerificationWorld(slow=10**6)
    world.start()
    world.settle_verification(ticks=30)
    world.spark.report(FIRST, "SUBMITTED", driver=Stuck("Unschedulable", "0/1 nodes are available"))
    world.settle_verification(ticks=2)
    found = world.verification()
    assert not is_true(found, ConditionType.STALLED)
    assert why(found)[0] == "DriverPending"
    world.spark.drivers.clear()
    world.spark.applications[FIRST] = replace(world.spark.applications[FIRST], state="RUNNING")
    world.slow = 0
    assert world.settle_verification().status.outcome is Outcome.PASSED
