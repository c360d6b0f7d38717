"""What answers of an object store mean that a healthy one seldom gives, and who is asked in whose name."""

from __future__ import annotations

from dataclasses import replace

import pytest

from seawall.adapters.object_store import S3Bucket
from seawall.domain.errors import OutsideUnavailable, Refused, SeawallError
from tests.support.object_store import CannedStore, error_of, http


def sentence(answer: bytes | None, wanted: type[SeawallError], *, lists: bool = False) -> str:
    """What is said when this is the answer, without the address."""
    with CannedStore(answer) as store:
        bucket = S3Bucket(store.connection(), seconds=1)
        with pytest.raises(SeawallError) as error:
            bucket.names("log") if lists else bucket.get("log/1")
        assert type(error.value) is wanted
        return str(error.value).replace(f" at {store.endpoint}", "")


@pytest.mark.parametrize("lists", [False, True])
@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (
            error_of("503 Service Unavailable", "SlowDown", "Please reduce your request rate."),
            "SlowDown (Please reduce",
        ),
        (error_of("400 Bad Request", "RequestTimeout", "Idle."), "RequestTimeout (Idle)"),
        (http("500 Internal Server Error"), "HTTP status 500"),
        (http("429 Too Many Requests"), "HTTP status 429"),
        (b"", "does not answer"),
        (b"garbage\r\n\r\n", "what answers is no web server"),
        (None, "does not answer within 1 s when asked to "),
    ],
)
def test_what_may_be_better_the_next_time_is_no_refusal(answer: bytes | None, said: str, *, lists: bool) -> None:
    found = sentence(answer, OutsideUnavailable, lists=lists)
    assert found.startswith("bucket lake: ")
    assert said in found
    assert "\n" not in found


@pytest.mark.parametrize("lists", [False, True])
@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (error_of("403 Forbidden", "AccessDenied", "Not &quot;you&quot;\n here."), 'AccessDenied (Not "you" here)'),
        (error_of("400 Bad Request", "ExpiredToken", "Old."), "ExpiredToken (Old)"),
        (http("403 Forbidden"), "HTTP status 403"),
        (http("404 Not Found", b"<html>"), "HTTP status 404"),
        (error_of("404 Not Found", "NoSuchBucket", "None."), "NoSuchBucket (None)"),
    ],
)
def test_a_refusal_has_the_stores_code_and_message(answer: bytes, said: str, *, lists: bool) -> None:
    what = "to list db/log/" if lists else "to give db/log/1"
    assert sentence(answer, Refused, lists=lists) == f"bucket lake: the store refuses {what}: {said}"


def test_another_region_is_told() -> None:
    moved = error_of("301 Moved Permanently", "PermanentRedirect", "Elsewhere.")
    assert sentence(moved, Refused) == "bucket lake: it is not in region us-east-1: correct region"


def test_an_object_whose_end_does_not_come_is_unavailable() -> None:
    sentence(http("200 OK", b"begun", length=100), OutsideUnavailable)


def test_a_list_that_is_none_is_unavailable() -> None:
    sentence(http("200 OK", b"hello"), OutsideUnavailable, lists=True)


def test_a_path_that_s3_has_none_of_is_refused() -> None:
    with CannedStore(http("200 OK")) as store:
        bucket = S3Bucket(store.connection())
        with pytest.raises(Refused, match="empty path segment"):
            bucket.get("log//1")
        assert store.heard == []


def test_a_declared_key_goes_without_what_the_environment_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the session token of another key, no store takes it."""
    environment = {"AWS_ACCESS_KEY_ID": "pod", "AWS_SECRET_ACCESS_KEY": "hunter3", "AWS_SESSION_TOKEN": "of-the-pod"}
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with CannedStore(http("200 OK", b"1")) as store:
        assert S3Bucket(store.connection()).get("1") == b"1"
        assert S3Bucket(store.connection(key=None)).get("1") == b"1"
    declared, of_pod = store.heard
    assert declared.startswith("GET /lake/db/1 HTTP/1.1\r\n"), "buckets are paths"
    assert "Credential=key/" in declared
    assert "security-token" not in declared
    assert "Credential=pod/" in of_pod
    assert "x-amz-security-token: of-the-pod" in of_pod


def test_a_pod_without_an_identity_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    with CannedStore(http("404 Not Found")) as cloud, CannedStore(http("200 OK", b"1")) as store:
        monkeypatch.setenv("AWS_METADATA_ENDPOINT", cloud.endpoint)
        bucket = S3Bucket(replace(store.connection(key=None), prefix=""))
        with pytest.raises(OutsideUnavailable, match=r"no access key is declared, .* \(HTTP status 404\)$"):
            bucket.get("1")
    assert cloud.heard
    assert not store.heard
