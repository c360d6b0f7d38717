"""The small answers of GreptimeDB's HTTP interfaces: switches, and what became of a statement."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, TypeAdapter

from seawall.domain.dataplane.connection import NotReached, PartRefused
from seawall.domain.dataplane.flush import FlushFailure

_TRANSIENT = frozenset({1000, 1002, 1003, 1005, 1006, 1007, 1008, 4007, 4008, 4009, 4010, 5000, 5001, 6000, 6001})
"""Codes of failures that may pass: a datanode is away, the region is opening, busy or moving, storage is slow."""
_AUTH = range(7000, 8000)


class _Answer(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True)


class _Enabled(_Answer):
    enabled: bool


class _SQL(_Answer):
    """An answer to a statement: a code and a sentence if it failed."""

    code: int = 0
    error: str = ""
    output: list[Any] | None = None


_ENABLED, _SQL_ANSWER = TypeAdapter(_Enabled), TypeAdapter(_SQL)


def read_switch(body: bytes) -> bool:
    """Whether a switch is on.

    Raises:
        ValueError: this is no such answer.
    """
    return _ENABLED.validate_json(body).enabled


def read_sql(body: bytes) -> FlushFailure | None:
    """What became of a statement.

    Raises:
        PartRefused: the frontend wants a user, or another one.
        ValueError: this is no answer to a statement.
    """
    answer = _SQL_ANSWER.validate_json(body)
    if answer.code in _AUTH:
        message = f"the frontend wants a user name and password ({answer.code}: {answer.error}), which Seawall has not"
        raise PartRefused(NotReached.AUTHENTICATION_FAILED, message)
    if answer.code:
        return FlushFailure(f"{answer.code}: {answer.error}", final=answer.code not in _TRANSIENT)
    if answer.output is None:
        raise ValueError("neither output nor code")
    return None
