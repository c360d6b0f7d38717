"""The part of a day's outside that a subscription needs: a second Kafka, and jobs that copy to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from seawall.api.meta import ConditionType, Key
from seawall.api.v1alpha1.hold import WALHold
from seawall.api.v1alpha1.subscription import WALSubscription
from seawall.api.v1alpha1.subscription_status import MirroredTopic, SubscriptionState
from seawall.domain.conditions import find_condition
from tests.adversary.judge import Violation
from tests.fakes.kafka import FakeKafka
from tests.fakes.kube import FakeKube
from tests.fakes.spark import FakeSparkApplications
from tests.worlds.subscription_world import DECLARED, DR, SPEC, SubscriptionWorld

if TYPE_CHECKING:  # it imports this module
    from tests.simulation.day import Day

FINAL = frozenset({SubscriptionState.LOST, SubscriptionState.PROMOTING, SubscriptionState.PROMOTED})
"""States in which the source keeps nothing for it."""
SUBSCRIBED = {**SPEC, "lagBudget": {"maxBytes": "1Gi"}}


@dataclass
class Mirror:
    """What the world of subscriptions knows of the target and of jobs, and judges, for a day.

    Attributes:
        day: whose Kafka is the source.
        copied: as in that world, as are the next ones.
        gone_with_holes: topics whose copy the adversary broke.
        jobs: applications that were judged.
    """

    day: Day
    target: FakeKafka = field(default_factory=lambda: FakeKafka(cluster_id="fake-target"))
    stride: int = 25
    diverged: set[str] = field(default_factory=set)
    foreign_words: list[str] = field(default_factory=list)
    copied: dict[str, str] = field(default_factory=dict)
    mirrored: dict[str, int] = field(default_factory=dict)
    is_blind: bool = False
    gone_with_holes: set[str] = field(default_factory=set)
    jobs: set[Key] = field(default_factory=set)

    request_of: ClassVar[Any] = SubscriptionWorld.request_of
    work_on: ClassVar[Any] = SubscriptionWorld.work_on
    copy: ClassVar[Any] = SubscriptionWorld.copy
    wrong_with_hold: ClassVar[Any] = SubscriptionWorld.wrong_with_hold
    write_to_target: ClassVar[Any] = SubscriptionWorld.write_to_target
    _work: ClassVar[Any] = SubscriptionWorld._work
    copied_to: ClassVar[Any] = SubscriptionWorld.copied_to
    _append: ClassVar[Any] = SubscriptionWorld._append

    def __post_init__(self) -> None:
        if self.day.mirrors:
            self.day.edit(subscription=dict(DECLARED))
            self.day.kube.apply(DR, SUBSCRIBED, kind=WALSubscription)

    @property
    def kafka(self) -> FakeKafka:
        """The source."""
        return self.day.kafka

    @property
    def kube(self) -> FakeKube:
        """The API server."""
        return self.day.kube

    @property
    def spark(self) -> FakeSparkApplications:
        """The applications of all kinds."""
        return self.day.spark

    @property
    def dies(self) -> int:
        """How many of the next drivers die."""
        return self.day.dies

    @dies.setter
    def dies(self, drivers: int) -> None:
        self.day.dies = drivers

    # --- what people and the job do

    def subscribe(self, **spec: Any) -> None:
        """Somebody edits the subscription, if there is one."""
        found = self.kube._objects.get(("WALSubscription", DR))
        if found is not None:
            self.kube.apply(DR, {**found["spec"], **spec}, kind=WALSubscription)

    def is_own(self, key: Key) -> bool:
        """Whether an application copies."""
        found = self.request_of(key)
        return found is not None and "producer" in found[0]

    def work(self, key: Key) -> bool:
        """Goes on with an application that copies; whether it is one."""
        if not self.is_own(key):
            return False
        self._work(key)
        return True

    # --- what is true

    def found(self) -> WALSubscription | None:
        """The subscription, if there is one."""
        return self.kube.get(WALSubscription, DR)

    def excuse(self) -> None:
        """What is wrong now is not the operator's doing."""
        self.gone_with_holes |= {row.name for row in self._rows() if self._is_purged(row)}
        wrong = self.wrong_with_hold()
        if wrong is not None:
            self.gone_with_holes.add(wrong.split()[1])

    def check(self, call: str) -> None:
        """The hold is never beyond what the target has, nor is what goes; a job reads what is held."""
        wrong = self.wrong_with_hold()
        if wrong is not None:
            raise Violation(f"{wrong}, by {call}")
        if call == "delete_records":
            for row in self._rows():
                if row.name not in self.gone_with_holes and self._is_purged(row):
                    raise Violation(f"S1: {row.name} is deleted beyond what its copy has")
        if call == "create":
            for key in sorted(self.spark.specs.keys() - self.jobs):
                self.jobs.add(key)
                self._judge_job(key)

    def _judge_job(self, key: Key) -> None:
        if not self.is_own(key):
            return
        request, hold = self.request_of(key), self.kube.get(WALHold, DR)
        granted: Mapping[str, Any] = {} if hold is None or hold.status.is_final else hold.status.granted
        lacking = [topic["name"] for topic in request[0]["topics"] if topic["name"] not in granted]
        if lacking:
            raise Violation(f"S3: job {key.name} reads {lacking[0]}, which is not held")

    def _rows(self) -> list[MirroredTopic]:
        """Of topics that are copied, while the source keeps what the target lacks."""
        found, hold = self.found(), self.kube.get(WALHold, DR)
        if found is None or found.status.state in FINAL or hold is None or hold.status.is_final:
            return []
        return [row for row in found.status.topics if row.stopped is None and row.name in hold.status.granted]

    def _is_purged(self, row: MirroredTopic) -> bool:
        source, target = self.kafka.topics.get(row.name), self.target.topics.get(row.name)
        if source is None or target is None or source.log.topic_id != row.source_id:
            return False
        has = self.copied_to(target.log) if target.log.topic_id == row.target_id else 0
        return source.log.log_start > max(has, row.start)

    def wrong(self) -> list[str]:
        """What is not as declared when nothing goes wrong any more."""
        found, hold = self.found(), self.kube.get(WALHold, DR)
        if found is None:
            return []
        said = (
            [f"the subscription is {found.status.state}"] if found.status.state != SubscriptionState.STREAMING else []
        )
        for name in self.day.topics_of_pool():
            source, target = self.kafka.topics.get(name), self.target.topics.get(name)
            end = None if target is None else target.log.end
            if source is not None and end != source.log.end:
                said.append(f"{name} ends at {source.log.end}, and its copy at {end}")
            held = None if hold is None else hold.status.granted.get(name)
            if source is not None and held != source.log.end:
                said.append(f"{name} is held from {held} for the subscription, and all of {source.log.end} is copied")
        return said


def _why(found: WALSubscription) -> str:
    said = find_condition(found.status.conditions, ConditionType.READY)
    return "" if said is None else said.message
