"""A world for subscriptions that hand rows on: that of mirrors, with a job that writes rows and progress in one.

The job is the application's in short: it begins at the newest progress, of its own generation, hands a part of each
topic on, and commits both or nothing. Two of them may run, and an old one may wake up.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from seawall.api.v1alpha1.hold import WALHold
from seawall.api.v1alpha1.subscription import WALSubscription
from seawall.api.v1alpha1.subscription_status import SubscriptionState
from tests.worlds.subscription_world import DR, SubscriptionWorld

ROWS = "wal_rows"
SPEC: dict[str, Any] = {
    "clusterRef": {"name": "wal"},
    "sink": {"records": {"target": "dr", "topic": ROWS}},
    "lagBudget": {"maxBytes": "1Mi"},
}
Handed = tuple[str, int, int]
"""A topic of the log by its id, a generation, and an offset: what is handed on, and each once."""


@dataclass
class RecordsWorld(SubscriptionWorld):
    """All that outlives a process.

    Attributes:
        handed: offsets whose rows were committed.
        left_out: offsets that were passed over, because of their tables.
        open_from: by topic where an entry begins that is not whole yet.
        unreadable: by topic an offset that gives no rows.
        committed: what jobs have committed, by the id of a topic of progress and a topic of the log.
    """

    first_spec: dict[str, Any] = field(default_factory=lambda: dict(SPEC))
    handed: list[Handed] = field(default_factory=list)
    left_out: list[Handed] = field(default_factory=list)
    open_from: dict[str, int] = field(default_factory=dict)
    unreadable: dict[str, int] = field(default_factory=dict)
    committed: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        for region in self.rows:
            self.store.put_table(region >> 32, "public", f"t{region >> 32}")

    # --- the job

    def work_on(self, request: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Hands on a part of each topic."""
        return [stop for topic in request["topics"] if (stop := self.hand_on(topic, request)) is not None]

    def hand_on(self, topic: Mapping[str, Any], request: Mapping[str, Any]) -> dict[str, Any] | None:
        """Rows and progress of one topic in one transaction; why it must not go on."""
        name, source, sink = topic["name"], self.kafka.topics.get(topic["name"]), request["records"]

        def stop(reason: str, offset: int | None) -> dict[str, Any]:
            return {"topic": name, "reason": reason, "offset": offset, "message": f"{name}: {reason} at {offset}"}

        for output in (sink["rows"], sink["progress"]):
            there = self.target.topics.get(output["topic"])
            if there is None or there.log.topic_id != output["topicId"]:
                return stop("TargetLost", None)
        if source is None or source.log.topic_id != topic["sourceTopicId"]:
            return stop("IdentityFenceBroken", None)
        found = self.progress_of(name, sink["progress"]["topic"], topic["progressPartition"])
        if found is not None and (found["generation"], found["run"]) > (topic["generation"], request["run"]):
            return stop("Fenced", found["position"])
        is_ours = found is not None and found["generation"] == topic["generation"]
        position = found["position"] if found is not None and is_ours else topic["from"]
        if (found["readFrom"] if found is not None and is_ours else position) < source.log.log_start:
            return stop("SourceGap", position)
        if position > source.log.end:
            return stop("Diverged", source.log.end)
        end, why = self._take(topic, request, position)
        self._commit(topic, request, position, end)
        return None if why is None else stop(why, end)

    def _take(self, topic: Mapping[str, Any], request: Mapping[str, Any], position: int) -> tuple[int, str | None]:
        """Up to where it comes, and why it ends there."""
        log, tables = self.kafka.topics[topic["name"]].log, request["tables"]
        known = {table["id"] for table in tables["known"]}
        is_all = "*" in tables["include"] and not tables["exclude"]
        for offset in range(position, min(position + self.stride, log.end)):
            if self.unreadable.get(topic["name"]) == offset and request["records"]["deadLetters"] is None:
                return offset, "Unreadable"
            table = log.owners.get(offset, 0) >> 32
            at = log.topic_id, topic["generation"], offset
            if is_all or table in known:
                assert at not in self.handed, f"rows of {at} are handed on twice"
                self.handed.append(at)
            elif table in tables["notSelected"] or offset < topic["namesKnownTo"]:
                self.left_out.append(at)
            else:
                return offset, "TableUnknown"
        return min(position + self.stride, log.end), None

    def _commit(self, topic: Mapping[str, Any], request: Mapping[str, Any], start: int, position: int) -> None:
        sink = request["records"]
        progress = {
            "version": 1,
            "writer": sink["writer"],
            "run": request["run"],
            "generation": topic["generation"],
            "topic": topic["name"],
            "sourceTopicId": topic["sourceTopicId"],
            "from": start,
            "position": position,
            "readFrom": min(position, self.open_from.get(topic["name"], position)),
            "rows": sum(log == topic["sourceTopicId"] for log, _, _ in self.handed),
            "deadLetters": int(self.unreadable.get(topic["name"], position) < position),
        }
        there = self.target.topics[sink["progress"]["topic"]]
        there.newest[topic["progressPartition"]] = topic["name"].encode(), json.dumps(progress).encode()
        self.committed[there.log.topic_id, topic["name"]] = progress

    def progress_of(self, name: str, topic: str, partition: int) -> dict[str, Any] | None:
        """What was committed last."""
        there = self.target.topics.get(topic)
        found = None if there is None else there.newest.get(partition)
        if found is None or found[1] is None:
            return None
        progress: dict[str, Any] = json.loads(found[1])
        assert progress["topic"] == name, "two topics share a partition of the progress"
        return progress

    # --- what is true

    def needed_from(self) -> dict[str, int]:
        """By topic of the log from where on rows are not handed on, by what is committed."""
        obj = self.kube.get(WALSubscription, DR)
        if obj is None or obj.status.records is None:
            return {}
        topic = obj.status.records.progress
        there = self.target.topics.get(topic.name)
        is_lost = there is None or there.log.topic_id != topic.id
        found: dict[str, int] = {}
        for row in obj.status.topics:
            if is_lost:
                continue
            progress = self.committed.get((topic.id, row.name))
            is_ours = progress is not None and progress["generation"] == row.generation
            found[row.name] = progress["readFrom"] if progress is not None and is_ours else row.start
        return found

    def wrong_with_hold(self) -> str | None:
        """A record that the source does not keep, and of which rows are needed; None: there is none."""
        obj, hold = self.kube.get(WALSubscription, DR), self.kube.get(WALHold, DR)
        if obj is None or hold is None or hold.status.is_final or hold.metadata.controller_uid != obj.metadata.uid:
            return None
        for name, needed in self.needed_from().items():
            if name in self.gone_with_holes:
                continue
            for held in (hold.status.granted.get(name), hold.spec.topics.get(name)):  # type: ignore[union-attr]
                if isinstance(held, int) and held > needed:
                    return f"S2: {name} is held from {held} on, and needed from {needed} on"
        return None

    def is_even(self) -> bool:
        """Whether all is handed on, the hold knows it, and people read it."""
        hold = self.kube.get(WALHold, DR)
        ends = {name: topic.log.end for name, topic in self.kafka.topics.items()}
        is_streaming = self.subscription().status.state is SubscriptionState.STREAMING
        return is_streaming and self.needed_from() == ends and hold is not None and hold.status.granted == ends

    def rows_of(self, topic: str, generation: int = 0) -> list[int]:
        """The offsets of a topic whose rows were handed on."""
        topic_id = self.kafka.topics[topic].log.topic_id
        return [offset for log, found, offset in self.handed if (log, found) == (topic_id, generation)]
