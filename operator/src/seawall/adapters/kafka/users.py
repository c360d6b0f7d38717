"""The port `KafkaUsers` by confluent-kafka. Brokers learn of a change one after another: it waits, but not for long."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from seawall.adapters.kafka.client import SharedClient
from seawall.adapters.kafka.errors import is_refusal, refusal_of
from seawall.domain.errors import OutsideUnavailable, Refused
from seawall.domain.kafka import NoKafka
from seawall.domain.kafka_users import Acl, Password, UsersFound

SCRAM = ScramMechanism.SCRAM_SHA_512
ITERATIONS = 8192
KNOWN_TIMEOUT, KNOWN_POLL = 5.0, 0.05
ABSENT = KafkaError.RESOURCE_NOT_FOUND
_ANY: Any = None
"""What the library takes for any name; its types do not say so."""
CLUSTER = ResourceType.BROKER
"""What the library calls Kafka's CLUSTER."""


class ConfluentKafkaUsers:
    """Users of one Kafka cluster; any number of threads may use it at once."""

    def __init__(self, client: SharedClient, *, request_timeout: float) -> None:
        self._client = client
        self._request_timeout = request_timeout

    def find(self, names: Collection[str], principals: Collection[str]) -> UsersFound:
        """Asks for each user by name, and for all rights at once."""
        with_password = frozenset(name for name in names if self._has_password(name))
        acls = self._all_acls() if principals else frozenset()
        return UsersFound(with_password, frozenset(acl for acl in acls if acl.principal in principals))

    def set_password(self, user: str, password: Password) -> None:
        """Sets it, and waits until the broker that happens to be asked knows of the user."""
        credential = ScramCredentialInfo(SCRAM, ITERATIONS)
        wanted = UserScramCredentialUpsertion(user, credential, password.text.encode())
        self._ask(
            lambda client: client.alter_user_scram_credentials([wanted], request_timeout=self._request_timeout),
            f"the password of user {user}",
        )
        self._wait(lambda: self._has_password(user))

    def add_acls(self, acls: Collection[Acl]) -> None:
        """Gives them in one request."""
        bindings = [_binding(acl) for acl in sorted(acls)]
        if bindings:
            self._ask(
                lambda client: _by_number(client.create_acls(bindings, request_timeout=self._request_timeout)), "rights"
            )
            self._wait(lambda: frozenset(acls) <= self._all_acls())

    def remove_acls(self, acls: Collection[Acl]) -> None:
        """Takes them in one request."""
        filters = [_filter(acl) for acl in sorted(acls)]
        if filters:
            self._ask(
                lambda client: _by_number(client.delete_acls(filters, request_timeout=self._request_timeout)), "rights"
            )
            self._wait(lambda: self._all_acls().isdisjoint(acls))

    def _has_password(self, name: str) -> bool:
        def describe(client: AdminClient) -> Mapping[str, Future[Any]]:
            found = client.describe_user_scram_credentials([name], request_timeout=self._request_timeout)
            return found if isinstance(found, dict) else {name: found}

        try:
            found = self._ask(describe, f"user {name}")
        except _NoSuchUser:
            return False
        return any(info.mechanism == SCRAM for info in found[name].scram_credential_infos)

    def _all_acls(self) -> frozenset[Acl]:
        anything = AclBindingFilter(
            *(ResourceType.ANY, _ANY, ResourcePatternType.ANY, _ANY, _ANY, AclOperation.ANY, AclPermissionType.ANY)
        )
        found = self._ask(
            lambda client: {"rights": client.describe_acls(anything, request_timeout=self._request_timeout)}, "rights"
        )
        return frozenset(_acl(binding) for binding in found["rights"])

    def _ask(self, ask: Callable[[AdminClient], Mapping[str, Future[Any]]], what: str) -> dict[str, Any]:
        client = self._client.get()
        if isinstance(client, NoKafka):
            raise OutsideUnavailable(client.message)
        try:
            futures = ask(client)
        except KafkaException as failure:
            raise _failure(failure.args[0], what) from None
        except ValueError as error:  # a name or a password that the client does not take
            raise Refused(f"Kafka's client refused {what}: {error}") from None
        values, errors = self._client.wait_for(client, futures, self._request_timeout)
        for found in errors.values():
            raise _failure(found, what)
        return values

    def _wait(self, is_known: Callable[[], bool]) -> None:
        """A look that is too old would have the same done once more."""
        deadline = time.monotonic() + KNOWN_TIMEOUT
        while time.monotonic() < deadline:
            try:
                if is_known():
                    return
            except (OutsideUnavailable, Refused):  # nobody knows, and the next look will
                return
            time.sleep(KNOWN_POLL)


class _NoSuchUser(Refused):
    """Kafka knows no such user."""


def _failure(error: KafkaError, what: str) -> Exception:
    if error.code() == ABSENT:
        return _NoSuchUser(error.str())
    if is_refusal(error):
        return refusal_of(error, f"Kafka refused {what}: {error.str()}")
    return OutsideUnavailable(f"Kafka did not answer for {what}: {error.str()}")


def _by_number(futures: Mapping[Any, Future[Any]]) -> dict[str, Future[Any]]:
    return {str(number): future for number, future in enumerate(futures.values())}


def _binding(acl: Acl) -> AclBinding:
    return AclBinding(*_parts(acl))


def _filter(acl: Acl) -> AclBindingFilter:
    return AclBindingFilter(*_parts(acl))


def _parts(acl: Acl) -> tuple[Any, ...]:
    return (
        CLUSTER if acl.resource == "CLUSTER" else ResourceType[acl.resource],
        acl.name,
        ResourcePatternType[acl.pattern],
        acl.principal,
        acl.host,
        AclOperation[acl.operation],
        AclPermissionType[acl.permission],
    )


def _acl(binding: AclBinding) -> Acl:
    """The library takes words and numbers, too, and answers with members of its enumerations."""
    kind = ResourceType(binding.restype)
    return Acl(
        principal=binding.principal,
        operation=AclOperation(binding.operation).name,
        name=binding.name,
        resource="CLUSTER" if kind is CLUSTER else kind.name,
        pattern=ResourcePatternType(binding.resource_pattern_type).name,
        permission=AclPermissionType(binding.permission_type).name,
        host=binding.host,
    )
