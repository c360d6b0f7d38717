"""Reads JSON objects strictly: what is missing or of another type is refused with its place, e.g. `topics[3].to`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from sparkjob.errors import Refused

T = TypeVar("T")
MAX_OFFSET = 2**63 - 1
MAX_U64 = 2**64 - 1


@dataclass(frozen=True, slots=True)
class Fields:
    """A JSON object and where it stands. Members that nobody asks for are ignored."""

    where: str
    members: dict[str, Any]

    @classmethod
    def of(cls, value: object, where: str) -> Fields:
        """An object.

        Raises:
            Refused: It is something else.
        """
        if not isinstance(value, dict):
            raise Refused(f"{where} is not a JSON object")
        return cls(where, value)

    def text(self, name: str) -> str:
        """A string that is not empty."""
        value = self._get(name, str)
        if not value:
            raise Refused(f"{self._at(name)} is empty")
        return value

    def text_or_none(self, name: str) -> str | None:
        """A string, or None when it is null or absent."""
        return None if self.members.get(name) is None else self.text(name)

    def number(self, name: str, most: int = MAX_OFFSET) -> int:
        """An integer from 0 on."""
        value = self._get(name, int)
        if not 0 <= value <= most:
            raise Refused(f"{self._at(name)} is {value}, not a number from 0 to {most}")
        return value

    def integer(self, name: str) -> int:
        """An integer that may be negative."""
        return self._get(name, int)

    def number_or_none(self, name: str, most: int = MAX_OFFSET) -> int | None:
        """An integer from 0 on, or None when it is null or absent."""
        return None if self.members.get(name) is None else self.number(name, most)

    def flag(self, name: str) -> bool:
        """True or false, which is also what null or absent means."""
        return False if self.members.get(name) is None else self._get(name, bool)

    def object(self, name: str) -> Fields:
        """An object in it."""
        return Fields.of(self.members.get(name), self._at(name))

    def object_or_none(self, name: str) -> Fields | None:
        """An object in it, or None when it is null or absent."""
        return None if self.members.get(name) is None else self.object(name)

    def objects(self, name: str) -> Iterator[Fields]:
        """The objects of a list."""
        for index, value in enumerate(self._get(name, list)):
            yield Fields.of(value, f"{self._at(name)}[{index}]")

    def texts(self, name: str) -> tuple[str, ...]:
        """The strings of a list."""
        values = self._get(name, list)
        if any(not isinstance(value, str) or not value for value in values):
            raise Refused(f"{self._at(name)} is not a list of strings")
        return tuple(values)

    def numbers(self, name: str, most: int = MAX_OFFSET) -> tuple[int, ...]:
        """The integers from 0 on of a list; none when it is null or absent."""
        values = [] if self.members.get(name) is None else self._get(name, list)
        if any(type(value) is not int or not 0 <= value <= most for value in values):
            raise Refused(f"{self._at(name)} is not a list of numbers from 0 to {most}")
        return tuple(values)

    def check_version(self, *known: int) -> None:
        """Refuses another version than those that are known."""
        version = self.members.get("version")
        if type(version) is not int or version not in known:
            versions = " and ".join(map(str, known))
            raise Refused(f"{self.where} has version {version!r}; this program reads version {versions}")

    def _get(self, name: str, kind: type[T]) -> T:
        value = self.members.get(name)
        if type(value) is not kind:
            raise Refused(
                f"{self._at(name)} is missing" if value is None else f"{self._at(name)} is no {kind.__name__}"
            )
        return value

    def _at(self, name: str) -> str:
        return f"{self.where}.{name}" if self.where else name
