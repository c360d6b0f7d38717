"""A world for restores into scratch topics: that of the restores, whose Kafka and database live and work all the time.

After each change of the operator it is asked that nothing goes but topics that a status has named, that the pool is
what it was, and that a scratch topic never outlives the object that has to remove it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from seawall.api.meta import SCRATCH_FINALIZER, Key
from seawall.api.v1alpha1.restore import WALRestore
from seawall.api.v1alpha1.restore_status import RestoreStage
from seawall.api.v1alpha1.spark_job import JobStage
from seawall.domain.restore.scratch_names import PREFIX
from tests.worlds.purge_world import NAMESPACE, TOPICS
from tests.worlds.restore_world import BACK, RestoreWorld
from tests.worlds.restore_world import CHANGES as RESTORES

CHANGES = RESTORES | {"set_finalizers"}


@dataclass
class ScratchWorld(RestoreWorld):
    """All that outlives a process.

    Attributes:
        known: by id the names of all topics that there ever were.
        foreign: ids of topics that somebody else made.
        is_given_up: whether nobody can be asked for scratch topics any more: they may stay.
    """

    known: dict[str, str] = field(default_factory=dict)
    foreign: set[str] = field(default_factory=set)
    is_given_up: bool = False

    def drill(self, key: Key = BACK, **spec: Any) -> None:
        """Somebody makes a restore into scratch topics."""
        self.bring_back(key, padAboveFlushed=False, **{"scratch": {}, **spec})

    def drilled(self, **spec: Any) -> WALRestore:
        """From its beginning to its end."""
        self.drill(**spec)
        found: WALRestore = self.settle_restore()
        return found

    def scratch_topics(self) -> list[str]:
        """Those that are there."""
        return sorted(name for name in self.kafka.topics if name.startswith(PREFIX))

    def add_foreign(self, name: str, records: int = 0) -> None:
        """Somebody else makes a topic."""
        log = self.kafka.add_topic(name).log
        log.append(records)
        self.foreign.add(str(log.topic_id))

    def check(self, after: str = "") -> None:
        """As above."""
        super().check(after)
        there = {str(topic.log.topic_id): name for name, topic in self.kafka.topics.items()}
        for topic_id in self.known.keys() - there.keys():
            name = self.known[topic_id]
            assert topic_id in self.ours - self.foreign, f"{name} went, which no restore made, after {after}"
            assert name not in TOPICS, f"{name} of the pool went, after {after}"
        self.known |= there
        kept = any(SCRATCH_FINALIZER in each.metadata.finalizers for each in self.restores())
        left = [name for topic_id, name in there.items() if name.startswith(PREFIX) and topic_id not in self.foreign]
        assert kept or not left or self.is_given_up, f"{left} have nobody who removes them, after {after}"

    def restores(self) -> tuple[WALRestore, ...]:
        """All that there are."""
        return tuple(self.kube.list(WALRestore, NAMESPACE).items)

    def drill_until(self, stage: RestoreStage, **spec: Any) -> WALRestore:
        """Until it is there."""
        self.drill(**spec)
        return self.live_until(stage)


def backed_up(**attributes: Any) -> ScratchWorld:
    """A world with a backup, and some newer rows."""
    world = ScratchWorld()
    assert world.backed_up().status.stage is JobStage.COMPLETED
    for topic in TOPICS:
        world.write(topic, 7)
    for name, value in attributes.items():
        setattr(world, name, value)
    return world
