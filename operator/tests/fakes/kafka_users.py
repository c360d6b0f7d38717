"""Users of Kafka and their rights, in memory. It passes the KafkaUsers contract."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from seawall.domain.errors import OutsideUnavailable, Refused
from seawall.domain.kafka_users import Acl, Password, UsersFound


@dataclass
class FakeKafkaUsers:
    """The KafkaUsers port.

    Attributes:
        passwords: by user.
        acls: all rights that there are.
        silent: nothing is answered.
        refuses: the sentence by which it says no to changes.
        loses_answers: passwords are set, and nobody hears of it.
    """

    passwords: dict[str, str] = field(default_factory=dict)
    acls: set[Acl] = field(default_factory=set)
    silent: bool = False
    refuses: str = ""
    loses_answers: bool = False

    def find(self, names: Collection[str], principals: Collection[str]) -> UsersFound:
        """As Kafka knows them."""
        self._require_answer()
        with_password = frozenset(name for name in names if name in self.passwords)
        return UsersFound(with_password, frozenset(acl for acl in self.acls if acl.principal in principals))

    def set_password(self, user: str, password: Password) -> None:
        """The only one from then on."""
        self._require_taken()
        self.passwords[user] = password.text
        if self.loses_answers:
            raise OutsideUnavailable("Kafka did not answer")

    def add_acls(self, acls: Collection[Acl]) -> None:
        """Gives rights."""
        if acls:
            self._require_taken()
        self.acls |= set(acls)

    def remove_acls(self, acls: Collection[Acl]) -> None:
        """Takes rights."""
        if acls:
            self._require_taken()
        self.acls -= set(acls)

    def may_log_in(self, user: str, password: str) -> bool:
        """As its listener for clients judges."""
        return self.passwords.get(user) == password

    def _require_answer(self) -> None:
        if self.silent:
            raise OutsideUnavailable("Kafka did not answer")

    def _require_taken(self) -> None:
        self._require_answer()
        if self.refuses:
            raise Refused(self.refuses)
