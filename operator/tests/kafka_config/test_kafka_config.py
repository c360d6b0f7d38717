"""Configs that a managed Kafka takes while it runs: set, repaired, taken back, refused, and nobody is restarted."""

from __future__ import annotations

import pytest

from seawall.api.meta import PAUSED_ANNOTATION
from seawall.domain.conditions import Outlook
from seawall.domain.kafka import NoKafka, Unreachable
from seawall.domain.kafka_config.decide import standing
from seawall.domain.managed_kafka.objects import ObjectKind
from seawall.domain.managed_kafka.properties import server_properties
from tests.worlds.kafka_config_world import CONFIG, FOREIGN, KEPT, LARGEST, KafkaConfigWorld
from tests.worlds.managed_world import WAL

DYNAMIC = {LARGEST: "2000000", KEPT: "50000000"}


@pytest.fixture
def world() -> KafkaConfigWorld:
    return brought_up()


def brought_up() -> KafkaConfigWorld:
    found = KafkaConfigWorld()
    found.live(until=found.is_applied)
    found.check("")
    return found


def templates(world: KafkaConfigWorld) -> dict[str, object]:
    return {
        key.name: manifest.body["spec"]["template"]
        for (kind, key), manifest in world.objects.made.items()
        if kind is ObjectKind.STATEFUL_SET
    }


def test_what_brokers_take_while_they_run_is_set_and_the_rest_stands_in_their_files(world: KafkaConfigWorld) -> None:
    assert world.kafka.defaults == DYNAMIC
    assert world.recorded() == (KEPT, LARGEST)
    assert world.told() == ("True", "ConfigApplied", f"all brokers have {KEPT}, {LARGEST} as declared")
    node = world.nodes[0]
    properties = server_properties(node.cluster, node.kafka, node.id, node.pool)
    assert {key: properties.get(key) for key in CONFIG} == {KEPT: None, LARGEST: None, "num.io.threads": "4"}


def test_an_edit_is_set_and_restarts_nobody(world: KafkaConfigWorld) -> None:
    before = templates(world)
    world.set_config(message_max_bytes="3000000", log_segment_bytes="50000000")
    world.live(until=lambda: world.kafka.defaults[LARGEST] == "3000000")
    world.live(until=world.is_applied)
    assert templates(world) == before
    assert world.says("AllOnline")
    said = [event.message for event in world.kube.events if event.reason == "KafkaConfigChanged"]
    assert said[-1] == f"All brokers: {LARGEST} 2000000 → 3000000"


def test_what_leaves_the_spec_is_taken_back_and_what_others_set_stays(world: KafkaConfigWorld) -> None:
    world.set_default(*FOREIGN)
    world.set_config()
    world.live(until=lambda: not world.recorded())
    assert world.kafka.defaults == dict([FOREIGN])
    assert world.told() is None, "nothing is declared any more"
    assert world.found().status.kafka_config is None


def test_min_insync_replicas_goes_back_to_what_it_is_without_a_word(world: KafkaConfigWorld) -> None:
    """Kafka refuses to take it back; its file does nothing, once Kafka has formed."""
    key = "min.insync.replicas"
    world.kafka.defaults[key] = world.had[key] = "2"  # Kafka's own, of its first start
    world.set_config(min_insync_replicas="1")
    world.live(until=lambda: world.kafka.defaults[key] == "1")
    world.stale = 0  # what goes back is no more declared, and set all the same
    world.set_config()
    world.live(until=lambda: not world.recorded())
    assert world.kafka.defaults == {key: "2"}


def test_what_somebody_changed_is_set_again(world: KafkaConfigWorld) -> None:
    world.set_default(LARGEST, "5")
    world.set_default(KEPT, None)
    world.live(until=world.is_applied)
    assert world.kafka.defaults == DYNAMIC


def test_another_form_of_the_same_value_is_left(world: KafkaConfigWorld) -> None:
    world.set_default(LARGEST, " 02000000")
    asked = world.kafka.requests["alter_default_configs"]
    world.live()
    assert world.kafka.requests["alter_default_configs"] == asked


def test_a_refusal_is_told_in_kafkas_words_and_ends_with_an_edit(world: KafkaConfigWorld) -> None:
    world.set_config(message_max_bytes="much", log_segment_bytes="60000000")
    world.live()
    told = world.told()
    assert told is not None
    assert told[:2] == ("False", "ChangeRefused")
    assert "Invalid value much for configuration message.max.bytes" in told[2]
    assert world.kafka.defaults == DYNAMIC, "all, or none"
    verdict = standing(world.found())
    assert verdict is not None
    assert (verdict.outlook, verdict.reason) == (Outlook.STALLED, "ChangeRefused")
    world.set_config(log_segment_bytes="60000000")
    world.live(until=world.is_applied)
    assert world.kafka.defaults == {KEPT: "60000000"}
    assert standing(world.found()) is None


def test_a_kafka_that_does_not_answer_or_is_another_one_is_not_changed(world: KafkaConfigWorld) -> None:
    world.set_config(message_max_bytes="3000000")
    world.kafka.unreachable = NoKafka(Unreachable.NOT_ANSWERING, "nobody")
    world.live(ticks=40)
    assert world.told() is not None
    world.kafka.unreachable = None
    own, world.kafka.cluster_id = world.kafka.cluster_id, "another"
    config = world.config()
    for _ in range(3):
        config.tick(WAL)
    assert world.told() == ("Unknown", "NotAsked", "another Kafka answers, of id another")
    assert world.kafka.defaults == DYNAMIC
    world.kafka.cluster_id = own
    world.live(until=world.is_applied)


def test_what_a_broker_has_of_its_own_is_left_and_told_with_the_command_that_ends_it(world: KafkaConfigWorld) -> None:
    broker = min(world.kafka.brokers)
    world.kafka.overrides = {broker: {LARGEST: "1000", KEPT: DYNAMIC[KEPT], FOREIGN[0]: FOREIGN[1]}}
    world.live(until=lambda: (world.told() or ("",))[0] == "False")
    told = world.told()
    assert told is not None
    said = (
        f"broker {broker} has {LARGEST}=1000 of its own, which wins; take it back: kafka-configs --bootstrap-server …"
    )
    assert told[1:] == (
        "ConfigOverridden",
        f"{said} --alter --entity-type brokers --entity-name {broker} --delete-config {LARGEST}",
    )
    verdict = standing(world.found())
    assert verdict is not None
    assert verdict.outlook is Outlook.STALLED
    assert world.kafka.defaults == DYNAMIC
    world.kafka.overrides = {}
    world.live(until=world.is_applied)


def test_a_paused_one_changes_nothing(world: KafkaConfigWorld) -> None:
    world.set_config(message_max_bytes="3000000")
    world.kube.apply(WAL, world.spec, annotations={PAUSED_ANNOTATION: "true"})
    world.live()
    assert world.kafka.defaults == DYNAMIC
    told = world.told()
    assert told is not None
    assert told[:2] == ("Unknown", "Paused")
