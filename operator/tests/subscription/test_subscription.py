"""Stories of WALSubscriptions on the in-memory ports: what is copied, what is kept for it, and what stops."""

from __future__ import annotations

import json
from typing import Any

from seawall.api.meta import ConditionType, Key
from seawall.api.v1alpha1.hold import HoldState, WALHold
from seawall.api.v1alpha1.subscription import WALSubscription
from seawall.api.v1alpha1.subscription_status import StopReason, SubscriptionState
from seawall.domain.conditions import find_condition
from seawall.domain.kafka import NoKafka, Unreachable
from seawall.domain.ledger.ledger import plan
from seawall.domain.ledger.observation import Observation
from seawall.domain.ledger.page import topic_lines
from seawall.domain.spark_job.application import Stuck
from tests.worlds.purge_world import NAMESPACE, TOPICS
from tests.worlds.subscription_world import DECLARED, DR, TARGET, SubscriptionWorld
from tests.worlds.verification_world import why

GUARDED = {
    "cleanup.policy": "delete",
    "retention.ms": "-1",
    "retention.bytes": "-1",
    "message.timestamp.type": "CreateTime",
    "min.insync.replicas": "2",
}
SUBSCRIPTION = ("WALSubscription", DR)


def condition(found: WALSubscription, kind: ConditionType) -> tuple[str, str]:
    at = find_condition(found.status.conditions, kind)
    assert at is not None
    return at.status, at.reason


def granted(world: SubscriptionWorld) -> dict[str, Any]:
    hold = world.kube.get(WALHold, DR)
    assert hold is not None
    return dict(hold.status.granted)


def reasons(world: SubscriptionWorld) -> list[str]:
    return [event.reason for event in world.kube.events]


def test_a_mirror_begins_at_the_log_start_and_catches_up() -> None:
    world = SubscriptionWorld()
    found = world.streaming()
    assert why(found) == ("Streaming", "3 topics are copied to dr")
    assert {name: topic.log.end for name, topic in world.target.topics.items()} == dict.fromkeys(TOPICS, 40)
    assert granted(world) == dict.fromkeys(TOPICS, 40)
    for topic in world.target.topics.values():
        assert {key: topic.configs[key] for key in GUARDED} == GUARDED
        assert len(topic.replicas) == 3
    assert found.status.target_cluster_id == "fake-target"
    assert condition(found, ConditionType.STREAMING) == ("True", "Streaming")
    assert condition(found, ConditionType.HELD)[0] == "True"
    assert world.meters.subscriptions[DR] == (found.status, 2**20)


def test_of_a_log_that_was_purged_the_copy_begins_where_it_starts() -> None:
    world = SubscriptionWorld()
    world.write("wal_0", 20)
    world.purged("wal_0", 12)
    world.streaming()
    (request,) = world.requests()
    assert {topic["name"]: topic["from"] for topic in request["topics"]} == {"wal_0": 12, "wal_1": 0, "wal_2": 0}
    assert world.target.topics["wal_0"].log.end == 60


def test_nothing_is_made_or_read_before_the_hold_is_granted() -> None:
    world = SubscriptionWorld(auto_prune="Physical")  # it deletes through any hold, so none is granted
    world.subscribe()
    found = world.live(ticks=40)
    assert (world.target.topics, world.spark.specs) == ({}, {})
    assert found.status.state is SubscriptionState.HOLDING


def test_what_is_not_copied_is_held_and_a_purge_stops_for_it() -> None:
    world = SubscriptionWorld()
    world.streaming()
    world.stride = 0
    world.write("wal_0", 30)
    world.live(ticks=60)
    assert granted(world)["wal_0"] == 40
    world.stride = 7
    world.live(world.is_even)
    assert granted(world)["wal_0"] == 70


def test_a_hold_moves_every_half_minute_and_not_with_each_record() -> None:
    world = SubscriptionWorld()
    world.streaming()
    before = reasons(world).count("HoldMoved")
    for _ in range(60):
        world.write("wal_0", 1)
        world.live(ticks=1)
    assert 5 <= reasons(world).count("HoldMoved") - before <= 10


