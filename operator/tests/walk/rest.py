"""A leaf is changed and changed back in a simulated world; oracles compare what all has come to (Acto, SOSP '23)."""

from __future__ import annotations

import copy
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from tests.simulation.calm import HEARTBEATS
from tests.walk.admission import Finding, Walked
from tests.walk.leaves import ABSENT, Leaf, Spec, at, below, schema_of, with_value
from tests.walk.state import (
    as_declared,
    depends_on_when,
    differences,
    is_ready,
    state_of,
    verdicts_of,
    without_moves,
)
from tests.walk.values import Intent, Value, values
from tests.walk.world import World

State = dict[str, Any]
QUIET, WITHIN = 40.0, 900.0
"""Seconds without a write after which all is at rest, and within which it must be: datanodes may restart."""
LEAST_SECONDS = 70.0
"""A look may find a minute later what has changed."""
FINAL = frozenset({"Lost", "Released", "Promoted"})
"""States of holds and subscriptions that nothing leads out of: their oracles are in tests/hold, tests/subscription."""
TTL = frozenset({"ttl", "ttlSecondsAfterFinished"})
"""By these an object goes when it is over."""
RETRIED = "ChangeRefused"
"""What was refused is asked again, for as long as it is declared."""
EACH_MINUTE = "* * * * *"
"""Such a schedule never lets anything come to rest."""
WANTED = {Intent.VALID: 2, Intent.BOUND: 1, Intent.REMOVED: 1}
"""How many of each intent are tried in a world."""
SPECIAL: dict[str, tuple[str, ...]] = {
    "chedule": ("0 0 31 2 *", "5-1 * * * *", EACH_MINUTE),
    "timeZone": ("Europe/Berlin", "posix/UTC", "localtime"),
    "ime": ("0001-01-01T00:00:00Z", "9999-12-31T23:59:59-23:59"),
    "ttl": ("99999h99999m99999s",),
}
"""By a part of a field's name texts that the API server takes, and code may stumble over."""


def worth_a_world(leaf: Leaf) -> Iterator[Value]:
    """Values that are taken and differ to the operator: some of each intent, and what code may stumble over."""
    read: list[Any] = []
    counts: Counter[Intent] = Counter()
    special = next((texts for part, texts in SPECIAL.items() if part in leaf.path[-1]), ())
    for value in values(leaf):
        is_wanted = counts[value.intent] < WANTED.get(value.intent, 0)
        if value.value is None or not (is_wanted or value.value in special):
            continue
        found = _read(leaf, with_value(leaf.base, leaf.path, value.value))
        if found is not None and found not in read:
            read.append(found)
            counts[value.intent] += 1
            yield value


def _read(leaf: Leaf, spec: Spec) -> Any:
    try:
        return leaf.kind.spec.model_validate(spec, by_alias=True, by_name=False)
    except ValidationError:
        return None


def grafted(world: Spec, leaf: Leaf, value: Value) -> Spec | None:
    """The spec of a world with the leaf's value, and with what must be beside it; None: that is none."""
    wanted = with_value(leaf.base, leaf.path, value.value)
    for size in range(len(leaf.path), 0, -1):
        path = leaf.path[:size]
        if size > 1 and at(world, path[:-1]) is ABSENT:
            continue
        found = at(wanted, path)
        made = with_value(world, path, found if found is ABSENT else copy.deepcopy(found))
        if _read(leaf, made) is not None:
            return made
    return next((each for each in _all_of(wanted, world) if _read(leaf, each) is not None), None)


def _all_of(wanted: Spec, world: Spec) -> Iterator[Spec]:
    """The whole example, with the Kafka and the topics that there are, and with the database, if that may be."""
    if "kafka" not in wanted:
        yield wanted
        return
    made, servers = {**wanted, "topics": world["topics"]}, ("kafka", "external", "bootstrapServers")
    made = made if at(made, servers) is ABSENT else with_value(made, servers, ["kafka:9092"])
    yield {**made, "dataPlane": world["dataPlane"]}
    yield made


def is_immutable(leaf: Leaf) -> bool:
    """Whether a rule of the CRD compares it with what it was."""
    schema, named = schema_of(leaf.kind), set(leaf.path)
    for step in (*leaf.path, None):
        for rule in schema.get("x-kubernetes-validations", ()):
            compared = [set(name.split(".")) for name in re.findall(r"oldSelf\.([\w.]+)", rule["rule"])]
            if "oldSelf" in rule["rule"] and (not compared or any(fields & named for fields in compared)):
                return True
        schema = schema if step is None else below(schema, step)
    return False


def _comparable(value: Value, one: State, other: State, before: State) -> tuple[State, State]:
    """What of two states must be the same: verdicts alone where something is not reached, or runs while one looks."""
    one, other = as_declared(one, other, before), as_declared(other, one, before)
    if value.value == EACH_MINUTE or any(not is_ready(each) or depends_on_when(each) for each in (one, other)):
        return verdicts_of(one), verdicts_of(other)
    return one, other


