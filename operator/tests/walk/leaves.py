"""All leaves of the specs of all kinds, as the CRDs have them, and a valid example in which each can be set."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from seawall.api.meta import Kind
from seawall.api.v1alpha1.kinds import KINDS
from seawall.crdgen.crd import build_crd
from tests.support.kube import load_yaml

EXAMPLES = Path(__file__).parents[3] / "crds/examples/valid"
ITEM, ENTRY = "[]", "*"
"""Steps of a path: the first item of a list, and the first value of a map."""
ABSENT = object()
"""There is nothing at a path."""

SAMPLES = ("a", "1", "1m", "a:1", "https://a", "4.1.0")
"""Of each pattern one text."""

Path_ = tuple[str, ...]
Spec = dict[str, Any]


@dataclass(frozen=True)
class Leaf:
    """A field that has no fields of its own, or a list or a map as a whole.

    Attributes:
        schema: its OpenAPI schema.
        required: whether the object that it is in must have it.
        base: the spec of an example that has it, or all that it is in.
        example: the example's name.
    """

    kind: Kind
    path: Path_
    schema: dict[str, Any] = field(compare=False, hash=False)
    required: bool
    base: Spec = field(compare=False, hash=False)
    example: str

    @property
    def name(self) -> str:
        """As people write it."""
        return f"{self.kind.kind}.spec.{'.'.join(self.path).replace('.[]', '[]').replace('.*', '[*]')}"

    @property
    def value(self) -> Any:
        """What the example has there."""
        return at(self.base, self.path)

    @property
    def is_whole(self) -> bool:
        """Whether this is a list, a map or an object, whose leaves are others."""
        return "items" in self.schema or "additionalProperties" in self.schema or "properties" in self.schema


@cache
def leaves() -> tuple[Leaf, ...]:
    """All of them, kind by kind."""
    return tuple(leaf for kind in KINDS for leaf in _leaves_of(kind))


@cache
def schema_of(kind: Kind) -> dict[str, Any]:
    """Of the spec, as the CRD has it."""
    (version,) = build_crd(kind)["spec"]["versions"]
    found: dict[str, Any] = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    return found


def _leaves_of(kind: Kind) -> Iterator[Leaf]:
    schema = schema_of(kind)
    for path, found, required in _walk(schema, ()):
        example, base = _base(kind, schema, path, found)
        yield Leaf(kind, path, found, required, base, example)


def _base(kind: Kind, schema: dict[str, Any], path: Path_, found: dict[str, Any]) -> tuple[str, Spec]:
    """The example that has most of what the leaf is in, and takes it."""
    bases = [(name, spec) for of, name, spec in _examples() if of == kind.kind]
    nearest = sorted(bases, key=lambda base: -_depth(base[1], path))
    made = [(name, _completed(base, schema, path)) for name, base in nearest]
    takes = (
        (name, base)
        for name, base in made
        if _is_read(kind, base if at(base, path) is not ABSENT else with_value(base, path, _least(found, path[-1])))
    )
    return next(takes, made[0])


def _is_read(kind: Kind, spec: Spec) -> bool:
    try:
        kind.spec.model_validate(spec, by_alias=True, by_name=False)
    except ValidationError:
        return False
    return True


@cache
def _examples() -> tuple[tuple[str, str, Spec], ...]:
    found = [(path.stem, load_yaml(path)) for path in sorted(EXAMPLES.glob("*.yaml"))]
    return tuple((raw["kind"], name, raw["spec"]) for name, raw in found)


def _given(name: str, value: Any) -> Iterator[Any]:
    """What fields of this name have in a spec."""
    if isinstance(value, dict):
        for key, below in value.items():
            if key == name:
                yield below
            yield from _given(name, below)
    elif isinstance(value, list):
        for below in value:
            yield from _given(name, below)


def _walk(schema: dict[str, Any], path: Path_) -> Iterator[tuple[Path_, dict[str, Any], bool]]:
    required = set(schema.get("required", ()))
    for name, below in schema.get("properties", {}).items():
        yield from _below(below, (*path, name), required=name in required)


def _below(schema: dict[str, Any], path: Path_, *, required: bool) -> Iterator[tuple[Path_, dict[str, Any], bool]]:
    yield path, schema, required
    if "properties" in schema:
        yield from _walk(schema, path)
    elif "items" in schema:
        yield from _below(schema["items"], (*path, ITEM), required=False)
    elif "additionalProperties" in schema:
        yield from _below(schema["additionalProperties"], (*path, ENTRY), required=False)


def _completed(base: Spec, schema: dict[str, Any], path: Path_) -> Spec:
    """The same spec with all that the leaf is in, and what that must have."""
    for size in range(1, len(path)):
        schema = below(schema, path[size - 1])
        if at(base, path[:size]) is ABSENT:
            base = with_value(base, path[:size], _least(schema, path[size - 1]))
    return base


def below(schema: dict[str, Any], step: str) -> dict[str, Any]:
    """The schema of a field, of a list's items or of a map's values."""
    found: dict[str, Any] = (
        schema["items"] if step == ITEM else schema.get("additionalProperties") or schema["properties"][step]
    )
    return found


def _least(schema: dict[str, Any], name: str) -> Any:
    """What fields of this name have in an example, or the least value that a schema takes."""
    given = (each for _, _, spec in _examples() for each in _given(name, spec) if _fits(each, schema))
    return next(given, None) or _made_up(schema)


def _made_up(schema: dict[str, Any]) -> Any:
    if "enum" in schema:
        return schema["enum"][0]
    match schema.get("type"):
        case "array":
            return [_least(schema["items"], ITEM)] * schema.get("minItems", 0)
        case "object":
            fields = schema.get("properties", {})
            return {name: _least(fields[name], name) for name in schema.get("required", ())}
        case "integer":
            return schema.get("minimum", 0)
        case "boolean":
            return False
        case _:
            return next((text for text in SAMPLES if _matches(schema.get("pattern", ""), text)), "a")


def _fits(value: Any, schema: dict[str, Any]) -> bool:
    """Whether it is of the same shape, and no more than its required fields."""
    if "properties" in schema:
        return (
            isinstance(value, dict) and set(schema.get("required", ())) <= value.keys() <= schema["properties"].keys()
        )
    of_type = {"array": list, "object": dict, "integer": int, "boolean": bool, "string": str}
    return type(value) is of_type.get(schema.get("type", ""), str) and value not in ([], {})


def _matches(pattern: str, text: str) -> bool:
    """As Rust and Go do; Python has no classes of Unicode."""
    return re.search(pattern.replace(r"\p{Z}", ""), text) is not None


def _depth(base: Spec, path: Path_) -> int:
    """How much of a path is there."""
    return next((size - 1 for size in range(1, len(path) + 1) if at(base, path[:size]) is ABSENT), len(path))


# --- specs


def at(spec: Any, path: Sequence[str]) -> Any:
    """What is at a path, or ABSENT."""
    for step in path:
        key = _key(spec, step)
        if key is ABSENT:
            return ABSENT
        spec = spec[key]
    return spec


def with_value(spec: Spec, path: Sequence[str], value: Any) -> Spec:
    """The same spec with another value at a path, or with none; objects on the way are made."""
    made = copy.deepcopy(spec)
    here: Any = made
    for step in path[:-1]:
        key = _key(here, step)
        if key is ABSENT:
            key = _new_key(here, step)
        here = here[key]
    last = _key(here, path[-1])
    if value is ABSENT:
        if last is not ABSENT:
            del here[last]
    elif last is ABSENT:
        here[_new_key(here, path[-1])] = value
    else:
        here[last] = value
    return made


def _key(spec: Any, step: str) -> Any:
    if step == ITEM:
        return 0 if isinstance(spec, list) and spec else ABSENT
    if not isinstance(spec, dict):
        return ABSENT
    if step == ENTRY:
        return next(iter(spec), ABSENT)
    return step if step in spec else ABSENT


def _new_key(here: Any, step: str) -> Any:
    """Makes room for what comes below."""
    if step == ITEM:
        here.append({})
        return 0
    here["flush.messages" if step == ENTRY else step] = {}
    return next(iter(here)) if step == ENTRY else step
