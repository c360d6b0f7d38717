"""AddRaftVoter and RemoveRaftVoter (KIP-853) by kafka-python, which has no messages for them."""

from __future__ import annotations

import base64
import uuid

from kafka.protocol.api_message import ApiMessage

from seawall.adapters.kafka import messages
from seawall.adapters.kafka.errors import raise_error
from seawall.adapters.kafka.raw import RawKafka, answered
from seawall.domain.partitions import NewVoter


class AddRaftVoterRequest(ApiMessage, load_json=messages):  # type: ignore[misc, call-arg]  # kafka-python is not typed
    """A broker forwards it to the controllers."""


class AddRaftVoterResponse(ApiMessage, load_json=messages):  # type: ignore[misc, call-arg]  # the same
    """What became of it."""


class RemoveRaftVoterRequest(ApiMessage, load_json=messages):  # type: ignore[misc, call-arg]  # the same
    """A broker forwards it to the controllers."""


class RemoveRaftVoterResponse(ApiMessage, load_json=messages):  # type: ignore[misc, call-arg]  # the same
    """What became of it."""


def add_voter(kafka: RawKafka, voter: NewVoter, milliseconds: int) -> None:
    """Lets a controller vote that follows the metadata log. Kafka answers REQUEST_TIMED_OUT until it has all of it."""
    listener = AddRaftVoterRequest.Listener(name=voter.listener, host=voter.host, port=voter.port)
    request = AddRaftVoterRequest(
        cluster_id=None,
        timeout_ms=milliseconds,
        voter_id=voter.id,
        voter_directory_id=_uuid(voter.directory_id),
        listeners=[listener],
    )
    reported = answered(kafka.ask_any(request))
    raise_error(f"to let controller {voter.id} vote", reported.error_code, reported.error_message)


def remove_voter(kafka: RawKafka, voter: int, directory_id: str) -> None:
    """Takes the vote of a controller's disk; another disk of the same controller keeps it."""
    request = RemoveRaftVoterRequest(cluster_id=None, voter_id=voter, voter_directory_id=_uuid(directory_id))
    reported = answered(kafka.ask_any(request))
    raise_error(f"to take the vote of controller {voter}", reported.error_code, reported.error_message)


def _uuid(text: str) -> uuid.UUID:
    """As Kafka writes an id (Uuid.toString), which is base64 without its end."""
    return uuid.UUID(bytes=base64.urlsafe_b64decode(f"{text}=="))
