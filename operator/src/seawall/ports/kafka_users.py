"""Users of a Kafka, and what they may do."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from seawall.domain.kafka_users import Acl, Password, UsersFound


class KafkaUsers(Protocol):
    """Users of one Kafka cluster, and their rights."""

    def find(self, names: Collection[str], principals: Collection[str]) -> UsersFound:
        """Which of these users have a password, and the rights of these principals.

        Raises:
            Refused: Kafka has no authorizer, or our user may not.
            OutsideUnavailable: no answer came.
        """
        ...

    def set_password(self, user: str, password: Password) -> None:
        """Gives a user a password, which is the only one from then on; the user is made if it is not there.

        Raises:
            Refused: Kafka said no.
            OutsideUnavailable: it may be set or not.
        """
        ...

    def add_acls(self, acls: Collection[Acl]) -> None:
        """Gives rights; one that is there is no error.

        Raises:
            Refused: Kafka said no to one.
            OutsideUnavailable: they may be given or not.
        """
        ...

    def remove_acls(self, acls: Collection[Acl]) -> None:
        """Takes exactly these rights; one that is not there is no error.

        Raises:
            Refused: Kafka said no to one.
            OutsideUnavailable: they may be taken or not.
        """
        ...
