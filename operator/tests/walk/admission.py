"""Two validators are asked the same: the API server by the CRD, and the operator by its models. They must agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from http import HTTPStatus
from random import Random
from typing import Any

from pydantic import BaseModel, ValidationError

from seawall.api.meta import GROUP, APIModel, Kind
from seawall.crdgen.schema import model_parts
from tests.support.kube import KubeClient, Refusal
from tests.walk.leaves import ABSENT, Leaf, Spec, with_value
from tests.walk.values import Value, values

ASKED_AT_ONCE = 6
SAID_WITHOUT_A_FIELD = ("rule evaluation error", "no such key", "no such overload", "cost")
"""What a rule that breaks says, and no person understands."""


@dataclass(frozen=True)
class Finding:
    """One value of which something is wrong.

    Attributes:
        what: the oracle.
        said: by who is wrong.
    """

    what: str
    leaf: Leaf
    value: Value
    said: str

    def __str__(self) -> str:
        return f"{self.leaf.name} {self.value}: {self.what}: {self.said[:600]}"


@dataclass
class Walked:
    """What a walk came to."""

    findings: list[Finding] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    accepted: set[str] = field(default_factory=set)
    """Names of leaves that had a value, and were taken."""

    def add(self, leaf: Leaf, value: Value, findings: Iterable[Finding], *, accepted: bool) -> None:
        """Counts a value."""
        self.findings += findings
        self.counts["values"] += 1
        self.counts["accepted" if accepted else "refused"] += 1
        self.counts[f"values {value.intent}"] += 1
        if accepted and value.value is not ABSENT and value.value is not None:
            self.accepted.add(leaf.name)


@dataclass(frozen=True)
class Admission:
    """The API server, asked with `--dry-run=server`.

    Attributes:
        group: of the CRDs: another one has mutants of them.
    """

    kube: KubeClient
    group: str = GROUP

    def walk(self, steps: Iterable[tuple[Leaf, Value]]) -> Walked:
        """Gives each leaf its value."""
        walked, todo = Walked(), list(steps)
        with ThreadPoolExecutor(ASKED_AT_ONCE) as pool:
            for (leaf, value), (findings, accepted) in zip(todo, pool.map(self._ask, todo), strict=True):
                walked.add(leaf, value, findings, accepted=accepted)
        walked.counts["leaves"] = len({leaf.name for leaf, _ in todo if not leaf.is_whole})
        walked.counts["lists, maps and objects"] = len({leaf.name for leaf, _ in todo if leaf.is_whole})
        return walked

    def _ask(self, step: tuple[Leaf, Value]) -> tuple[list[Finding], bool]:
        leaf, value = step
        spec = with_value(leaf.base, leaf.path, value.value)
        try:
            stored = self._apply(leaf.kind, spec)
        except Refusal as refusal:
            return [
                Finding(what, leaf, value, said) for what, said in _judge_refused(leaf, value, spec, refusal)
            ], False
        return [Finding(what, leaf, value, said) for what, said in _judge_accepted(leaf, value, spec, stored)], True

    def _apply(self, kind: Kind, spec: Spec) -> Spec:
        path = f"/apis/{self.group}/v1alpha1/namespaces/default/{kind.plural}"
        body = {
            "apiVersion": f"{self.group}/v1alpha1",
            "kind": kind.kind,
            "metadata": {"name": "walked"},
            "spec": spec,
        }
        found: Spec = self.kube.create(f"{path}?dryRun=All&fieldValidation=Strict", body)["spec"]
        return found


def sample(leaves: Iterable[Leaf], of_each: int, random: Random) -> Iterator[tuple[Leaf, Value]]:
    """Some values of each leaf: one of them is what the example has, where it has something."""
    for leaf in leaves:
        first, *others = values(leaf)
        yield leaf, first
        yield from ((leaf, value) for value in random.sample(others, min(of_each - 1, len(others))))


def steps(leaves: Iterable[Leaf]) -> Iterator[tuple[Leaf, Value]]:
    """All values of all leaves."""
    return ((leaf, value) for leaf in leaves for value in values(leaf))


def _judge_accepted(leaf: Leaf, value: Value, spec: Spec, stored: Spec) -> Iterator[tuple[str, str]]:
    if value.refused:
        yield "it is taken", repr(value.value)
    if not _has(stored, spec):
        yield "what is stored lacks what was written", repr(stored)
    read, asked = _read(leaf.kind, stored), _read(leaf.kind, _without_nulls(spec))
    if isinstance(read, str):
        yield "the API server takes it, the operator cannot read it", read
    elif isinstance(asked, str):
        if not isinstance(value.value, float):  # 1e3 is stored as 1000
            yield "the API server takes it, the models do not", asked
    elif asked != read:
        yield "a default of the CRD is none of the models", f"{_differing(asked, read)}"


def _judge_refused(leaf: Leaf, value: Value, spec: Spec, refusal: Refusal) -> Iterator[tuple[str, str]]:
    said = str(refusal)
    if value.refused is False:
        yield "an example is refused", said
    if refusal.status not in {HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY}:
        yield "it is no refusal", said
    if any(each in said for each in SAID_WITHOUT_A_FIELD):
        yield "a rule breaks", said
    if not _names(said, leaf):
        yield "the refusal does not name the field", said
    read = _read(leaf.kind, spec)
    if not isinstance(read, str):
        if not _is_lenient(value.value) and not any(each in said for each in _only_in_cel(leaf.kind.spec)):
            yield "the API server refuses it, the models do not", said
    elif not _names(read, leaf):
        yield "the models' refusal does not name the field", read


def _is_lenient(value: Any) -> bool:
    """What the models read, and no API server can store: a null, an integer of more than 64 bits; 1 equals True."""
    is_large = isinstance(value, int) and not -(2**63) <= value < 2**63
    return value is None or is_large or value == 1


def _read(kind: Kind, spec: Spec) -> APIModel | str:
    """As the operator reads it, or why it cannot."""
    try:
        return kind.spec.model_validate(spec, by_alias=True, by_name=False)
    except ValidationError as error:
        return "; ".join(
            f"{'.'.join(map(str, ('spec', *each['loc'])))}: {each['msg']}" for each in error.errors(include_url=False)
        )
    except Exception as error:  # noqa: BLE001 - it would be the operator's
        return f"TRACEBACK {type(error).__name__}: {error}"


def _names(said: str, leaf: Leaf) -> bool:
    """Whether a person knows which field is meant: it is named, or one that it is in, or the fields beside it."""
    names = [step for step in leaf.path if step not in {"[]", "*"}]
    return names[-1] in said or (len(names) > 1 and f"{names[-2]}" in said)


@cache
def _only_in_cel(model: type[APIModel]) -> frozenset[str]:
    """What the API server says by rules that the models leave to it: the operator tells them by conditions."""
    rules = [rule for part in model_parts(model) for rule in part.RULES]
    return frozenset(rule.message for rule in rules if rule.holds is None) | {"unknown time zone"}


def _without_nulls(value: Any) -> Any:
    """The API server drops a null where there is a default."""
    if isinstance(value, dict):
        return {key: _without_nulls(found) for key, found in value.items() if found is not None}
    return [_without_nulls(found) for found in value] if isinstance(value, list) else value


def _has(stored: Any, written: Any) -> bool:
    """Whether all that was written is stored; nulls are dropped, and defaults are added."""
    if isinstance(written, dict):
        return isinstance(stored, dict) and all(
            found is None or (key in stored and _has(stored[key], found)) for key, found in written.items()
        )
    if isinstance(written, list):
        return (
            isinstance(stored, list)
            and len(stored) == len(written)
            and all(_has(*each) for each in zip(stored, written, strict=True))
        )
    return bool(stored == written) and isinstance(stored, bool) == isinstance(written, bool)


def _differing(one: BaseModel, other: BaseModel) -> dict[str, Any]:
    a, b = one.model_dump(mode="json", by_alias=True), other.model_dump(mode="json", by_alias=True)
    return {key: (a[key], b[key]) for key in a if a[key] != b[key]}
