"""What the looks at one ledger leave in the process: memory, which may be lost, and what looks share."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

import numpy as np

from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.purge import WALPurge
from seawall.domain.kafka import Configs
from seawall.domain.kafka_log import Keys, LogSizes, TopicFailure
from seawall.domain.ledger.assess import Assessment, assess
from seawall.domain.ledger.ledger import plan
from seawall.domain.ledger.mode import PruneMode
from seawall.domain.ledger.observation import Observation, Unavailable
from seawall.domain.ledger.policy import Policy
from seawall.domain.ledger.read import Memory, Read
from seawall.domain.ledger.record_sizes import RecordSize, measured_all, with_record_sizes
from seawall.domain.ledger.tables import TopicLog
from seawall.domain.ledger.witness import Answer, Question, are_of_others, questions
from seawall.domain.times import TOPICS_CONFIGS_FRESH_FOR_MS, TOPICS_SIZES_FRESH_FOR_MS
from seawall.observe.replaced_leaders import ReplacedLeaders
from seawall.ports import KafkaAdmin, KafkaLogs
from seawall.progress import Turn

_FoundT = TypeVar("_FoundT")


@dataclass(slots=True)
class _Recent(Generic[_FoundT]):
    """What was found by topic id, all read at one moment. A recreated topic has a new id."""

    fresh_for_ms: int
    read_at: int = 0
    by_id: dict[str, _FoundT] = field(default_factory=dict)

    def read(
        self, ask: Callable[[list[str]], Mapping[str, _FoundT]], ids: Mapping[str, str], now: int
    ) -> dict[str, _FoundT]:
        """By name; `ask` is called for all topics, or not at all."""
        if now - self.read_at >= self.fresh_for_ms or not self.by_id.keys() >= set(ids.values()):
            reported = ask(list(ids)) if ids else {}
            self.by_id = {ids[name]: found for name, found in reported.items()}
            self.read_at = now
        return {name: self.by_id[topic_id] for name, topic_id in ids.items() if topic_id in self.by_id}


@dataclass(slots=True)
class RecentTopics:
    """Configs and sizes of a pool's topics, as old as CONFIGS_FRESH_FOR_MS and SIZES_FRESH_FOR_MS allow.

    What is that old does no harm. From configs the ledger takes how many replicas must be in sync (how many are, it
    reads anew), and that a topic is compacted, from which Kafka itself refuses to delete. Sizes begin runs and end
    holds that keep too much, and people read them; how far a delete goes, no size decides.

    The ids are those of topics by their names, `now` is the stopwatch's milliseconds.
    """

    _configs: _Recent[Configs] = field(default_factory=lambda: _Recent(TOPICS_CONFIGS_FRESH_FOR_MS))
    _sizes: _Recent[LogSizes] = field(default_factory=lambda: _Recent(TOPICS_SIZES_FRESH_FOR_MS))
    _record_sizes: Mapping[str, RecordSize] = field(default_factory=dict)

    def copy(self) -> RecentTopics:
        """The same, for a look beside the others: what it reads is its own."""
        return RecentTopics(replace(self._configs), replace(self._sizes), self._record_sizes)

    def configs(self, admin: KafkaAdmin, ids: Mapping[str, str], now: int) -> dict[str, Configs]:
        """The configs of topics by name. Raises as `KafkaAdmin.describe_configs`."""
        return self._configs.read(admin.describe_configs, ids, now)

    def sizes(self, logs: KafkaLogs, ids: Mapping[str, str], now: int) -> dict[str, LogSizes]:
        """Bytes on disk of topics by name, of those that Kafka told. Raises as `KafkaLogs.describe_sizes`."""
        return self._sizes.read(lambda topics: _reported(logs.describe_sizes(topics)), ids, now)

    def with_record_sizes(
        self, logs: Mapping[str, TopicLog], segments: Mapping[str, int], now: int
    ) -> dict[str, TopicLog]:
        """The logs with what their records take, by all observations of this process; `segments` in bytes, by name."""
        self._record_sizes = measured_all(self._record_sizes, logs, segments, now)
        return with_record_sizes(logs, self._record_sizes)


def _reported(answers: Mapping[str, LogSizes | TopicFailure]) -> dict[str, LogSizes]:
    return {name: answer for name, answer in answers.items() if isinstance(answer, LogSizes)}


@dataclass(frozen=True, slots=True)
class LogWitnesses:
    """What the logs of one WALCluster answered last. All of it may be lost: then they are asked again."""

    _answered: dict[str, Answer] = field(default_factory=dict)
    """By topic."""
    _vouched: set[tuple[str | None, str]] = field(default_factory=set)
    """By the metadata store's id and the topic's, the logs that had records of the database's regions."""

    def ask(self, logs: KafkaLogs, found: Assessment, read: Read) -> Assessment:
        """Asks the logs whose records would be deleted, or skipped at a restart; what is answered is asked once."""
        planned = plan(found.inputs)
        wanted = {planned.topics.names[row] for row in np.flatnonzero(planned.purge_to.known)}
        ids = {name: log.topic_id for name, log in read.logs.items()}
        asked = questions(planned.case.regions, planned.topics, ids, wanted | read.recorded.keys())
        new = {name: one for name, one in asked.items() if self._answer(name, one) is None}
        answers = logs.read_keys({name: (one.start, one.end) for name, one in new.items()}) if new else {}
        for name, keys in answers.items():
            if isinstance(keys, Keys):
                self._keep(name, new[name], keys)
        answered = {name: said for name, one in asked.items() if (said := self._answer(name, one)) is not None}
        store, present = read.snapshot.store_id, {each for each in ids.values() if each is not None}
        self._vouched.update((store, said.question.topic_id) for said in answered.values() if said.vouches)
        is_known = any((store, topic_id) in self._vouched for topic_id in present)
        if not is_known and are_of_others(answered.values(), found.inputs.regions):
            return found.with_records_of_others(read.logs.keys())
        return found.with_records_of_others({name for name, said in answered.items() if said.strangers})

    def _keep(self, topic: str, question: Question, keys: Keys) -> None:
        """What was read in part and contradicts nobody is no answer: more of it may, so it is asked again."""
        answer = Answer.of(question, keys.by_offset)
        if answer.strangers or question.is_answered(keys.by_offset):
            self._answered[topic] = answer

    def _answer(self, topic: str, question: Question) -> Answer | None:
        found = self._answered.get(topic)
        return found if found is not None and found.question == question else None


