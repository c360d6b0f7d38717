"""UnregisterBroker by kafka-python, which has no message for it."""

from __future__ import annotations

from kafka.protocol.api_message import ApiMessage

from seawall.adapters.kafka import messages
from seawall.adapters.kafka.errors import raise_error
from seawall.adapters.kafka.raw import RawKafka, answered

NOT_REGISTERED = 102
"""BROKER_ID_NOT_REGISTERED."""


class UnregisterBrokerRequest(ApiMessage, load_json=messages):  # type: ignore[misc, call-arg]  # kafka-python is not typed
    """A broker forwards it to the controllers."""


class UnregisterBrokerResponse(ApiMessage, load_json=messages):  # type: ignore[misc, call-arg]  # the same
    """What became of it."""


def unregister(kafka: RawKafka, broker: int) -> None:
    """Lets Kafka forget a broker; one that it does not know is forgotten."""
    reported = answered(kafka.ask_any(UnregisterBrokerRequest(broker_id=broker)))
    if reported.error_code != NOT_REGISTERED:
        raise_error(f"to forget broker {broker}", reported.error_code, reported.error_message)
