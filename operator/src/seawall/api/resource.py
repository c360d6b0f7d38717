"""An object of one of our kinds, as the API server gives it, and what the status of every kind has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Generic, Self, TypeVar, cast

from pydantic import BaseModel, Field, ValidationError

from seawall.api.meta import APIModel, Condition, InvalidSpec, Kind, ObjectMeta, StatusModel

Conditions = Annotated[tuple[Condition, ...], Field(max_length=24, json_schema_extra={"map_keys": ["type"]})]
Stops = Annotated[tuple[Annotated[str, Field(max_length=64)], ...], Field(max_length=8)]
"""Names of annotations by which a person has Seawall stop; a newer operator may know more of them."""

STAGE = "stage"
"""The field of a run's status that says how far it is, as it is called on the wire."""
UNKNOWN_FIELD = "extra_forbidden"
"""What pydantic calls a field that a model does not know."""


class ObjectStatus(StatusModel):
    """A status with conditions; a kind says which ones."""

    observed_generation: Annotated[int, Field(ge=0)] = 0
    """The metadata.generation that this status was computed from."""
    conditions: Conditions = ()
    """Ready, Reconciling and Stalled (kstatus)."""


SpecT = TypeVar("SpecT", bound=APIModel)
StatusT = TypeVar("StatusT", bound=StatusModel)


ModelT = TypeVar("ModelT", bound=BaseModel)


def read_fitting(model: type[ModelT], raw: Mapping[str, Any]) -> tuple[ModelT, Mapping[str, Any]]:
    """The model of the fields that fit; and the others, as they are.

    Raises:
        ValidationError: what it cannot be without does not fit.
    """
    try:
        return model.model_validate(raw), {}
    except ValidationError as error:
        wrong = {str(found["loc"][0]) for found in error.errors(include_url=False, include_input=False)}
        known = model.model_validate({key: raw[key] for key in raw if key not in wrong})
        return known, {key: raw[key] for key in raw if key in wrong}


def name_in(reference: object) -> str | None:
    """The name in a reference to another object, of a spec that does not fit the models."""
    name = reference.get("name") if isinstance(reference, Mapping) else None
    return name if isinstance(name, str) else None


@dataclass(frozen=True, slots=True)
class Resource(Generic[SpecT, StatusT]):
    """Metadata, spec and status of an object. Each kind is a subclass that names its `KIND`."""

    KIND: ClassVar[Kind]
    KEPT: ClassVar[frozenset[str]] = frozenset()
    """Fields of the status, as they are called on the wire, that are kept as they are when they cannot be read."""

    metadata: ObjectMeta
    spec: SpecT | InvalidSpec
    status: StatusT
    unreadable: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the status that do not fit the models, as the API server gives them: `status` lacks them."""

    @classmethod
    def parse(cls, raw: Mapping[str, Any]) -> Self:
        """Reads the object as the API server gives it. What does not fit the models never hides the object itself."""
        known, unreadable = cls._parse_status(raw.get("status") or {})
        metadata = ObjectMeta.model_validate(raw["metadata"])
        spec = cls._parse_spec(raw.get("spec") or {}, unreadable)
        return cls(metadata=metadata, spec=spec, status=known, unreadable=unreadable)

    def written(self, status: StatusT) -> dict[str, Any]:
        """A new status as the API server is given it: what of `KEPT` could not be read stays as it is."""
        dump = status.model_dump(mode="json", by_alias=True, exclude_none=True)
        return dump | {name: raw for name, raw in self.unreadable.items() if name in self.KEPT}

    @classmethod
    def _parse_spec(cls, raw: Mapping[str, Any], unreadable: Mapping[str, Any]) -> SpecT | InvalidSpec:
        """The spec. Of a run in a stage that nobody here knows it counts as one with fields that nobody here knows."""
        if STAGE in cls.KEPT & unreadable.keys():
            message = f"status.{STAGE}: {str(unreadable[STAGE])[:64]} is none that this version knows"
            return replace(cls._invalid_spec(raw, message), only_unknown=True)
        try:
            # The subclass that names SpecT names the same model in its KIND.
            return cast("SpecT", cls.KIND.spec.model_validate(raw, by_alias=True, by_name=False))
        except ValidationError as error:
            first, *others = found = error.errors(include_url=False, include_input=False)
            where = ".".join(map(str, ("spec", *first["loc"])))
            more = f" (and {len(others)} more)" if others else ""
            only_unknown = all(each["type"] == UNKNOWN_FIELD for each in found)
            return replace(cls._invalid_spec(raw, f"{where}: {first['msg']}{more}"), only_unknown=only_unknown)

    @classmethod
    def _invalid_spec(cls, raw: Mapping[str, Any], message: str) -> InvalidSpec:
        """What is known of the object all the same."""
        return InvalidSpec(message, cluster=name_in(raw.get("clusterRef")))

    @classmethod
    def _parse_status(cls, raw: Mapping[str, Any]) -> tuple[StatusT, Mapping[str, Any]]:
        """The fields that fit, because they are all that is remembered; and the others, which are not understood."""
        known, wrong = read_fitting(cls.KIND.status, raw)
        return cast("StatusT", known), wrong


ResourceT = TypeVar("ResourceT", bound=Resource[Any, Any])

AnyResource = Resource[Any, Any]


@dataclass(frozen=True, slots=True)
class Listing(Generic[ResourceT]):
    """Objects of one kind, but for those in `unreadable` namespaces."""

    items: Sequence[ResourceT]
    unreadable: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether these are all that there are."""
        return not self.unreadable