RUNS_REMEMBERED = 8
"""Runs of one WALCluster whose evidence is kept; a run that is forgotten waits again."""


@dataclass(slots=True)
class Remembered:
    """What the process knows of one WALCluster; `recorded_since` is the part of the memory that belongs to a run."""

    uid: str
    memory: Memory
    topics: RecentTopics = field(default_factory=RecentTopics)
    replaced: ReplacedLeaders = field(default_factory=ReplacedLeaders)
    turn: Turn = field(default_factory=Turn)
    recorded_since: OrderedDict[str, Mapping[tuple[str, int], int]] = field(default_factory=OrderedDict)
    begun: int = 0
    """How many looks have begun."""
    waiting: int = 0
    """How many callers are in a look, or wait for it."""
    witnesses: LogWitnesses = field(default_factory=LogWitnesses)
    shared: Shared | None = None
    """The newest look for nobody in particular, kept only while others wait."""
    begun_anew: tuple[int, bool] | None = None
    """The token of the readoption for which the database's adapter forgot what it had read, and whether its metadata
    had gone back by then."""

    def decide(self, read: Read, prune_mode: PruneMode, policies: Sequence[Policy], run: WALPurge | None) -> Assessment:
        """Looks with the memory of all looks, and of this run's evidence only."""
        uid = None if run is None else run.metadata.uid
        since = {} if uid is None else self.recorded_since.get(uid, {})
        found = assess(replace(self.memory, recorded_since=since), read, prune_mode, policies)
        self.memory = replace(found.memory, recorded_since={})
        if uid is not None:
            self.recorded_since[uid] = found.memory.recorded_since
            self.recorded_since.move_to_end(uid)
            while len(self.recorded_since) > RUNS_REMEMBERED:
                self.recorded_since.popitem(last=False)
        return found


@dataclass(frozen=True, slots=True)
class Shared:
    """A look that others may share who asked before it began, for the same version of the WALCluster."""

    number: int
    version: str
    found: Observation | Unavailable

    def serves(self, asked: int, cluster: WALCluster) -> bool:
        """Whether it began after so many others, which had begun when somebody asked."""
        return self.number > asked and self.version == cluster.metadata.resource_version
