"""Ids that the outside makes up: by chance, or by a seed where a run must be repeated."""

from __future__ import annotations

import base64
import uuid
from random import Random

_random = Random()  # noqa: S311 - no secret


def seed_ids(seed: int | str) -> None:
    """From now on the same ids are made up as after the same seed before."""
    _random.seed(seed)


def new_uid() -> str:
    """Of an object, as the API server makes it up."""
    return make_uid()


def new_topic_id() -> str:
    """Of a topic, as Kafka makes it up."""
    return make_topic_id()


def make_uid() -> str:
    """By chance; who writes transcripts has other ones instead."""
    return str(uuid.UUID(int=_random.getrandbits(128), version=4))


def make_topic_id() -> str:
    """The same; none begins with a dash."""
    made = base64.urlsafe_b64encode(_random.randbytes(16)).decode().rstrip("=")
    return made if not made.startswith("-") else make_topic_id()
