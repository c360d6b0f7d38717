"""The rights on a bucket that the contract names are enough; without any of them it is said at once."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import pytest
from mirrors import side_of
from record_logs import CPU, Written
from tabled import PREFIX, Tabled

from seawall_e2e.loopback import KafkaProcesses
from seawall_e2e.loopback.s3 import S3Process
from sparkjob.errors import Refused
from wal_subscription.table import process

pytest_plugins = ("mirror_beds", "table_beds")
pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("mirror")]
PAGE = (Path(__file__).parents[1] / "contract/TABLE.md").read_text()
RIGHTS = ("s3:PutObject", "s3:GetObject", "s3:ListBucket")


@pytest.fixture(autouse=True)
def nothing_is_left_open() -> Iterator[None]:
    """Each test begins as a process does."""
    yield
    process.forget()


def policy(tabled: Tabled, user: str, actions: Collection[str]) -> dict[str, Any]:
    """The page's policy, for this user, with those of its actions."""
    (given,) = [part.removeprefix("json\n") for part in PAGE.split("```") if part.startswith("json\n")]
    for name, value in {"BUCKET": tabled.name, "PREFIX": PREFIX, "WRITER": tabled.writer}.items():
        given = given.replace(name, value)
    found: dict[str, Any] = json.loads(given)
    found["Statement"] = [statement for statement in found["Statement"] if statement["Action"][0] in actions]
    for statement in found["Statement"]:
        statement["Principal"] = {"AWS": [user]}
    return found


def test_the_rights_of_the_contract_are_enough_and_without_any_of_them_nothing_is_written(
    source_kafka: KafkaProcesses, bucket_server: S3Process, tmp_path: Path
) -> None:
    tabled, log = Tabled(side_of(source_kafka), bucket_server, tmp_path / "keys"), Written()
    tabled.make()
    log.entry(CPU, 3)
    tabled.append(log)
    keys = bucket_server.make_user()
    tabled.as_user(*keys)
    for missing in RIGHTS:
        bucket_server.set_policy(tabled.name, policy(tabled, keys[0], set(RIGHTS) - {missing}))
        with pytest.raises(Refused, match=r"the store refuses seawall\.[^ ]+: AccessDenied"):
            tabled.start()
    bucket_server.set_policy(tabled.name, policy(tabled, keys[0], RIGHTS))
    tabled.run_all()
    assert tabled.require_once(log, CPU) == 3


def test_keys_that_were_rotated_need_no_restart_and_a_bucket_that_is_gone_is_refused(
    source_kafka: KafkaProcesses, bucket_server: S3Process, tmp_path: Path
) -> None:
    tabled, log = Tabled(side_of(source_kafka), bucket_server, tmp_path / "keys"), Written()
    tabled.make()
    log.entry(CPU)
    tabled.append(log)
    micro = tabled.start()
    tabled.run_all(micro)
    keys = bucket_server.make_user()
    bucket_server.set_policy(tabled.name, policy(tabled, keys[0], RIGHTS))
    tabled.as_user(*keys)
    log.entry(CPU)
    tabled.append(log)
    tabled.run_all(micro)
    assert tabled.require_once(log, CPU) == 2
    request = tabled.request()
    request["table"]["s3"]["bucket"] = "no-such-bucket"
    tabled.as_user(bucket_server.access_key_id, bucket_server.secret_access_key)
    with pytest.raises(Refused, match="NoSuchBucket"):
        tabled.start(table=request["table"])
