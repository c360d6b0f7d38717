"""A restore: plans again, asks all that could refuse it, reads the backup, and only then writes; then reads all back.

No task is tried twice, and none runs beside itself: a topic has one writer. What ends early is written anew, to a topic
that is made anew.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import SparkSession

from sparkjob.errors import Interrupted, Refused
from sparkjob.kafka_options import librdkafka_options
from sparkjob.outcome import Outcome
from wal_backup.answer import Answer
from wal_backup.check import check_object
from wal_backup.findings import Finding
from wal_backup.request import Level
from wal_backup.restore.decode_back import decode_back
from wal_backup.restore.plan import Plan, TopicPlan, point_to_json
from wal_backup.restore.planner import make_plan
from wal_backup.restore.read_back import read_back
from wal_backup.restore.request import RestoreRequest
from wal_backup.restore.source import ChainBroken
from wal_backup.restore.target import TargetKafka
from wal_backup.restore.task import TopicJob, TopicWritten, restore_topic
from wal_backup.store import Store

ONE_WRITER = {"spark.task.maxFailures": "1", "spark.speculation": "false"}
RESTORED = "Restored"
_MOST_SHOWN = 1_000
"""Bytes of a summary that list topics."""


@dataclass(frozen=True, slots=True)
class TopicEnd:
    """How a topic ended, written and read back."""

    name: str
    findings: tuple[Finding, ...]
    trouble: str | None

    @property
    def state(self) -> str:
        """In a word."""
        if self.findings:
            return "Failed"
        return RESTORED if self.trouble is None else "Interrupted"


class Restore:
    """Works on one request."""

    def __init__(self, spark: SparkSession, request: RestoreRequest) -> None:
        self._spark, self._request = spark, request
        self._place, self._options = request.plan.place, librdkafka_options(request.kafka)

    def run(self) -> Answer:
        """Writes the topics.

        Raises:
            Refused: nothing was written, and nothing will be with this request.
            Interrupted: nothing was written, since Kafka or the store does not answer.
        """
        try:
            plan = make_plan(Store(self._place), self._request.plan)
        except ChainBroken as broken:
            return Answer(str(broken), broken.findings)
        self._require_approved(plan)
        jobs = self._jobs(plan)
        findings = self._check(plan)
        if findings:
            return Answer(findings[0].message, findings, about(plan))
        ends = self._restore(plan, jobs)
        answer = answer_of(plan, ends, self._request.into)
        return answer if answer.outcome is not Outcome.PASSED else self._decoded(plan, jobs, answer)

    def _require_approved(self, plan: Plan) -> None:
        if plan.digest != self._request.plan_digest:
            raise Refused(f"the plan has digest {plan.digest} now, and {self._request.plan_digest} was approved")

    def _jobs(self, plan: Plan) -> list[TopicJob]:
        """The longest first: the last one to begin is short."""
        target, ids = TargetKafka(self._options), self._request.topic_ids
        target.require_cluster(self._request.cluster_id)
        pairs = [
            (topic.name, each) for topic, each in zip(plan.topics, targets_of(plan, self._request.into), strict=True)
        ]
        most_bytes = target.require_topics([topic for _, topic in pairs], ids)
        pairs = sorted(pairs, key=lambda pair: (pair[1].records, pair[1].pad_end), reverse=True)
        return [TopicJob(topic, ids[topic.name], most_bytes[topic.name], source) for source, topic in pairs]

    def _check(self, plan: Plan) -> list[Finding]:
        """Reads every object before the first record is written: nothing is made of a backup that is damaged."""
        place, context = self._place, self._spark.sparkContext
        if not plan.objects:
            return []
        parts = context.parallelize(plan.objects, len(plan.objects))
        return parts.flatMap(lambda each: check_object(place, each)).collect()

    def _restore(self, plan: Plan, jobs: Sequence[TopicJob]) -> list[TopicEnd]:
        place, options, folder, context = self._place, self._options, plan.folder, self._spark.sparkContext
        write = restore_topic
        written = (
            context.parallelize(jobs, len(jobs)).map(lambda job: (job, write(job, options, place, folder))).collect()
        )
        return context.parallelize(written, len(written)).map(lambda pair: prove_topic(*pair, options)).collect()

    def _decoded(self, plan: Plan, jobs: Sequence[TopicJob], answer: Answer) -> Answer:
        """What was read back is decoded, too, if that is asked for."""
        request = self._request
        if request.level is not Level.INTEGRITY:
            return answer
        found = decode_back(self._spark, jobs, self._options, plan.starts, request.database_version)
        if found.findings:
            return Answer(found.findings[0].message, found.findings, about(plan))
        details = {**answer.details, "verified": request.level.value, "warnings": found.warnings}
        return replace(answer, message=f"{answer.message}, and all records decode", details=details)


def prove_topic(job: TopicJob, written: TopicWritten, options: Mapping[str, str]) -> TopicEnd:
    """Reads back a topic that was written to its end."""
    name = job.topic.name
    if written.finding is not None or written.trouble is not None:
        return TopicEnd(name, () if written.finding is None else (written.finding,), written.trouble)
    try:
        return TopicEnd(name, tuple(read_back(job, written.sections, options)), None)
    except Interrupted as interrupted:
        return TopicEnd(name, (), str(interrupted))


def targets_of(plan: Plan, into: Mapping[str, str]) -> list[TopicPlan]:
    """The topics of a plan by the names of those that they are written to."""
    return [replace(topic, name=into.get(topic.name, topic.name)) for topic in plan.topics]


def answer_of(plan: Plan, ends: Sequence[TopicEnd], into: Mapping[str, str] | None = None) -> Answer:
    """What a restore found, once each of its topics has ended."""
    findings = [finding for end in ends for finding in end.findings]
    troubles = [end.trouble for end in ends if end.trouble is not None]
    others = [end for end in ends if end.state != RESTORED]
    said = [*(finding.message for finding in findings), *troubles]
    message = f"{len(ends) - len(others)} of {len(ends)} topics are restored{''.join(f'; {each}' for each in said[:1])}"
    details = {**about(plan), "restored": len(ends) - len(others), "notRestored": _shown(others)}
    if not others:
        details["logs"] = logs_digest(targets_of(plan, into or {}))
    return Answer(message, findings, details, broke_off=bool(troubles))


def logs_digest(topics: Iterable[TopicPlan]) -> str:
    """SHA-256 over name, first offset and end of each log, as they were read back: who adopts them compares."""
    lines = sorted(f"{topic.name} {topic.start} {topic.pad_end}\n" for topic in topics)
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def counts_of(plan: Plan) -> dict[str, int]:
    """Of all topics of a plan; `padding` are records of null, `lostAtMost` offsets whose records do not come back."""
    topics = plan.topics
    return {
        "topics": len(topics),
        "records": sum(topic.records for topic in topics),
        "bytes": sum(topic.bytes for topic in topics),
        "padding": sum(topic.pad_end - topic.records for topic in topics),
        "largestRecord": max((topic.largest for topic in topics), default=0),
        "lostAtMost": sum(topic.lost for topic in topics),
    }


def about(plan: Plan, names: Sequence[str] | None = None) -> dict[str, Any]:
    """What a summary says of a plan; which of `names` it has, by their places: a summary has no room for the names."""
    planned = {topic.name for topic in plan.topics}
    places = {} if names is None else {"topics": ranges_of(at for at, name in enumerate(names) if name in planned)}
    point = {} if plan.point is None else {"restorePoint": point_to_json(plan.point)}
    return {"plan": {"name": plan.name, "digest": plan.digest, **places, **point}, "counts": counts_of(plan)}


def ranges_of(places: Iterable[int]) -> str:
    """Rising numbers in as few words as they have ranges: 0-2,5."""
    found = list[tuple[int, int]]()
    for place in places:
        if found and found[-1][1] == place - 1:
            found[-1] = (found[-1][0], place)
        else:
            found.append((place, place))
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in found)


def _shown(ends: Sequence[TopicEnd]) -> list[dict[str, str]]:
    room, shown = _MOST_SHOWN, list[dict[str, str]]()
    for end in ends:
        shown.append({"name": end.name, "state": end.state})
        room -= len(str(shown[-1]))
        if room < 0:
            return shown[:-1]
    return shown
