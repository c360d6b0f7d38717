"""Users of Kafka who may little: made by a super user, tried by themselves. Given to `python -c`, so it stands alone.

For each line of stdin, which is a JSON list, a line of JSON: {"answer": …} or {"error": text}.

["let_read", USER, PASSWORD, PREFIX]   makes a user who may read and describe the topics with this prefix, no more
["let_manage", USER, PASSWORD, PREFIX] the same, who may make such topics besides, and see their configs
["make", USER, PASSWORD, ACLS]         makes a user with the rights of a KafkaUser, as Strimzi's User Operator does
["forget", USER]                       takes the user's password and all that it may away
["delete_as", TOPIC, OFFSET, SERVERS, USER, PASSWORD, CA]
                                       deletes records of a topic as a user, over TLS; Kafka's word, or NO_ERROR
["end_as", TOPIC, SERVERS, USER, PASSWORD, CA]
                                       where a topic ends, as a user sees it; or Kafka's word
"""

from __future__ import annotations

import json
import os
import secrets
import sys
from collections.abc import Callable
from typing import Any

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    OffsetSpec,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialAlteration,
    UserScramCredentialUpsertion,
)

TIMEOUT, ASK_TIMEOUT = 20.0, 5.0
SCRAM, ITERATIONS = ScramMechanism.SCRAM_SHA_512, 4096
MAY = (AclOperation.DESCRIBE, AclOperation.READ)
MAY_MAKE = (*MAY, AclOperation.DESCRIBE_CONFIGS, AclOperation.CREATE)
"""What a managed Kafka may leave to its users."""
DONE = "NO_ERROR"
OPERATIONS = {each.name.title().replace("_", ""): each for each in AclOperation}
KINDS = {"topic": (ResourceType.TOPIC, ""), "cluster": (ResourceType.BROKER, "kafka-cluster")}
PATTERNS = {"prefix": ResourcePatternType.PREFIXED, "literal": ResourcePatternType.LITERAL}
"""As Strimzi writes them, and Kafka."""


def let_read(kafka: AdminClient, user: str, password: str, prefix: str) -> None:
    """Makes a user who may read."""
    allow(kafka, user, password, prefix, *MAY)


def let_manage(kafka: AdminClient, user: str, password: str, prefix: str) -> None:
    """Makes a user as a managed Kafka does."""
    allow(kafka, user, password, prefix, *MAY_MAKE)


def make(kafka: AdminClient, user: str, password: str, acls: list[dict[str, Any]]) -> None:
    """Makes a user with what is in `spec.authorization.acls` of a KafkaUser."""
    rights = [_right(user, acl["resource"], OPERATIONS[operation]) for acl in acls for operation in acl["operations"]]
    _make(kafka, user, password, rights)


def allow(kafka: AdminClient, user: str, password: str, prefix: str, *operations: AclOperation) -> None:
    """Makes a user who may do this with the topics of this prefix."""
    resource = {"type": "topic", "name": prefix, "patternType": "prefix"}
    _make(kafka, user, password, [_right(user, resource, operation) for operation in operations])


def _right(user: str, resource: dict[str, str], operation: AclOperation) -> AclBinding:
    kind, name = KINDS[resource["type"]]
    pattern = PATTERNS[resource.get("patternType", "literal")]
    found = name or resource["name"]
    return AclBinding(kind, found, pattern, f"User:{user}", "*", operation, AclPermissionType.ALLOW)


def _make(kafka: AdminClient, user: str, password: str, rights: list[AclBinding]) -> None:
    """Makes a user of SCRAM-SHA-512; each broker hears of it a moment later."""
    credential = ScramCredentialInfo(SCRAM, ITERATIONS)
    made: list[UserScramCredentialAlteration] = [UserScramCredentialUpsertion(user, credential, password.encode())]
    answers = [*kafka.alter_user_scram_credentials(made).values(), *kafka.create_acls(rights).values()]
    for answer in answers:
        answer.result(TIMEOUT)


