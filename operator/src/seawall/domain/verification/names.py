"""What the parts of an attempt are called."""

from __future__ import annotations

import re

from seawall.api.meta import Key

MAX_NAME = 45
"""Spark makes Services and labels of the application's name, which take 63 characters with what it adds."""

_NAME = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")


def why_unusable(name: str) -> str | None:
    """Why a verification of this name cannot have an application named after it; None: it can."""
    if len(name) > MAX_NAME:
        return f"the name is longer than {MAX_NAME} characters: Spark's Services could not be named after it"
    if _NAME.fullmatch(name) is None:
        return "the name must begin with a letter and hold no dots: Spark's Services are named after it"
    return None


def attempt_key(verification: Key, attempt: int) -> Key:
    """The hold, the request's ConfigMap and the SparkApplication of an attempt share one name."""
    return Key(verification.namespace, f"{verification.name}-{attempt}")