def test_a_dead_target_is_at_risk_then_lost_and_resync_brings_it_back() -> None:
    world = SubscriptionWorld()
    world.subscribe(lagBudget={"maxBytes": 16000})
    world.live(world.is_even)
    world.stride = 0
    world.write("wal_0", 135)
    found = world.live(lambda: condition(world.subscription(), ConditionType.WITHIN_BUDGET)[1] == "AtRisk")
    assert found.status.state is SubscriptionState.LAGGING
    world.write("wal_0", 40)
    found = world.live_until(SubscriptionState.LOST)
    assert why(found)[0] == "Lost"
    assert condition(found, ConditionType.WITHIN_BUDGET) == ("False", "Lost")
    found = world.live(ticks=60)
    assert (found.status.state, world.spark.applications) == (SubscriptionState.LOST, {})
    assert [reason for reason in reasons(world) if reason in {"AtRisk", "Lost"}] == ["AtRisk", "Lost", "Lost"]
    world.purged("wal_0", 120)
    world.stride = 50
    world.subscribe(resync="after the outage")
    found = world.live(lambda: world.runs(2))
    stops = {row.name: row.stopped for row in found.status.topics}
    assert stops == {"wal_0": StopReason.SOURCE_GAP, "wal_1": None, "wal_2": None}
    world.lose_target("wal_0")
    world.subscribe(resync="deleted the topic")
    found = world.live(world.is_even)
    assert [row.start for row in sorted(found.status.topics, key=lambda row: row.name)] == [120, 0, 0]


def test_a_stopped_topic_uses_up_the_budget_and_the_others_go_on_without_it() -> None:
    world = SubscriptionWorld()
    world.subscribe(lagBudget={"maxBytes": 16000})
    world.live(world.is_even)
    world.diverged = {"wal_0"}
    world.live(lambda: world.runs(2))
    world.write("wal_0", 200)
    world.live(lambda: "wal_0" not in granted(world) if world.kube.get(WALHold, DR) else False)
    world.write("wal_1", 30)
    found = world.live(lambda: granted(world) == {"wal_1": 70, "wal_2": 40})
    assert found.status.state is SubscriptionState.STOPPED
    assert world.target.topics["wal_1"].log.end == 70


def test_a_topic_that_is_made_again_stops_alone_and_the_others_are_held_anew() -> None:
    world = SubscriptionWorld()
    world.streaming()
    world.recreate("wal_1")
    found = world.live(lambda: any(row.stopped for row in world.subscription().status.topics))
    world.write("wal_0", 30)
    found = world.live(lambda: granted(world) == {"wal_0": 70, "wal_2": 40} if world.kube.get(WALHold, DR) else False)
    stops = {row.name: row.stopped for row in found.status.topics}
    assert stops == {"wal_0": None, "wal_1": StopReason.IDENTITY_FENCE_BROKEN, "wal_2": None}
    assert found.status.state is SubscriptionState.STOPPED
    assert why(found)[1].startswith("1 of 3 topics stopped, the others go on: wal_1")
    assert world.target.topics["wal_0"].log.end == 70
    assert [topic["name"] for topic in world.requests()[-1]["topics"]] == ["wal_0", "wal_2"]


def test_a_topic_of_the_target_is_never_made_again_by_itself() -> None:
    world = SubscriptionWorld()
    world.streaming()
    world.lose_target("wal_2")
    found = world.live(lambda: any(row.stopped for row in world.subscription().status.topics))
    world.live(ticks=60)
    assert "wal_2" not in world.target.topics
    world.subscribe(resync="1")
    found = world.live(world.is_even)
    assert [row.stopped for row in found.status.topics] == [None, None, None]


def test_a_topic_with_records_of_others_is_not_written_to() -> None:
    world = SubscriptionWorld()
    world.target.add_topic("wal_0", replicas=(1, 2, 3)).log.append(5)
    world.subscribe()
    found = world.live(lambda: world.subscription().status.state is SubscriptionState.STOPPED)
    found = world.live(ticks=60)
    (stop,) = [row for row in found.status.topics if row.stopped is not None]
    assert (stop.name, stop.stopped, stop.target_id) == ("wal_0", StopReason.TARGET_NOT_EMPTY, None)
    assert world.target.topics["wal_0"].log.end == 5
    assert world.target.topics["wal_1"].log.end == 40
    assert "TargetNotEmpty" in reasons(world)


