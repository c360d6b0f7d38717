"""The contract of ObjectStores: the fake and the adapter, the latter on a real server."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from seawall.api.meta import Key
from seawall.domain.errors import OutsideUnavailable, Refused
from seawall.domain.object_store import MAX_OBJECT_BYTES, PAGE
from seawall.ports import ObjectStore
from seawall_e2e.loopback.s3 import S3Process
from tests.contract.store_beds import FakeStoreBed, RealStoreBed, StoreBed

pytestmark = pytest.mark.xdist_group("object store")

KEY, OTHER = Key("ns", "lake"), Key("ns", "other")
LOG = "wal-1/log"


@pytest.fixture(scope="module")
def server() -> Iterator[S3Process]:
    """Tests share it: their buckets are their own."""
    with S3Process() as process:
        yield process


@pytest.fixture(params=["fake", pytest.param("real", marks=pytest.mark.integration)])
def bed(request: pytest.FixtureRequest) -> StoreBed:
    if request.param == "fake":
        return FakeStoreBed()
    server: S3Process = request.getfixturevalue("server")
    bucket = f"lake-{uuid.uuid4().hex[:8]}"
    return RealStoreBed(server, bucket, server.make_bucket(bucket))


@pytest.fixture
def bucket(bed: StoreBed) -> ObjectStore:
    return bed.stores.connect(KEY, bed.connection)


def number(of: int) -> str:
    return f"{of:020d}.json"


def test_names_are_in_order_and_beyond_the_one_that_is_known(bed: StoreBed, bucket: ObjectStore) -> None:
    bed.put({f"db/{LOG}/{number(each)}": b"{}" for each in (10, 9, 100, 0)})
    assert bucket.names(LOG) == tuple(number(each) for each in (0, 9, 10, 100))
    assert bucket.names(LOG, number(9)) == (number(10), number(100))
    assert bucket.names(LOG, number(50)) == (number(100),), "none has to be there of this name"
    assert bucket.names(LOG, number(100)) == ()


def test_names_come_a_thousand_at_a_time(bed: StoreBed, bucket: ObjectStore) -> None:
    bed.put({f"db/{LOG}/{number(each)}": b"" for each in range(PAGE + 2)})
    first = bucket.names(LOG)
    assert (len(first), first[0], first[-1]) == (PAGE, number(0), number(PAGE - 1))
    assert bucket.names(LOG, first[-1]) == (number(PAGE), number(PAGE + 1))
    assert len(bucket.names(LOG, number(1))) == PAGE


def test_what_is_in_folders_of_a_folder_has_no_name_there(bed: StoreBed, bucket: ObjectStore) -> None:
    bed.put({f"db/{LOG}/{path}": b"" for path in ("b", "a/b", "a/c/d", "c/a")} | {f"db/{LOG}2/x": b"", "db/y": b""})
    assert bucket.names(LOG) == ("b",)
    assert bucket.names(f"{LOG}/a") == ("b",)
    assert bucket.names("") == ("y",)
    assert bucket.names("wal-1") == ()


def test_folders_do_not_count_among_the_thousand(bed: StoreBed, bucket: ObjectStore) -> None:
    bed.put({f"db/{LOG}/a/{each}": b"" for each in range(PAGE + 1)} | {f"db/{LOG}/b": b""})
    assert bucket.names(LOG) == ("b",)


def test_a_folder_that_nobody_wrote_to_has_no_names(bed: StoreBed, bucket: ObjectStore) -> None:
    assert bucket.names(LOG) == ()
    bed.put({f"db/{LOG}": b"an object of this very name"})
    assert bucket.names(LOG) == ()


def test_an_object_is_read(bed: StoreBed, bucket: ObjectStore) -> None:
    bed.put({"db/a/b=1/c.json": b"{}", "db/empty": b""})
    assert bucket.get("a/b=1/c.json") == b"{}"
    assert bucket.get("empty") == b""
    bed.put({"db/a/b=1/c.json": b"[]"})
    assert bucket.get("a/b=1/c.json") == b"[]"


def test_an_object_that_is_not_there_is_none(bed: StoreBed, bucket: ObjectStore) -> None:
    bed.put({"db/a/b": b"", "c": b""})
    assert [bucket.get(path) for path in ("a", "a/c", "b", "c", "db/a/b")] == [None] * 5


def test_an_object_of_four_mib_is_read_and_a_larger_one_refused(bed: StoreBed, bucket: ObjectStore) -> None:
    bed.put({"db/large": bytes(MAX_OBJECT_BYTES), "db/larger": bytes(MAX_OBJECT_BYTES + 1)})
    found = bucket.get("large")
    assert found is not None
    assert len(found) == MAX_OBJECT_BYTES
    with pytest.raises(Refused, match=rf"bucket {bed.connection.bucket}.*larger has {MAX_OBJECT_BYTES + 1} bytes"):
        bucket.get("larger")


def test_each_connection_is_below_its_prefix(bed: StoreBed) -> None:
    bed.put({"a": b"root", "db/a": b"db", "db/deep/er/a": b"deeper", "dbx/a": b"beside"})
    for prefix, content in (("", b"root"), ("db", b"db"), ("db/deep/er", b"deeper"), ("dbx", b"beside")):
        bucket = bed.stores.connect(KEY, replace(bed.connection, prefix=prefix))
        assert (bucket.get("a"), bucket.names("")) == (content, ("a",)), prefix


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"access_key_id": "nobody"}, "InvalidAccessKeyId"),
        ({"secret_access_key": "hunter3"}, "SignatureDoesNotMatch"),
        ({"bucket": "no-such-bucket"}, "NoSuchBucket"),
    ],
)
def test_what_the_store_refuses_is_told_in_its_words(bed: StoreBed, changed: dict[str, str], code: str) -> None:
    bed.put({"db/a": b""})
    connection = replace(bed.connection, **changed)
    bucket = bed.stores.connect(KEY, connection)
    sentences = []
    for ask in (lambda: bucket.get("a"), lambda: bucket.get("b"), lambda: bucket.names("")):
        with pytest.raises(Refused, match=rf"^bucket {connection.bucket}\b[^\n]*: [^\n]*{code} \([^\n]+\)$") as error:
            ask()
        sentences.append(str(error.value))
    secrets = {str(bed.connection.secret_access_key), str(connection.secret_access_key)}
    assert not [sentence for sentence in sentences for secret in secrets if secret in sentence]


def test_nobody_at_the_address_is_unavailable(bed: StoreBed) -> None:
    bucket = bed.stores.connect(KEY, bed.nowhere)
    with pytest.raises(OutsideUnavailable, match=f"^bucket {bed.connection.bucket}.* does not answer"):
        bucket.get("a")
    with pytest.raises(OutsideUnavailable, match=f"^bucket {bed.connection.bucket}.* does not answer"):
        bucket.names("")


def test_a_store_that_does_not_answer_is_unavailable_until_it_does(bed: StoreBed, bucket: ObjectStore) -> None:
    bed.put({"db/a": b"1"})
    assert bucket.get("a") == b"1"
    with bed.silence():
        with pytest.raises(OutsideUnavailable, match="does not answer"):
            bucket.get("a")
        with pytest.raises(OutsideUnavailable, match="does not answer"):
            bucket.names("")
    assert (bucket.get("a"), bucket.names("")) == (b"1", ("a",))


def test_a_ca_that_is_no_certificate_is_refused_at_once(bed: StoreBed) -> None:
    for text in ("", "hunter2"):
        with pytest.raises(Refused, match=f"^bucket {bed.connection.bucket}.*CA certificate.*no PEM text") as error:
            bed.stores.connect(KEY, replace(bed.connection, ca_pem=text))
        assert "hunter2" not in str(error.value)


def test_a_connection_is_kept_while_it_is_the_same(bed: StoreBed) -> None:
    bed.put({"db/a": b"1"})
    kept = bed.stores.connect(KEY, bed.connection)
    assert bed.stores.connect(KEY, replace(bed.connection)) is kept
    changed = bed.stores.connect(KEY, replace(bed.connection, secret_access_key="another"))
    assert changed is not kept
    assert bed.stores.connect(KEY, bed.connection) is not kept, "what nobody uses is gone"


def test_what_is_forgotten_is_made_anew_and_others_keep_theirs(bed: StoreBed) -> None:
    bed.put({"db/a": b"1"})
    kept, other = (bed.stores.connect(key, bed.connection) for key in (KEY, OTHER))
    bed.stores.forget(KEY)
    assert bed.stores.connect(OTHER, bed.connection) is other
    assert other.get("a") == b"1"
    bed.stores.forget(OTHER)
    bed.stores.forget(OTHER)
    assert bed.stores.connect(KEY, bed.connection) is not kept


def test_threads_share_a_connection(bed: StoreBed, bucket: ObjectStore) -> None:
    bed.put({f"db/{each}": str(each).encode() for each in range(40)})
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(bucket.get, map(str, range(40)))) == [str(each).encode() for each in range(40)]
