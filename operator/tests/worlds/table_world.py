"""A world for subscriptions whose rows go to a bucket: the job commits objects, each only where there is none."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from seawall.api.v1alpha1.hold import WALHold
from seawall.api.v1alpha1.subscription import WALSubscription
from tests.worlds.records_world import RecordsWorld
from tests.worlds.subscription_world import DR

BUCKET, KEY, PASSWORD = "lake", "reader", "a-secret"
DECLARED: dict[str, Any] = {
    "spark": {"image": "wal-subscription:1"},
    "buckets": [{"name": "lake", "s3": {"bucket": BUCKET, "prefix": "wal", "endpoint": "http://s3:9000"}}],
}
SPEC: dict[str, Any] = {
    "clusterRef": {"name": "wal"},
    "sink": {"table": {"target": "lake"}},
    "lagBudget": {"maxBytes": "1Mi"},
}


@dataclass
class TableWorld(RecordsWorld):
    """All that outlives a process."""

    first_spec: dict[str, Any] = field(default_factory=lambda: dict(SPEC))
    declared: dict[str, Any] | None = field(default_factory=lambda: dict(DECLARED))

    def __post_init__(self) -> None:
        super().__post_init__()
        self.buckets.objects[BUCKET] = {}

    @property
    def objects(self) -> dict[str, bytes]:
        """What is in the bucket."""
        return self.buckets.objects[BUCKET]

    # --- the job

    def hand_on(self, topic: Mapping[str, Any], request: Mapping[str, Any]) -> dict[str, Any] | None:
        """Rows and a commit of one topic; why it must not go on."""
        name, source = topic["name"], self.kafka.topics.get(topic["name"])

        def stop(reason: str, offset: int | None) -> dict[str, Any]:
            return {"topic": name, "reason": reason, "offset": offset, "message": f"{name}: {reason} at {offset}"}

        if source is None or source.log.topic_id != topic["sourceTopicId"]:
            return stop("IdentityFenceBroken", None)
        last = self.last_commit(request["table"]["writer"], topic)
        if last is not None and last["run"] > request["run"]:
            return stop("Fenced", last["position"])
        position = topic["from"] if last is None else last["position"]
        if (position if last is None else last["readFrom"]) < source.log.log_start:
            return stop("SourceGap", position)
        if position > source.log.end:
            return stop("Diverged", source.log.end)
        letters = {"records": {"deadLetters": request["table"]["deadLetters"] or None}}
        end, why = self._take(topic, {**request, **letters}, position)
        if end > position or last is None or last["run"] < request["run"]:
            self._put(topic, request, last, end)
        return None if why is None else stop(why, end)

    def last_commit(self, writer: str, topic: Mapping[str, Any]) -> dict[str, Any] | None:
        """The newest of a chain."""
        names = [name for name in self.objects if name.startswith(f"{folder_of(writer, topic)}/")]
        return json.loads(self.objects[max(names)]) if names else None

    def _put(
        self, topic: Mapping[str, Any], request: Mapping[str, Any], last: Mapping[str, Any] | None, position: int
    ) -> None:
        number = 0 if last is None else last["number"] + 1
        path = f"{folder_of(request['table']['writer'], topic)}/{number:020}.json"
        assert path not in self.objects, "an object is created once"
        commit = {
            "version": 1,
            "writer": request["table"]["writer"],
            "run": request["run"],
            "generation": topic["generation"],
            "topic": topic["name"],
            "sourceTopicId": topic["sourceTopicId"],
            "number": number,
            "position": position,
            "readFrom": min(position, self.open_from.get(topic["name"], position)),
            "rows": sum(log == topic["sourceTopicId"] for log, _, _ in self.handed),
            "deadLetters": int(self.unreadable.get(topic["name"], position) < position),
        }
        self.objects[path] = json.dumps(commit).encode()
        self.committed[topic["sourceTopicId"], f"{topic['name']}/{topic['generation']}"] = commit

    # --- what is true

    def needed_from(self) -> dict[str, int]:
        """By topic of the log from where on rows are not handed on, by what is committed."""
        obj, found = self.kube.get(WALSubscription, DR), dict[str, int]()
        for row in () if obj is None else obj.status.topics:
            commit = self.committed.get((row.source_id, f"{row.name}/{row.generation}"))
            found[row.name] = row.start if commit is None else commit["readFrom"]
        return found

    def granted(self) -> dict[str, Any]:
        """What is held."""
        hold = self.kube.get(WALHold, DR)
        return {} if hold is None else dict(hold.status.granted)


def folder_of(writer: str, topic: Mapping[str, Any]) -> str:
    """Where a chain is, from the bucket's root."""
    return f"wal/{writer}/chains/{topic['name']}/{topic['sourceTopicId']}/{topic['generation']}/log"
