"""One librdkafka client, which several threads use at once."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from seawall.adapters.kafka.connection import Trouble, explain, open_client
from seawall.adapters.kafka.errors import is_silence, wait_for
from seawall.adapters.kafka.shared_answers import SharedAnswers
from seawall.adapters.kafka.values import view_of
from seawall.adapters.times import HEARSAY_SECONDS
from seawall.domain.errors import OutsideUnavailable
from seawall.domain.kafka import KafkaConnection, KafkaView, NoKafka
from seawall.progress import request_ended


@dataclass(slots=True)
class _Open:
    """A client, what it says about its connections, and how many looks at Kafka are under way with it."""

    client: AdminClient
    trouble: Trouble = field(default_factory=Trouble)
    observer: int = 0


class SharedClient:
    """Made at the first call, and thrown away when it could not connect, or nobody answered it.

    librdkafka goes on trying, many times a second while it is asked, and what it says piles up in memory until somebody
    listens. What is for the controller it sends to the broker that it heard of as such, also where that one has gone,
    until it asks for the metadata again: five minutes (`topic.metadata.refresh.interval.ms`). A client of which
    somebody still has a call under way ends with that call.
    """

    def __init__(self, connection: KafkaConnection, timeout: float) -> None:
        self.connection = connection
        self._timeout = timeout
        self._views = SharedAnswers(self._ask_unless_silent)
        self._lock = threading.Lock()
        self._open: _Open | None = None
        self._failure: NoKafka | None = None
        self._retrying = threading.Lock()

    def get(self) -> AdminClient | NoKafka:
        """The client, for one call."""
        opened = self._get()
        return opened if isinstance(opened, NoKafka) else opened.client

    def wait_for(
        self, client: AdminClient, futures: Mapping[str, Future[Any]], timeout: float
    ) -> tuple[dict[str, Any], dict[str, KafkaError]]:
        """What this client was answered: by name the values, and the errors.

        Raises:
            OutsideUnavailable: an answer did not come, not even an error.
        """
        try:
            values, errors = wait_for(futures, timeout)
        except OutsideUnavailable:
            self._discard(client)
            raise
        drain(client)
        if any(map(is_silence, errors.values())):
            self._discard(client)
        return values, errors

    def close(self) -> None:
        """Closes the connections; calls that are under way end first."""
        with self._lock:
            closed = self._open
            self._open = None
        del closed  # outside of the lock: the end of the last reference takes a moment

    def view(self) -> KafkaView | NoKafka:
        """Asks for the cluster's metadata.

        They name all topics of a Kafka, whoever asks: of n objects on it that is n times n work. So one thread asks at
        a time, and all who asked before it did share the answer.

        A Kafka that did not answer before is asked by one thread at a time: silence lasts until the deadline, and many
        objects on one silent Kafka must not occupy all workers. The other threads get the newest answer there is.
        """
        before = self._failure
        if before is None:
            return self._views.get()
        if not self._retrying.acquire(timeout=HEARSAY_SECONDS):
            return self._failure or self._ask()
        try:
            now = self._failure
            return now if now is not None and now is not before else self._ask()
        finally:
            self._retrying.release()

    def _ask_unless_silent(self) -> KafkaView | NoKafka:
        """What failed while others waited for their turn is what they hear: each would wait for the deadline anew."""
        return self._failure or self._ask()

    def _get(self) -> _Open | NoKafka:
        with self._lock:
            if self._open is None:
                trouble = Trouble()
                client = open_client(self.connection, trouble)
                if isinstance(client, NoKafka):
                    return client
                self._open = _Open(client, trouble)
            return self._open

    def _ask(self) -> KafkaView | NoKafka:
        opened = self._get()
        if isinstance(opened, NoKafka):
            return opened
        drain(opened.client)
        with self._lock:
            if (
                opened.observer == 0
            ):  # what was said before explains nothing now; another look may need what is said now
                opened.trouble.clear()
            opened.observer += 1
        try:
            answer = self._observe(opened)
        finally:
            with self._lock:
                opened.observer -= 1
        self._failure = answer if isinstance(answer, NoKafka) else None
        if isinstance(answer, NoKafka):
            self._discard(opened.client)
        return answer

    def _observe(self, opened: _Open) -> KafkaView | NoKafka:
        """Asks in slices that grow: a wrong password is known after a moment, a slow answer gets its time."""
        deadline = time.monotonic() + self._timeout
        slices = itertools.chain((0.5, 1.0, 2.0), itertools.repeat(self._timeout))
        for seconds in slices:
            remaining = deadline - time.monotonic()
            if remaining <= 0 or opened.trouble.is_final():
                break
            try:
                metadata = opened.client.list_topics(timeout=min(seconds, remaining))
            except KafkaException:
                opened.client.poll(0.1)  # it can also fail at once: do not spin
            else:
                return view_of(self.connection, metadata)
            finally:
                request_ended()
                drain(opened.client)
        return explain(self.connection, opened.trouble, self._timeout)

    def _discard(self, failed: AdminClient) -> None:
        with self._lock:
            if self._open is not None and self._open.client is failed:  # another thread may have a newer one by now
                self._open = None


def drain(client: AdminClient) -> None:
    """Has the client say what it has to say."""
    while client.poll(0):
        pass
