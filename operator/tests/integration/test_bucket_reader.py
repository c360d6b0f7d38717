"""The policy that docs/subscription.md gives Seawall's own reader of a bucket is enough, and lets it read no rows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from seawall.adapters.object_store import S3Bucket
from seawall.api.v1alpha1.subscription_status import MirroredTopic
from seawall.domain.errors import Refused
from seawall.domain.object_store import S3Connection
from seawall.domain.subscription.committed.chain import Commit, folder_of, object_name
from seawall.observe.chains import KnownChains, read_newest
from seawall_e2e.loopback.s3 import S3Process

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("object store")]
ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/subscription.md").read_text()
EXAMPLE: dict[str, Any] = json.loads((ROOT / "spark-apps/wal-subscription/contract/commit.json").read_text())
ROW = MirroredTopic(
    name=EXAMPLE["topic"], source_id=EXAMPLE["sourceTopicId"], start=0, generation=EXAMPLE["generation"]
)
BUCKET, PREFIX, DATA = "lake", "greptimedb", EXAMPLE["files"][0]["path"]


def policy(user: str, *actions: str) -> dict[str, Any]:
    """The page's, for this user, with those of its actions."""
    (given,) = [part.removeprefix("json\n") for part in PAGE.split("```") if part.startswith("json\n")]
    found: dict[str, Any] = json.loads(given.replace("BUCKET", BUCKET).replace("PREFIX", PREFIX))
    found["Statement"] = [statement for statement in found["Statement"] if statement["Action"][0] in actions]
    for statement in found["Statement"]:
        statement["Principal"] = {"AWS": [user]}
    return found


@pytest.fixture(scope="module")
def server() -> Iterator[S3Process]:
    """With a bucket in which a job has written rows, and a commit that names them."""
    with S3Process() as store:
        root = store.make_bucket(BUCKET) / PREFIX
        chain = root / folder_of(EXAMPLE["writer"], ROW)
        chain.mkdir(parents=True)
        (chain / object_name(0)).write_text(json.dumps({**EXAMPLE, "number": 0}))
        (root / DATA).parent.mkdir(parents=True)
        (root / DATA).write_bytes(b"rows")
        yield store


def newest(bucket: S3Bucket) -> Commit | None:
    """As the operator reads it."""
    found = read_newest(bucket, (None, BUCKET, PREFIX), EXAMPLE["writer"], ROW, KnownChains())
    assert found is None or isinstance(found, Commit)
    return found


def test_a_reader_with_the_rights_of_the_page_reads_chains_and_no_rows(server: S3Process) -> None:
    keys = server.make_user()
    bucket = S3Bucket(S3Connection(BUCKET, PREFIX, server.region, server.endpoint, None, *keys))
    for action in ("s3:GetObject", "s3:ListBucket"):
        server.set_policy(BUCKET, policy(keys[0], action))
        with pytest.raises(Refused, match="AccessDenied"):
            newest(bucket)
    server.set_policy(BUCKET, policy(keys[0], "s3:GetObject", "s3:ListBucket"))
    found = newest(bucket)
    assert found is not None
    assert found.position == EXAMPLE["position"]
    with pytest.raises(Refused, match="AccessDenied"):
        bucket.get(DATA)
