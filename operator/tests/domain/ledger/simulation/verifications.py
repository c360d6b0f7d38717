"""Replay verifications of the simulated logs: they begin, end in some way, grow old and go, at any moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from seawall.domain.ledger.bounds import Verified
from seawall.domain.ledger.ledger import Ledger
from seawall.domain.ledger.policy import Level, Requirement
from tests.domain.ledger.simulation.database import Database
from tests.domain.ledger.simulation.log import Log
from tests.domain.ledger.simulation.operator import START, Store


@dataclass(frozen=True)
class Job:
    """What a job was told to read: all of a log from an offset on."""

    topic: str
    topic_id: str
    level: Level
    start: int
    began: int


@dataclass
class Kept:
    """A verification with a verdict, from when it was over until somebody deleted it (ms)."""

    says: Verified
    began: int
    finished: int
    removed: int | None = None


@dataclass
class Verifications:
    """The API server's, and the jobs that run."""

    database: Database
    store: Store
    logs: Mapping[str, Log]
    jobs: list[Job] = field(default_factory=list)
    kept: list[Kept] = field(default_factory=list)

    def begin(self, topic: str, level: Level, planned: Ledger) -> None:
        """A job is told to read from where the first region would, as an operator knew it when it last looked."""
        case = planned.case
        row = case.topics.names.index(topic)
        starts = [case.reads_from.at(at) for at in range(len(case.regions.topic)) if case.regions.topic[at] == row]
        known = [start for start in starts if start is not None]
        if starts and len(known) == len(starts):
            self.jobs.append(Job(topic, self.logs[topic].topic_id, level, min(known), self.database.now))

    def end(self, number: int, *, dies: bool = False, finds_damage: bool = False) -> None:
        """A job ends. It passes if the log is the one it was told of, has all that it was told to read, and decodes."""
        if not 0 <= number < len(self.jobs):
            return
        job, now = self.jobs.pop(number), self.database.now
        log = self.logs[job.topic]
        replays = log.topic_id == job.topic_id and log.log_start <= job.start and not finds_damage
        if not dies:
            began_at, finished_at = (START + timedelta(milliseconds=time) for time in (job.began, now))
            says = Verified(job.topic, job.topic_id, job.level, job.start, began_at, finished_at, replays=replays)
            self.kept.append(Kept(says, job.began, now))
            self._publish()

    def remove(self, number: int) -> None:
        """Somebody deletes one that is over, or its ttl does."""
        if number < len(self.kept) and self.kept[number].removed is None:
            self.kept[number].removed = self.database.now
            self._publish()

    def judge(self, required: Requirement, topic: str, before: int, decided_at: int) -> None:
        """A delete must stay below where a good one began that was there and young enough when it was decided.

        One that began before a bad one was over, which was there then and is still, is none.
        """
        since = decided_at - required.max_age // timedelta(milliseconds=1)
        topic_id = self.logs[topic].topic_id
        about = [each for each in self.kept if (each.says.topic, each.says.topic_id) == (topic, topic_id)]
        bad = [each for each in about if not each.says.replays and each.finished < decided_at and each.removed is None]
        doubted = max((each.finished for each in bad), default=-1)
        licenses = [
            each.says.verified_from
            for each in about
            if each.says.replays
            and each.says.level >= required.level
            and each.finished >= since
            and each.began > doubted
            and (each.removed is None or each.removed >= decided_at)
        ]
        assert before <= max(licenses, default=0), f"{topic} is deleted to {before}, and verified from {licenses}"

    def _publish(self) -> None:
        self.store.verified = tuple(each.says for each in self.kept if each.removed is None)