def _come_to_rest(world: World) -> list[str]:
    """Waits until nothing is written; what still is after a long time."""
    writes, until = ["nothing yet"], world.now + WITHIN
    world.live(LEAST_SECONDS)
    while writes and world.now < until and world.sim.violation is None:
        world.sim.writes.clear()
        world.live(QUIET)
        writes = [each for each in world.sim.writes if each.partition(": ")[2] not in HEARTBEATS]
    return writes


@dataclass
class Walk:
    """Goes through leaves of one kind: one world is changed and changed back, over and over."""

    kind: str
    walked: Walked = field(default_factory=Walked)
    world: World | None = None
    before: dict[str, Any] = field(default_factory=dict)

    def step(self, leaf: Leaf, value: Value) -> None:
        """One value."""
        world = self._at_rest()
        base = world.declared
        spec = grafted(base, leaf, value)
        if spec is None or spec == base:
            self.walked.counts["not possible in this world" if spec is None else "so already"] += 1
            return
        self.walked.counts["values"] += 1
        fresh = self._fresh(leaf, value, spec)
        if is_immutable(leaf) or fresh is None:
            self.walked.counts["at creation only"] += 1
            return
        until_now = state_of(world.day)
        world.edit(spec)
        self._settle(world, leaf, value, "changed")
        if not world.has_object():
            self.walked.counts["goes by its ttl"] += 1
            self._end()
            return
        changed = state_of(world.day)
        if FINAL & {world.raw["status"].get("state"), fresh[world.name]["status"].get("state")}:
            self.walked.counts["ends for ever"] += 1
            self._end()
            return
        what = "it is not as if it had been so from the beginning"
        self._compare(leaf, value, what, *_comparable(value, fresh, changed, until_now))
        world.edit(base)
        self._settle(world, leaf, value, "changed back")
        after = {
            name: found for name, found in state_of(world.day).items() if " of " not in name or name in self.before
        }
        what = "changed back, it is not as it was"  # what was made stays, and what was moved
        self._compare(leaf, value, what, without_moves(self.before), without_moves(after))
        self.walked.counts["compared"] += 2
        if self.walked.findings or after != self.before:
            self._end()

    def close(self) -> None:
        """No more."""
        self._end()

    def _at_rest(self) -> World:
        if self.world is None or self.world.sim.violation is not None:
            self._end()
            self.world = World(self.kind)
            _come_to_rest(self.world)
            self.before = state_of(self.world.day)
        return self.world

    def _end(self) -> None:
        if self.world is not None:
            self.world.close()
            self.world = None

    def _fresh(self, leaf: Leaf, value: Value, spec: Spec) -> dict[str, Any] | None:
        """The state of a world in which it was so from the beginning."""
        world = World(self.kind, spec)
        try:
            found = len(self.walked.findings)
            self._settle(world, leaf, value, "made")
            if not world.has_object():
                return None
            return state_of(world.day) if len(self.walked.findings) == found else None
        finally:
            world.close()

    def _settle(self, world: World, leaf: Leaf, value: Value, when: str) -> None:
        """Until all is at rest, which it must stay, and the status speaks of this spec."""
        writes = _come_to_rest(world)
        if world.sim.violation is not None:
            self._found(f"{when}: something breaks", leaf, value, world.sim.violation)
            return
        if not world.has_object():
            if leaf.path[-1] not in TTL:
                self._found(f"{when}: the object is gone", leaf, value, "nobody deleted it")
            return
        if writes and value.value != EACH_MINUTE and not world.is_refused(RETRIED):
            self._found(f"{when}: it does not come to rest", leaf, value, f"{len(writes)} writes, such as {writes[-1]}")
        self._judge_status(world, leaf, value, when)

    def _judge_status(self, world: World, leaf: Leaf, value: Value, when: str) -> None:
        status, metadata = world.raw.get("status", {}), world.raw["metadata"]
        if status.get("observedGeneration") != metadata["generation"]:
            self._found(f"{when}: the status does not speak of this spec", leaf, value, str(status)[:300])
        for condition in status.get("conditions", ()):
            if condition["type"] == "Ready" and condition["status"] != "True":
                self.walked.counts[f"not Ready: {condition['reason']}"] += 1
                if not condition.get("message"):
                    self._found(f"{when}: it is not Ready, and nothing says why", leaf, value, str(condition))

    def _compare(self, leaf: Leaf, value: Value, what: str, one: dict[str, Any], other: dict[str, Any]) -> None:
        found = list(differences(one, other))
        if found:
            self._found(what, leaf, value, " | ".join(found[:6]))

    def _found(self, what: str, leaf: Leaf, value: Value, said: str) -> None:
        self.walked.findings.append(Finding(what, leaf, value, said))
