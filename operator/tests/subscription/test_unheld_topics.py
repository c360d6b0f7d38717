"""A topic that cannot be held keeps no other from being copied."""

from __future__ import annotations

from dataclasses import replace

from seawall.api.meta import Key
from seawall.api.v1alpha1.hold import HoldState, WALHold
from seawall.api.v1alpha1.subscription_status import StopReason, SubscriptionState
from seawall.domain.ledger.observation import read_shards
from seawall.domain.ledger.shards import PoolId, shards_of
from tests.subscription.test_subscription import granted
from tests.worlds.purge_world import NAMESPACE, TOPICS
from tests.worlds.subscription_world import DR, SubscriptionWorld
from tests.worlds.verification_world import why

COPIED, MORE = 40, 175
FIRST = Key(NAMESPACE, "first")


def means_to_delete(world: SubscriptionWorld, topic: str, before: int) -> None:
    """A purge writes its intent, and nothing is deleted yet."""
    pool = PoolId(NAMESPACE, "fake-cluster", "wal")
    records = read_shards(world.intents.read(pool, shards_of([topic])))
    record = records.of_topics([topic])[topic]
    for number, shard in records.changed({topic: replace(record, intent=before)}).items():
        world.intents.write(pool, number, shard)


def claimed(world: SubscriptionWorld) -> set[str]:
    hold = world.kube.get(WALHold, DR)
    return set() if hold is None else set(hold.spec.topics)  # type: ignore[union-attr]


def state_of_first(world: SubscriptionWorld) -> HoldState | None:
    hold = world.kube.get(WALHold, FIRST)
    return None if hold is None else hold.status.state


def lost(world: SubscriptionWorld) -> None:
    """The target was away for too long; nothing is deleted meanwhile."""
    world.subscribe(lagBudget={"maxBytes": 16000})
    world.live(world.is_even)
    world.stride = 0
    world.write("wal_2", MORE)
    world.live(lambda: world.subscription().status.state is SubscriptionState.LOST and not world.spark.applications)
    world.stride = 25


def a_topic_without_a_leader_keeps_no_other_from_being_copied() -> None:
    """Nobody says from where on the source has it, so it has no place in the hold."""
    world = SubscriptionWorld()
    lost(world)
    world.kafka.topics["wal_1"].views_until_led = 10_000
    world.subscribe(resync="the target is back", lagBudget={"maxBytes": "1Mi"})
    world.write("wal_0", 5)
    world.write("wal_1", 5)
    world.live(lambda: granted(world) == {"wal_0": COPIED + 5, "wal_2": COPIED + MORE})
    found = world.live(lambda: why(world.subscription())[0] == "WaitingForHold")
    assert why(found)[1] == "nothing is copied of topic wal_1, which cannot be held now; the others go on"
    assert world.target.topics["wal_1"].log.end == COPIED
    world.kafka.topics["wal_1"].views_until_led = 0
    world.live(world.is_even)
    assert all(row.stopped is None for row in world.subscription().status.topics)


def what_is_held_no_more_for_a_while_ends_nothing_that_runs() -> None:
    """Somebody deletes the hold, and of one topic nobody says from where on it can be held: what copies goes on."""
    world = SubscriptionWorld()
    world.streaming()
    world.kafka.topics["wal_1"].views_until_led = 10_000
    world.kube.remove(DR, WALHold)
    world.live(lambda: granted(world) == {"wal_0": COPIED, "wal_2": COPIED})
    world.live(ticks=20)
    assert world.runs(1)
    world.kafka.topics["wal_1"].views_until_led = 0
    world.live(world.is_even)
    assert world.runs(1)


def what_runs_says_itself_that_something_is_gone() -> None:
    """It may be through before what a purge means to delete goes."""
    world = SubscriptionWorld()
    world.streaming()
    world.stride = 0
    world.write("wal_0", 30)
    world.kube.remove(DR, WALHold)
    means_to_delete(world, "wal_0", COPIED + 20)
    world.live(lambda: granted(world) == {"wal_1": COPIED, "wal_2": COPIED})
    world.live(ticks=20)
    world.stride = 25
    world.live(world.is_even)
    assert world.runs(1)


def chosen_again(world: SubscriptionWorld) -> None:
    """A topic that was left out for a while goes on from where it was, if it can be held."""
    world.streaming()
    world.subscribe(topics=["wal_0", "wal_1"])
    world.live(lambda: world.runs(2) and claimed(world) == {"wal_0", "wal_1"})
    world.write("wal_2", 30)
    world.subscribe(topics=["*"])


def claim_alone(world: SubscriptionWorld, topic: str) -> None:
    """It claims this one, and nobody has looked at that yet."""
    process = world.subscriber()
    for _ in range(20):
        process.tick(DR)
        if topic in claimed(world):
            break
    assert topic in claimed(world)
    assert topic not in granted(world)


def an_intent_that_is_written_before_the_grant_stops_its_topic_alone() -> None:
    """The claim was looked at before the intent was written: it is not granted any more, whoever waits."""
    world = SubscriptionWorld()
    chosen_again(world)
    claim_alone(world, "wal_2")
    means_to_delete(world, "wal_2", COPIED + 20)
    world.write("wal_0", 30)
    world.live(lambda: granted(world) == {"wal_0": COPIED + 30, "wal_1": COPIED})
    found = world.live(lambda: why(world.subscription())[0] == "TopicsStopped")
    assert {row.name: row.stopped for row in found.status.topics if row.stopped} == {"wal_2": StopReason.SOURCE_GAP}
    assert "wal_2 is at 40, and up to 60 it may be deleted by what was decided before" in why(found)[1]
    assert world.runs(2)


