"""The rights that RECORDS.md names are enough; without one of them it is said at once which."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)
from handed_on import Handed
from mirrors import side_of
from record_logs import CPU, Written
from test_rights_of_a_mirror import PASSWORD, USER, as_user, forget, strict

from seawall_e2e import kafka_users
from seawall_e2e.loopback import KafkaProcesses
from seawall_e2e.waiting import wait_until
from sparkjob.errors import Refused
from wal_subscription.batches import SOURCE_RIGHTS
from wal_subscription.records import process
from wal_subscription.records.micro_batches import PROGRESS_RIGHTS, ROWS_RIGHTS, RecordsBatches

__all__ = ["strict"]
pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("mirror")]
PAGE = (Path(__file__).parents[1] / "contract/RECORDS.md").read_text()
RIGHTS = (
    "Describe and Write on the topics of rows and dead letters; Describe, Read and Write on that of progress; "
    "Describe and Write on transactional ids that begin with `<writer>.`"
)
ON_IDS = (AclOperation.DESCRIBE, AclOperation.WRITE)


@pytest.fixture(autouse=True)
def nothing_is_left_open() -> Iterator[None]:
    """Each test begins as a process does."""
    yield
    process.forget_all()


def allow_ids(admin: AdminClient, prefix: str) -> None:
    """Transactional ids that begin so."""
    bindings = [
        AclBinding(
            ResourceType.TRANSACTIONAL_ID,
            prefix,
            ResourcePatternType.PREFIXED,
            f"User:{USER}",
            "*",
            operation,
            AclPermissionType.ALLOW,
        )
        for operation in ON_IDS
    ]
    for answer in admin.create_acls(bindings).values():
        answer.result(kafka_users.TIMEOUT)


def test_the_rights_of_the_contract_are_enough_and_without_any_of_them_nothing_is_handed_on(
    strict: tuple[KafkaProcesses, KafkaProcesses],
    tmp_path: Path,
) -> None:
    assert (
        "Describe and Write on the topics of rows and dead letters; Describe, Read and Write on that of progress"
        in PAGE
    )
    assert "Describe and Write on\ntransactional ids that begin with `<writer>.`" in PAGE
    source, target = (side_of(kafka) for kafka in strict)
    handed, log = Handed(source, target, dead_letters=True), Written()
    handed.make()
    log.entry(CPU, 3)
    handed.append(log)
    users = {"source": as_user(strict[0], tmp_path / "source"), "target": as_user(strict[1], tmp_path / "target")}
    of_source, of_target = (AdminClient({"bootstrap.servers": ",".join(side.servers)}) for side in (source, target))
    kafka_users.allow(of_source, USER, PASSWORD, handed.sources[0], *SOURCE_RIGHTS)
    known = (strict[0].secure.sasl_ssl_servers[0], USER, PASSWORD, strict[0].secure.ca_pem)
    wait_until(lambda: kafka_users.end_as(of_source, handed.sources[0], *known) == 1, "the source knows the user")

    for topic, rights, missing, word in (
        (handed.progress, PROGRESS_RIGHTS, AclOperation.READ, "Read"),
        (handed.rows, ROWS_RIGHTS, AclOperation.WRITE, "Write"),
    ):
        for name, given in ((handed.rows, ROWS_RIGHTS), (handed.dead, ROWS_RIGHTS), (handed.progress, PROGRESS_RIGHTS)):
            some = set(given) - ({missing} if name == topic else set())
            kafka_users.allow(of_target, USER, PASSWORD, name, *some)
        assert set(rights) > {missing}
        said = wait_until(partial(_refusal, handed, users, word), f"the lack of {word} is told", within=30)
        assert said.startswith(f"the user of Kafka lacks {word} on topic {topic}: a subscription to records needs")
        forget(target)
    for name, given in ((handed.rows, ROWS_RIGHTS), (handed.dead, ROWS_RIGHTS), (handed.progress, PROGRESS_RIGHTS)):
        kafka_users.allow(of_target, USER, PASSWORD, name, *given)
    micro = wait_until(lambda: _started(handed, users), "the target knows the user", within=30)

    with pytest.raises(Refused, match=r"may not write the rows of topic .* in transactions"):
        micro.once()
    allow_ids(of_target, f"seawall.{handed.name}.")

    def is_done() -> bool:
        try:
            micro.once()
        except Refused:
            return False  # a broker has not heard of it yet
        return handed.has_all()

    wait_until(is_done, "all is handed on", within=60)
    assert handed.require_once(log, CPU) == 3
    for side in (source, target):
        forget(side)


def _refusal(handed: Handed, users: Mapping[str, Any], word: str) -> str | None:
    try:
        handed.start(**users)
    except Refused as refused:
        return str(refused) if f"lacks {word} " in str(refused) else None
    return None


def _started(handed: Handed, users: Mapping[str, Any]) -> RecordsBatches | None:
    try:
        return handed.start(**users)
    except Refused:
        return None
