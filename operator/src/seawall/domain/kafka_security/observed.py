"""What one tick sees of certificates and users."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from seawall.domain.clocks import TrustedTime
from seawall.domain.kafka_users import Password, UsersFound
from seawall.domain.managed_kafka.certificates import Certificates

DISCARDED = "discarded"
"""Instead of a digest: the password is one that nobody knows."""


@dataclass(frozen=True, slots=True)
class Observed:
    """What one tick sees.

    Attributes:
        certificates: None: this Kafka has none.
        kafka: a sentence: why it was not asked, or did not answer.
        passwords: by user; a sentence: what is wrong with its Secret. Empty where none has a password.
        given: by user the digest of the password that this process gave it.
    """

    time: TrustedTime
    certificates: Certificates | None = None
    kafka: UsersFound | str = "nobody has asked it"
    passwords: Mapping[str, Password | str] = field(default_factory=dict)
    given: Mapping[str, str] = field(default_factory=dict)
