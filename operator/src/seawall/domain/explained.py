"""Words of a closed set that explain themselves."""

from __future__ import annotations

from enum import StrEnum
from typing import Self


class Explained(StrEnum):
    """A word, its sentence for people, and what a person can do."""

    sentence: str
    remedy: str

    def __new__(cls, value: str, sentence: str, remedy: str) -> Self:
        """A member that is its name, with its explanation."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.sentence = sentence
        member.remedy = remedy
        return member