def test_what_the_job_finds_to_differ_stops_for_good() -> None:
    world = SubscriptionWorld()
    world.streaming()
    world.diverged = {"wal_0"}
    found = world.live_until(SubscriptionState.STOPPED)
    found = world.live(ticks=30)
    assert {row.name: row.stopped for row in found.status.topics}["wal_0"] is StopReason.DIVERGED
    assert [row.reason for row in found.status.worst] == [StopReason.DIVERGED]
    assert found.status.counts is not None
    assert (found.status.counts.total, found.status.counts.stopped) == (3, 1)


def test_an_empty_topic_of_the_target_becomes_ours_and_is_guarded() -> None:
    world = SubscriptionWorld()
    world.target.add_topic("wal_0", replicas=(1, 2, 3), configs={"retention.ms": "1000"})
    world.streaming()
    assert {key: world.target.topics["wal_0"].configs[key] for key in GUARDED} == GUARDED


def test_retention_that_somebody_sets_on_the_target_is_mended() -> None:
    world = SubscriptionWorld()
    world.streaming()
    world.target.topics["wal_0"].configs["retention.ms"] = "1000"
    world.live(lambda: world.target.topics["wal_0"].configs["retention.ms"] == "-1")
    assert "ConfigsRepaired" in reasons(world)


def test_suspended_it_copies_nothing_and_the_source_keeps_the_rest() -> None:
    world = SubscriptionWorld()
    world.streaming()
    world.subscribe(suspend=True)
    found = world.live_until(SubscriptionState.STOPPED)
    world.write("wal_0", 10)
    found = world.live(ticks=60)
    assert (why(found)[0], world.spark.applications) == ("Suspended", {})
    assert (granted(world)["wal_0"], world.target.topics["wal_0"].log.end) == (40, 40)
    world.subscribe(suspend=False)
    world.live(world.is_even)


def test_a_pool_that_grows_is_copied_too_in_a_run_of_its_own() -> None:
    world = SubscriptionWorld()
    world.streaming()
    world.grow("wal_3")
    found = world.live(lambda: world.target.topics.keys() == {*TOPICS, "wal_3"} and len(world.requests()) == 2)
    assert found.status.run is not None
    assert found.status.run.number == 2
    assert len(world.spark.applications) <= 1


def test_another_image_is_another_run_and_the_producer_stays() -> None:
    world = SubscriptionWorld()
    world.streaming()
    world.declare({**DECLARED, "spark": {"image": "wal-subscription:2"}})
    world.live(lambda: [spec["image"] for spec in world.spark.specs.values()][-1] == "wal-subscription:2")
    first, second = world.requests()
    assert (first["producer"], first["topics"]) == (second["producer"], second["topics"])
    assert world.target.producer_ids == 1


def test_a_driver_that_dies_begins_again_by_itself() -> None:
    world = SubscriptionWorld()
    world.dies = 3
    world.streaming()
    assert len(world.spark.specs) == 1


def test_a_word_about_another_request_counts_for_nothing() -> None:
    world = SubscriptionWorld()
    world.streaming()
    stop = {"topic": "wal_0", "reason": "Diverged", "offset": 1, "message": ""}
    world.foreign_words = [
        f'{{"version": 1, "requestDigest": "{"0" * 64}", "outcome": "Stopped", "stopped": [{_json(stop)}]}}'
    ]
    found = world.live(lambda: why(world.subscription())[0] == "ApplicationOver")
    assert all(row.stopped is None for row in found.status.topics)
    world.live(world.is_even)


def test_a_job_that_refuses_is_tried_again_after_a_while() -> None:
    world = SubscriptionWorld()
    world.streaming()
    _, digest = world.request_of(Key(NAMESPACE, "dr-1")) or ({}, "")
    world.foreign_words = [
        f'{{"version": 1, "requestDigest": "{digest}", "outcome": "Refused", "message": "no right to read"}}'
    ]
    found = world.live(lambda: why(world.subscription())[0] == "RequestRefused")
    assert why(found)[1] == "no right to read"
    world.live(world.is_even)


