"""Why Kafka does not answer: its client says so to a callback only, and every call ends in silence."""

from __future__ import annotations

from confluent_kafka import KafkaError

from sparkjob.errors import Denied, Interrupted

_REFUSED = KafkaError._AUTHENTICATION  # noqa: SLF001 - confluent-kafka calls it so
"""Trying often locks accounts."""


class Trouble:
    """The error callback of a client."""

    def __init__(self) -> None:
        self._last: KafkaError | None = None

    def __call__(self, error: KafkaError) -> None:
        """What librdkafka says; that all brokers are down says nothing of why."""
        if error.code() != KafkaError._ALL_BROKERS_DOWN and not self.is_final:  # noqa: SLF001 - as above
            self._last = error

    @property
    def is_final(self) -> bool:
        """Whether waiting is vain."""
        return self._last is not None and self._last.code() == _REFUSED

    def explained(self, silence: str, otherwise: str = "") -> Interrupted | Denied:
        """The error to raise of a silence: with what was said of connections, or else with what it may be."""
        if self._last is None:
            return Interrupted(f"{silence} ({otherwise})" if otherwise else silence)
        if self.is_final:
            return Denied(f"Kafka does not let its user in: {self._last.str()}")
        return Interrupted(f"{silence}: {self._last.str()}")
