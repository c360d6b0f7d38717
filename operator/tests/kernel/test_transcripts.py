"""What the operator does of each kind, tick by tick, as reviewed texts: `golden/transcripts`.

Whole runs in the worlds on the in-memory ports, and each controller while its next action fails and when it works
again. UPDATE_GOLDEN=1 writes them anew (make golden).
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from seawall.api.meta import Key
from seawall.controllers.brokers import BrokersController
from seawall.controllers.ledger import LedgerWatch
from seawall.domain.errors import SeawallError
from seawall.observe.shared_brokers import BrokersObserver
from seawall.reconciler import Outcome, Reconciler
from tests.brokers import test_brokers
from tests.datanodes import test_restart_crash as restarts
from tests.fakes.kafka import FakeKafkaClusters
from tests.fakes.meters import FakeMeters
from tests.hold import test_wal_hold as hold_world
from tests.kernel import test_crash_at_every_call as cluster_world
from tests.kernel.failure_scenes import SCENES, Scene
from tests.kernel.test_failed_actions import REFUSED, UNANSWERED
from tests.policy import test_purge_policy_world as policy_world
from tests.reassignment import test_reassignment_crash as reassignments
from tests.support.clock import START
from tests.support.golden import GOLDEN, IS_UPDATE, compare_text
from tests.support.mortal import DeathRow
from tests.support.refusals import Refusal
from tests.support.transcript import Transcript
from tests.verification import test_verification_schedule as schedule_world
from tests.worlds import (
    backup_world,
    kafka_roll_world,
    managed_world,
    purge_world,
    restore_world,
    subscription_world,
    verification_world,
)

pytestmark = pytest.mark.usefixtures("quiet")

TRIES = 3
"""How often an action fails."""
AFTERWARDS = 6
"""Looks after that."""


def guarded(transcript: Transcript) -> DeathRow:
    """Where a world asks for a row of deaths, none of which comes."""
    row: Any = transcript
    return row  # type: ignore[no-any-return]


# --- topics


def cluster(scenario: Callable[[cluster_world.World], None]) -> Callable[[Transcript], None]:
    def story(transcript: Transcript) -> None:
        world = cluster_world.new_world()
        scenario(world)
        world.settle(guarded(transcript))

    return story


# --- purges, holds, policies


def purge(auto_prune: str = "Disabled", *, rows_later: int = 0) -> Callable[[Transcript], None]:
    def story(transcript: Transcript) -> None:
        world = purge_world.World(auto_prune=auto_prune)
        world.hold("reader", {"wal_1": 5})
        world.start_run()
        process = world.process(transcript)
        world.settle(process)
        if not rows_later:
            return
        transcript.say("the database writes, and another run begins")
        for topic in purge_world.TOPICS:
            world.write(topic, rows_later)
        key = Key(purge_world.NAMESPACE, "later-0")
        world.start_run(key)
        world.settle(process, key=key)

    return story


def hold(transcript: Transcript) -> None:
    """Granted, renewed, not observed for a while, about to expire, lost."""
    world = purge_world.World()
    hold_world.place(world, topics={"wal_0": 3})
    process = hold_world.granter(world, transcript)
    hold_world.settle(world, process)
    transcript.say("its owner renews it")
    hold_world.place(world, topics={"wal_0": 4}, renewTime=(world.time.now() + timedelta(hours=1)).isoformat())
    world.time.time += timedelta(hours=1)
    hold_world.settle(world, process)
    for hours in (20, 3, 5, 3, 3, 3, 3):
        transcript.say(f"{hours} h pass")
        world.time.time += timedelta(hours=hours)
        hold_world.settle(world, process)


def overtaken_hold(transcript: Transcript) -> None:
    """Somebody else deletes what it keeps."""
    world = purge_world.World()
    hold_world.place(world, topics={"wal_0": 3, "wal_1": 5})
    process = hold_world.granter(world, transcript)
    hold_world.settle(world, process)
    transcript.say("somebody deletes records of wal_0")
    world.foreign.add("wal_0")
    world.kafka.topics["wal_0"].log.delete_before(10)
    hold_world.settle(world, process)


def policy(scenario: Callable[[policy_world.World], None]) -> Callable[[Transcript], None]:
    def story(transcript: Transcript) -> None:
        world = policy_world.World()
        scenario(world)
        world.settle(guarded(transcript))

    return story


def ledger(transcript: Transcript) -> None:
    """Looks at a ledger, the last ones when a datanode reports no more."""
    world = purge_world.World()
    watching = LedgerWatch(
        transcript.guard(world.kube), world.observer(transcript), lambda _: None, lambda _: None, FakeMeters()
    )
    process: Reconciler[Any, Any, Any, Any] = Reconciler(watching, may_write=lambda: True)
    for number in range(8):
        while process.tick(purge_world.WAL).outcome is Outcome.ACTED:
            pass
        world.time.time += timedelta(seconds=10)
        if number == 4:
            transcript.say("a datanode stops")
            world.data_plane.stopped.add(1)


# --- verifications


def verification(*, bad: frozenset[str] = frozenset(), dies: int = 0) -> Callable[[Transcript], None]:
    def story(transcript: Transcript) -> None:
        world = verification_world.VerificationWorld(bad=set(bad), dies=dies)
        world.start()
        world.settle_verification(world.verifier(transcript))

    return story


def backup(**attributes: Any) -> Callable[[Transcript], None]:
    """An incremental one, after a full one."""

    def story(transcript: Transcript) -> None:
        world = backup_world.BackupWorld()
        world.backed_up()
        world.write("wal_1", 7)
        for name, value in attributes.items():
            setattr(world, name, value)
        world.back_up(backup_world.NEXT, parentRef={"name": backup_world.FULL.name})
        world.settle_backup(backup_world.NEXT, world.backer(transcript))

    return story


def restore(**attributes: Any) -> Callable[[Transcript], None]:
    """From the plan to the end, as a person does it."""

    def story(transcript: Transcript) -> None:
        world = restore_world.lost(**attributes)
        world.bring_back()
        process = world.restorer(transcript)
        while world.walrestore().status.plan is None:
            world.settle_restore(process=process, ticks=1)
        world.settle_restore(process=process, ticks=1)
        transcript.say("the plan is approved")
        world.approve()
        world.settle_restore(process=process, ticks=2)
        transcript.say("the database is stopped")
        world.stop_database()
        world.settle_restore(process=process)

    return story


def subscription(transcript: Transcript) -> None:
    """From its beginning to a topic that stops, and back by resync."""
    world = subscription_world.SubscriptionWorld()
    world.subscribe()
    process = world.subscriber(transcript)
    world.live(world.is_even, process)
    transcript.say("somebody deletes wal_2 in the target")
    world.lose_target("wal_2")
    world.live(lambda: any(row.stopped for row in world.subscription().status.topics), process)
    world.live(process=process, ticks=4)
    transcript.say("a person sets resync")
    world.subscribe(resync="again")
    world.live(world.is_even, process)


def schedule(transcript: Transcript) -> None:
    world = schedule_world.World(successfulRunsHistoryLimit=1, failedRunsHistoryLimit=1)
    world.live(world.process(transcript), until=START + 4 * schedule_world.DAY)


# --- replicas, brokers, datanodes


def settled(scenario: Callable[[], Any]) -> Callable[[Transcript], None]:
    def story(transcript: Transcript) -> None:
        world = scenario()
        world.settle(world.process(transcript))

    return story


def brokers(transcript: Transcript) -> None:
    """A broker goes, and comes back."""
    world = test_brokers.World()
    clusters = transcript.guard(FakeKafkaClusters({"kafka:9092": world.kafka}))
    controller = BrokersController(
        transcript.guard(world.kube), clusters, world.time, BrokersObserver(world.time), FakeMeters()
    )
    world.brokers = Reconciler(controller, may_write=lambda: True)
    world.settle()
    world.pass_time()
    transcript.say("broker 2 goes")
    world.kafka.offline.add(2)
    for _ in range(4):
        world.pass_time()
    transcript.say("broker 2 is back")
    world.kafka.offline.clear()
    for _ in range(2):
        world.pass_time()


def managed_kafka(transcript: Transcript) -> None:
    """Three controllers and three brokers; a disk that nobody needs is emptied, and then one that is needed."""
    world = managed_world.ManagedWorld()
    world.live(transcript, until=lambda: world.says("AllOnline") and not world.tokens())
    transcript.say("broker 0 comes back with an empty disk")
    world.lose_disk(0)
    world.live(transcript, until=lambda: world.says("AllOnline") and not world.tokens())
    transcript.say("broker 2 comes back with an empty disk")
    world.lose_disk(2)
    world.live(transcript, ticks=12)


def managed_kafka_roll(transcript: Transcript) -> None:
    """A changed configuration goes to three controllers and three brokers."""
    world = kafka_roll_world.RollWorld().bring_up()
    world.edit(config={"num.io.threads": "3"})
    world.live(transcript, until=world.is_rolled)


# --- failures


def failure(scene: Scene, calls: Any, error: SeawallError) -> Callable[[Transcript], None]:
    def story(transcript: Transcript) -> None:
        refusal = Refusal(error, calls)
        transcript.refusal = refusal
        guard: Any = transcript
        stage = scene(guard)
        for _ in range(60):
            stage.passes(stage.until_it_waits().after or 30.0)
            if refusal.count >= TRIES:
                break
        assert refusal.count >= TRIES
        transcript.say("it works again")
        refusal.is_on = False
        for _ in range(AFTERWARDS):
            stage.passes(stage.until_it_waits().after or 30.0)

    return story


STORIES: dict[str, Callable[[Transcript], None]] = {
    **{f"cluster/{each.__name__}": cluster(each) for each in cluster_world.SCENARIOS},
    "purge/run": purge(rows_later=24),
    "purge/logical": purge("Logical"),
    "hold/expires": hold,
    "hold/overtaken": overtaken_hold,
    **{f"policy/{each.__name__}": policy(each) for each in policy_world.SCENARIOS},
    "ledger/watch": ledger,
    "verification/passed": verification(),
    "verification/failed": verification(bad=frozenset({"wal_1"})),
    "verification/driver_dies": verification(dies=1),
    "verification/schedule": schedule,
    "backup/incremental": backup(),
    "backup/damaged": backup(damaged=True),
    "backup/driver_dies_late": backup(dies_late=1),
    "restore/all_topics": restore(),
    "restore/driver_dies": restore(half_written=1),
    "restore/foreign_writer": restore(foreign_writer=True),
    "subscription/resync": subscription,
    **{f"reassignment/{each.__name__}": settled(each) for each in reassignments.SCENARIOS},
    "brokers/one_goes": brokers,
    "managed_kafka/disks": managed_kafka,
    "managed_kafka/roll": managed_kafka_roll,
    **{f"rollout/{each.__name__}": settled(each) for each in restarts.SCENARIOS},
    **{
        f"failures/{kind}_{scene.__name__}_{name}": failure(scene, calls, error)
        for kind, scene, calls in SCENES
        for name, error in (("refused", REFUSED), ("unanswered", UNANSWERED))
    },
}


@pytest.mark.parametrize("name", STORIES)
def test_the_operator_does_what_was_reviewed(name: str) -> None:
    with Transcript().of_all_ticks() as transcript:
        STORIES[name](transcript)
    compare_text(GOLDEN / f"transcripts/{name}.txt", transcript.text())


def test_each_reviewed_text_is_of_a_story_that_there_is() -> None:
    written = GOLDEN / "transcripts"
    found = {str(path.relative_to(written).with_suffix("")): path for path in sorted(written.rglob("*.txt"))}
    if IS_UPDATE:
        for name in found.keys() - STORIES.keys():
            found[name].unlink()
        return
    assert found.keys() == STORIES.keys()