def test_a_driver_that_cannot_start_is_reported() -> None:
    world = SubscriptionWorld()
    world.subscribe()
    world.spark_operator_runs = False
    world.live(lambda: bool(world.spark.applications))
    (key,) = world.spark.applications
    world.spark.report(key, "SUBMITTED", driver=Stuck("ImagePullBackOff", "no such image"))
    found = world.live(lambda: why(world.subscription())[0] == "DriverCannotStart")
    assert found.status.state is SubscriptionState.HOLDING


def test_it_lags_when_it_is_behind_for_a_minute() -> None:
    world = SubscriptionWorld()
    world.streaming()
    world.stride = 0
    world.write("wal_2", 3)
    process = world.subscriber()  # one that starts anew does not know since when
    found = world.live_until(SubscriptionState.LAGGING, process)
    assert found.status.lag is not None
    assert found.status.lag.entries == 3
    assert found.status.lag.seconds >= 60
    assert [(row.topic, row.applied, row.source_end) for row in found.status.worst] == [("wal_2", 40, 43)]
    assert condition(found, ConditionType.READY) == ("False", "Lagging")
    world.stride = 9
    world.live(world.is_even)


def test_the_hold_of_a_target_that_does_not_answer_is_renewed() -> None:
    world = SubscriptionWorld()
    world.streaming()
    world.target.unreachable = NoKafka(Unreachable.NOT_ANSWERING, "No broker of Kafka answered.")
    world.subscribe(lagBudget={"maxBytes": "1Ti"})
    found = world.live(ticks=250, waits=1200.0)
    hold = world.kube.get(WALHold, DR)
    assert hold is not None
    assert hold.status.state in {HoldState.ACTIVE, HoldState.EXTENDED}
    assert "HoldLost" not in reasons(world)
    assert why(found)[0] == "TargetUnreachable"
    world.target.unreachable = None
    world.live(world.is_even)


def test_a_hold_that_somebody_deletes_is_placed_again() -> None:
    world = SubscriptionWorld()
    world.streaming()
    world.kube.remove(DR, WALHold)
    world.live(world.is_even)
    assert len(world.spark.specs) == 1


def test_the_ledger_names_the_subscription_as_the_holder_and_how_far_it_is_behind() -> None:
    world = SubscriptionWorld()
    world.streaming()
    world.stride = 0
    for topic in TOPICS:
        world.purged(topic, 1)
    world.write("wal_0", 30)
    for region in world.data_plane.regions:
        world.flush(region)
    observed = world.observer().observe(world.cluster())
    assert isinstance(observed, Observation)
    (line,) = [each for each in topic_lines(plan(observed.assessment.inputs)) if each.name == "wal_0"]
    assert (line.held_by, line.hold_lag_entries) == ("WALHold dr of WALSubscription dr", 30)


def test_what_is_deleted_needs_nothing() -> None:
    world = SubscriptionWorld()
    world.streaming()
    world.kube._objects[SUBSCRIPTION]["metadata"]["finalizers"] = ["somebody.else/keeps"]
    world.kube.remove(DR, WALSubscription)
    before = dict(world.spark.specs)
    world.live(ticks=20)
    assert world.spark.specs == before
    assert {name: topic.log.end for name, topic in world.target.topics.items()} == dict.fromkeys(TOPICS, 40)


def test_the_target_must_not_be_the_source() -> None:
    world = SubscriptionWorld()
    world.target.cluster_id = "fake-cluster"
    assert refusal(world) == "TargetIsSource"


def test_another_target_than_the_first_is_not_written_to() -> None:
    world = SubscriptionWorld()
    world.streaming()
    world.target.cluster_id = "another"
    world.live(lambda: why(world.subscription())[0] == "OtherTarget")


def test_what_the_wal_cluster_does_not_declare_does_not_run() -> None:
    world = SubscriptionWorld(declared=None)
    assert refusal(world) == "TargetNotDeclared"
    world = SubscriptionWorld(declared={**DECLARED, "targets": [{**TARGET, "name": "elsewhere"}]})
    assert refusal(world) == "TargetNotDeclared"
    world = SubscriptionWorld()
    assert refusal(world, spark={"image": "mine:1"}) == "SparkNotAllowed"


