"""The CRD generator refuses what a CRD cannot say."""

from typing import Annotated

import pytest
from pydantic import Field

from seawall.api.meta import APIModel, Rule
from seawall.crdgen.schema import NotStructuralError, build_schema


class Inner(APIModel):
    RULES = (Rule("self.size > 1", "size must be above 1", lambda inner: inner.size > 1),)

    size: Annotated[int, Field(ge=0)] = 5
    """How large."""


class Good(APIModel):
    inner: Inner = Inner()
    """An object with defaults of its own."""
    maybe: Annotated[str, Field(max_length=9)] | None = None
    """Absent or text, never null."""


def test_objects_optionals_defaults_and_rules() -> None:
    assert build_schema(Good) == {
        "type": "object",
        "properties": {
            "inner": {
                "type": "object",
                "description": "An object with defaults of its own.",
                "properties": {
                    "size": {
                        "type": "integer",
                        "description": "How large.",
                        "minimum": 0,
                        "maximum": 2**53 - 1,
                        "format": "int64",
                        "default": 5,
                    }
                },
                "x-kubernetes-validations": [{"rule": "self.size > 1", "message": "size must be above 1"}],
                "default": {},
            },
            "maybe": {"type": "string", "description": "Absent or text, never null.", "maxLength": 9},
        },
    }


class Unbounded(APIModel):
    text: str
    """A text of any length."""


class UnboundedList(APIModel):
    texts: tuple[Annotated[str, Field(max_length=9)], ...]
    """A list of any length."""


class Undescribed(APIModel):
    size: int


class DeclaredAnew(Inner):
    size: int = 7


class Union(APIModel):
    either: Inner | Annotated[str, Field(max_length=9)]
    """Two shapes."""


class OtherCharacters(APIModel):
    text: Annotated[str, Field(max_length=9, pattern=r"^[^\s]+$")]
    """To Go, a wide space is none."""


@pytest.mark.parametrize(
    ("model", "problem"),
    [
        (Unbounded, "Unbounded.text: a string needs maxLength"),
        (UnboundedList, "UnboundedList.texts: a array needs maxItems"),
        (Undescribed, "Undescribed.size: has no description"),
        (DeclaredAnew, "DeclaredAnew.size: has no description"),
        (OtherCharacters, r"OtherCharacters.text: \\s in a pattern means other characters to Go than to Rust"),
        (Union, "Union.either: only integer"),
    ],
)
def test_what_a_crd_cannot_say_is_an_error_that_names_the_field(model: type[APIModel], problem: str) -> None:
    with pytest.raises(NotStructuralError, match=problem):
        build_schema(model)
