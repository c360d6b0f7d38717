"""What a world has come to, without what another run of the same would have otherwise: times, ids, versions."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from typing import Any

from tests.simulation.day import Day

VOLATILE = frozenset(
    {
        *("observedGeneration", "uid", "generation", "resourceVersion", "ownerReferences", "creationTimestamp"),
        *("resyncs", "epoch", "revision", "configHash", "hash", "digest", "attempt", "applicationName"),
        *("bytes", "replayBytes", "entries", "targetId", "number"),
        "claimed",  # the mark in the metadata store is never taken back
        *("heldBack", "purgeable", "purgeableBytes"),  # evidence grows with the age of a process
    }
)
"""Fields of a status that are counted from when a world began, or are the names of what was there before."""
STANDING = frozenset({"Ready", "KafkaReachable", "DataPlaneReachable", "TopicsReady"})
"""Conditions that every look judges anew, whatever was before."""
HISTORY = {"WALCluster": ("restart", "rollout", "disruption"), "WALHold": ("message",)}
HISTORY["WALPurgePolicy"] = ("active",)
HISTORY["WALBackupPolicy"] = ("chains", "chainCount", "last", "storedBytes", "lagBytes", "drill", "message")
"""What tells of what happened: the last roll of datanodes, a renewal, backups that were made."""
TOLD = frozenset({"BackedUp", "DrillPassed"})
"""Conditions that tell of what happened, too."""
RUNS = ("WALBackup of ", "WALPurge of ", "WALRestore of ", "WALVerification of ")
PLACED = ("leaders", "logDirBytes", "replicas")
TIME = re.compile(
    r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})?|\d{14}|-b\d{10}\b"
    r"|\d+ (seconds|minutes|s|min)\b"
)


def state_of(day: Day) -> dict[str, Any]:
    """All that people see, by what it is of."""
    found: dict[str, Any] = {}
    for (kind, key), raw in day.kube._objects.items():
        owner = [each["name"] for each in raw["metadata"].get("ownerReferences", ())]
        if owner:
            found[f"{kind} of {owner[0]}"] = {"spec": _steady(raw["spec"], ())}  # the newest one comes last
        else:
            status = _steady(raw.get("status", {}), HISTORY.get(kind, ()))
            found[f"{kind} {key.name}"] = {"spec": raw["spec"], "status": status}
    for name, topic in day.kafka.topics.items():
        found[f"topic {name}"] = {"replicas": len(topic.replicas), "configs": dict(topic.configs)}
    for key, statefulset in day.datanodes.statefulsets.items():
        found[f"StatefulSet {key.name}"] = {"partition": statefulset.partition, "strategy": str(statefulset.strategy)}
    rendered = day.cluster_spec.get("dataPlane", {}).get("walConfig", {}).get("configMapName")
    for key, found_map in day.kube.config_maps().items():
        if key.name == rendered:  # one that is declared no more stays: pods mount it
            found[f"ConfigMap {key.name}"] = dict(found_map.data)
    copied: dict[str, Any] = json.loads(json.dumps(found, default=str))
    return copied


def _steady(value: Any, history: tuple[str, ...]) -> Any:
    if isinstance(value, dict):
        left = {key: each for key, each in value.items() if key not in VOLATILE and key not in history}
        return {key: _steady(each, history) for key, each in left.items() if not key.endswith("Time")}
    if isinstance(value, list):
        return [_steady(each, history) for each in value if not (isinstance(each, dict) and each.get("type") in TOLD)]
    return TIME.sub("…", value) if isinstance(value, str) else value


def differences(one: Any, other: Any, path: str = "") -> Iterator[str]:
    """Where two states differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted(one.keys() | other.keys()):
            yield from differences(one.get(key), other.get(key), f"{path}.{key}" if path else key)
    elif _has_types(one) and _has_types(other):
        yield from differences({each["type"]: each for each in one}, {each["type"]: each for each in other}, path)
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for number, (a, b) in enumerate(zip(one, other, strict=True)):
            yield from differences(a, b, f"{path}[{number}]")
    elif one != other:
        yield f"{path}: {_short(one)} is {_short(other)}"


def _has_types(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, dict) and "type" in each for each in value)


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) < 200 else f"{text[:200]}…"


def as_declared(state: dict[str, Any], other: dict[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    """Without runs that only one of two states has, and those of before an edit: when a world began is why."""

    def is_kept(name: str) -> bool:
        if " of " not in name:
            return True
        is_old = name.startswith(RUNS) and before.get(name) in (state.get(name), other.get(name))
        return name in state and name in other and not is_old

    return {name: each for name, each in state.items() if is_kept(name)}


def without_moves(state: dict[str, Any]) -> dict[str, Any]:
    """Without what brokers have, and how it came there: what was moved is not moved back."""
    found = copy.deepcopy(state)
    for each in found.values():
        status = each.get("status", {})
        status.pop("reassignment", None)
        for broker in status.get("kafka", {}).get("brokers", {}).get("items", ()):
            for field in PLACED:
                broker.pop(field, None)
    return found


def depends_on_when(state: dict[str, Any]) -> bool:
    """Whether somebody says that a process is not old enough to know, or goes on from where it was suspended."""
    return any(word in json.dumps(state) for word in ("WatchedTooShortly", '"Suspended"'))


def verdicts_of(state: dict[str, Any]) -> dict[str, Any]:
    """What the conditions of all objects say of the spec, in a word."""
    return {
        name: {
            each["type"]: (each["status"], each["reason"])
            for each in found["status"].get("conditions", ())
            if each["type"] in STANDING
        }
        for name, found in state.items()
        if "status" in found
    }


def is_ready(state: dict[str, Any]) -> bool:
    """Whether all is reached and nothing refused: else the status keeps what was known, and Kafka what it had.

    Kafka takes all changes of a topic's configs or none.
    """
    verdicts = verdicts_of(state)
    said = [each for found in verdicts.values() for each in found.values()]
    return all(status == "True" for status, _ in said)