def test_bad_input_is_refused_in_one_word() -> None:
    assert refusal(SubscriptionWorld(), topics=["other_*"]) == "NothingSelected"
    assert refusal(SubscriptionWorld(), clusterRef={"name": "nobody"}) == "ClusterMissing"
    kafka = {"bootstrapServers": ["dr:9092"], "sasl": {"credentialsSecretRef": {"name": "user"}}}
    secret = {**TARGET, "kafka": kafka}
    world = SubscriptionWorld(declared={**DECLARED, "targets": [secret]})
    assert refusal(world) == "TargetAccess"
    world = SubscriptionWorld()
    world.kube.apply(DR, {"clusterRef": {"name": "wal"}, "topics": {DR.name: 0}}, kind=WALHold)
    assert refusal(world) == "NameTaken"
    world = SubscriptionWorld()
    world.target.brokers = (1,)
    assert refusal(world) == "TooFewBrokers"


def test_a_target_that_forgets_producers_while_connections_stay_open_is_refused() -> None:
    world = SubscriptionWorld()
    world.target.broker_configs["producer.id.expiration.ms"] = "600000"
    assert refusal(world) == "TargetUnsafe"
    found = world.subscription()
    assert why(found)[1] == (
        "broker 1 of the target forgets producers after producer.id.expiration.ms=600000, and closes idle connections "
        "only after connections.max.idle.ms=600000: that must be less"
    )
    assert condition(found, ConditionType.TARGET_SAFE) == ("False", "ForgetsTooSoon")
    assert world.holds() == []
    world.target.broker_configs["producer.id.expiration.ms"] = "600001"
    assert condition(world.live(world.is_even), ConditionType.TARGET_SAFE) == ("True", "ForgetsLate")
    world.target.broker_configs["connections.max.idle.ms"] = "-1"
    found = world.live(lambda: condition(world.subscription(), ConditionType.TARGET_SAFE)[0] == "False", ticks=60)
    assert (found.status.state, reasons(world)[-1]) == (SubscriptionState.STREAMING, "ForgetsTooSoon")


def test_a_target_that_does_not_tell_of_its_brokers_is_used_and_that_is_said() -> None:
    world = SubscriptionWorld()
    world.target.refuses_brokers = "Broker: Cluster authorization failed"
    found = world.streaming()
    assert condition(found, ConditionType.TARGET_SAFE) == ("Unknown", "BrokersUnknown")
    world = SubscriptionWorld()
    world.target.broker_configs.pop("producer.id.expiration.ms")
    assert condition(world.streaming(), ConditionType.TARGET_SAFE) == ("Unknown", "BrokersUnknown")


def test_a_pause_begins_nothing_and_stops_nothing() -> None:
    world = SubscriptionWorld()
    world.annotate(paused="true")
    world.subscribe()
    found = world.live(ticks=20)
    assert (why(found)[0], world.holds(), world.spark.specs) == ("Paused", [], {})
    world.annotate()
    world.live(world.is_even)
    world.annotate(paused="true")
    world.write("wal_0", 5)
    world.live(ticks=60)
    assert world.target.topics["wal_0"].log.end == 45


def test_a_request_that_somebody_forges_is_not_worked_on_again() -> None:
    world = SubscriptionWorld()
    world.streaming()
    world.kube.remove_config_map(Key(NAMESPACE, "dr-1"))
    world.kube.put_config_map(Key(NAMESPACE, "dr-1"), {"somebody": "else"})
    found = world.live(lambda: why(world.subscription())[0] == "NameTaken")
    assert found.status.run is not None
    assert found.status.run.number == 1


def test_numbers_are_written_every_half_minute() -> None:
    world = SubscriptionWorld()
    world.streaming()
    measured = set()
    for _ in range(60):
        world.write("wal_0", 1)
        measured.add(world.live(ticks=1).status.measured_time)
    assert 5 <= len(measured) <= 11


def test_a_process_that_starts_anew_goes_on() -> None:
    world = SubscriptionWorld()
    world.subscribe()
    for _ in range(200):
        world.live(process=world.subscriber(), ticks=1)
    assert world.is_even()
    assert len(world.spark.specs) == 1


def refusal(world: SubscriptionWorld, **spec: Any) -> str:
    """The reason of Ready after a while, in which nothing was made."""
    world.subscribe(**spec)
    found = world.live(ticks=30)
    assert (world.spark.specs, world.target.topics) == ({}, {})
    return why(found)[0]


def _json(body: dict[str, Any]) -> str:
    return json.dumps(body)