def forget(kafka: AdminClient, user: str) -> None:
    """Nobody can be this user any more, and it may nothing.

    It is not removed: a broker of Kafka 4.3.1 that starts again after any user was removed knows the other users of
    SCRAM no more (tried by hand: it does after a restart alone, and after one more user).
    """
    anything: Any = None
    who, operation, permission = f"User:{user}", AclOperation.ANY, AclPermissionType.ANY
    pattern = ResourcePatternType.ANY
    rights = AclBindingFilter(ResourceType.ANY, anything, pattern, who, anything, operation, permission)
    lost = secrets.token_bytes(32)
    gone: list[UserScramCredentialAlteration] = [
        UserScramCredentialUpsertion(user, ScramCredentialInfo(SCRAM, ITERATIONS), lost)
    ]
    answers = [*kafka.delete_acls([rights]).values(), *kafka.alter_user_scram_credentials(gone).values()]
    for answer in answers:
        answer.result(TIMEOUT)


def rights(kafka: AdminClient, user: str, prefix: str, operation: AclOperation) -> list[AclBinding]:
    """What lets a user do this with topics of a prefix, as a broker knows it."""
    found: list[AclBinding] = kafka.describe_acls(_of(user, prefix, operation)).result(TIMEOUT)
    return found


def forbid(kafka: AdminClient, user: str, prefix: str, operation: AclOperation) -> None:
    """Takes it away; all else that the user may stays."""
    for answer in kafka.delete_acls([_of(user, prefix, operation)]).values():
        answer.result(TIMEOUT)


def _of(user: str, prefix: str, operation: AclOperation) -> AclBindingFilter:
    anything: Any = None
    pattern, permission = ResourcePatternType.PREFIXED, AclPermissionType.ANY
    return AclBindingFilter(ResourceType.TOPIC, prefix, pattern, f"User:{user}", anything, operation, permission)


def delete_as(_: AdminClient, topic: str, offset: str, *who: str) -> str:
    """DeleteRecords before an offset."""
    before, client = TopicPartition(topic, 0, int(offset)), _client(*who)
    try:
        for answer in client.delete_records([before], request_timeout=ASK_TIMEOUT).values():
            answer.result(TIMEOUT)
    except (KafkaException, TimeoutError) as error:
        return _word(error)
    return DONE


def end_as(_: AdminClient, topic: str, *who: str) -> int | str:
    """ListOffsets."""
    latest, client = OffsetSpec.latest(), _client(*who)  # type: ignore[no-untyped-call]
    try:
        (answer,) = client.list_offsets({TopicPartition(topic, 0): latest}, request_timeout=ASK_TIMEOUT).values()
        return int(answer.result(TIMEOUT).offset)
    except (KafkaException, TimeoutError) as error:
        return _word(error)


def _word(error: Exception) -> str:
    """Whom the broker does not know yet, librdkafka lets try until the time is over."""
    return "TIMED_OUT" if isinstance(error, TimeoutError) else str(error.args[0].name())


def _client(servers: str, user: str, password: str, authority: str) -> AdminClient:
    return AdminClient(
        {
            "bootstrap.servers": servers,
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.username": user,
            "sasl.password": password,
            "ssl.ca.pem": authority,
            "log_level": 0,
        }
    )


def main() -> None:
    """Answers as long as somebody asks."""
    known: tuple[Callable[..., object], ...] = (let_read, let_manage, make, forget, delete_as, end_as)
    verbs = {each.__name__: each for each in known}
    for line in sys.stdin:
        verb, *words = json.loads(line)
        said: dict[str, object]
        try:
            said = {"answer": verbs[verb](AdminClient({"bootstrap.servers": os.environ["BOOTSTRAP_SERVERS"]}), *words)}
        except (KafkaException, TimeoutError) as error:
            said = {"error": repr(error)}
        print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main()
