"""A Kafka that does not answer a creation: whoever starts then tries again, and does not end."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from types import SimpleNamespace

import pytest
from confluent_kafka.admin import NewTopic

from refdb.errors import Unavailable
from refdb.wal import topics
from refdb.wal.options import WalOptions


class LateKafka:
    """Knows no topic, and never says whether one was made."""

    def __init__(self, _: object) -> None:
        pass

    def list_topics(self, timeout: float) -> SimpleNamespace:
        assert timeout > 0
        return SimpleNamespace(topics={})

    def create_topics(self, new: Sequence[NewTopic], operation_timeout: float) -> dict[str, Future[None]]:
        assert operation_timeout > 0
        return {topic.topic: Future[None]() for topic in new}


def test_a_creation_without_an_answer_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topics, "AdminClient", LateKafka)
    monkeypatch.setattr(topics, "TIMEOUT", 0.01)
    with pytest.raises(Unavailable, match="cannot create topics: no answer within"):
        topics.require_topics(WalOptions(kafka={"bootstrap.servers": "nobody:1"}, topics=("wal_0",)))