def a_leader_that_goes_before_the_grant_keeps_no_other_waiting() -> None:
    """A claim is granted as a whole: it is given up, until somebody says from where on the topic can be held."""
    world = SubscriptionWorld()
    chosen_again(world)
    claim_alone(world, "wal_2")
    world.kafka.topics["wal_2"].views_until_led = 10_000
    world.write("wal_0", 30)
    world.live(lambda: granted(world) == {"wal_0": COPIED + 30, "wal_1": COPIED})
    assert world.runs(2)
    world.kafka.topics["wal_2"].views_until_led = 0
    world.live(world.is_even)


def a_new_topic_whose_leader_goes_before_the_grant_keeps_no_other_waiting() -> None:
    """It was never copied."""
    world = SubscriptionWorld()
    world.subscribe(topics=["wal_0", "wal_1"])
    world.live(lambda: world.runs(1) and granted(world) == {"wal_0": COPIED, "wal_1": COPIED})
    world.subscribe(topics=["*"])
    claim_alone(world, "wal_2")
    world.kafka.topics["wal_2"].views_until_led = 10_000
    world.write("wal_0", 30)
    world.live(lambda: granted(world) == {"wal_0": COPIED + 30, "wal_1": COPIED})
    world.kafka.topics["wal_2"].views_until_led = 0
    world.live(world.is_even)


def a_claim_outlives_a_moment_without_a_leader() -> None:
    """Purges go by a claim that is not granted, too: without it what the copy lacks might go between two ticks."""
    world = SubscriptionWorld()
    world.streaming()
    world.foreign.add("wal_2")
    world.kafka.topics["wal_2"].log.delete_before(COPIED)
    world.kube.remove(DR, WALHold)
    world.live(lambda: claimed(world) == set(TOPICS))
    world.live(ticks=30)
    assert not granted(world), "somebody else deletes from a topic of the claim"
    claims: set[frozenset[str]] = set()
    world.kafka.topics["wal_0"].views_until_led = 6

    def notes_the_claim() -> bool:
        claims.add(frozenset(claimed(world)))
        return False

    world.live(notes_the_claim, ticks=30)
    assert world.kafka.topics["wal_0"].views_until_led == 0
    assert claims == {frozenset(TOPICS)}


def a_topic_from_which_somebody_else_deletes_keeps_no_other_from_being_copied() -> None:
    """No hold on it is granted until a person readopts, and nothing of it was copied yet."""
    world = SubscriptionWorld()
    world.subscribe(topics=["wal_0"])
    world.live(lambda: granted(world) == {"wal_0": COPIED})
    world.hold("first", {"wal_1": 0})
    world.live(lambda: state_of_first(world) is HoldState.ACTIVE)
    world.kube.remove(FIRST, WALHold)
    world.foreign.add("wal_1")
    world.kafka.topics["wal_1"].log.delete_before(10)
    world.subscribe(topics=["*"])
    world.live(lambda: granted(world) == {"wal_0": COPIED, "wal_2": COPIED})
    found = world.live(lambda: world.runs(2) and why(world.subscription())[0] == "WaitingForHold")
    assert "nothing is copied yet of topic wal_1: somebody else deletes from topic wal_1" in why(found)[1]


def an_intent_that_was_written_before_stops_its_topic_alone() -> None:
    """It is not even claimed."""
    world = SubscriptionWorld()
    chosen_again(world)
    means_to_delete(world, "wal_2", COPIED + 20)
    world.live(lambda: why(world.subscription())[0] == "TopicsStopped")
    world.write("wal_0", 30)
    world.live(lambda: granted(world) == {"wal_0": COPIED + 30, "wal_1": COPIED})
    assert world.runs(2)


def a_topic_that_is_chosen_again_goes_on() -> None:
    world = SubscriptionWorld()
    chosen_again(world)
    world.live(world.is_even)
    assert world.runs(3)


def test_a_topic_without_a_leader() -> None:
    a_topic_without_a_leader_keeps_no_other_from_being_copied()


def test_what_is_held_no_more_for_a_while() -> None:
    what_is_held_no_more_for_a_while_ends_nothing_that_runs()


def test_what_runs_says_itself_that_something_is_gone() -> None:
    what_runs_says_itself_that_something_is_gone()


def test_an_intent_that_is_written_before_the_grant() -> None:
    an_intent_that_is_written_before_the_grant_stops_its_topic_alone()


def test_a_leader_that_goes_before_the_grant() -> None:
    a_leader_that_goes_before_the_grant_keeps_no_other_waiting()


def test_a_new_topic_whose_leader_goes_before_the_grant() -> None:
    a_new_topic_whose_leader_goes_before_the_grant_keeps_no_other_waiting()


def test_a_claim_and_a_moment_without_a_leader() -> None:
    a_claim_outlives_a_moment_without_a_leader()


def test_a_topic_from_which_somebody_else_deletes() -> None:
    a_topic_from_which_somebody_else_deletes_keeps_no_other_from_being_copied()


def test_an_intent_that_was_written_before() -> None:
    an_intent_that_was_written_before_stops_its_topic_alone()


def test_a_topic_that_is_chosen_again() -> None:
    a_topic_that_is_chosen_again_goes_on()
