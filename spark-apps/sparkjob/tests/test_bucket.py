"""What is asked of a bucket at a path that is none."""

from __future__ import annotations

import pytest

from sparkjob.bucket import Bucket
from sparkjob.errors import Denied, Refused
from sparkjob.s3 import S3


@pytest.mark.parametrize("prefix", ["a/../b", "./a", ".."])
def test_a_path_that_no_object_has_is_refused(prefix: str) -> None:
    bucket = Bucket(S3("wal", prefix, "us-east-1", "http://127.0.0.1:9", None, "key", "secret"))
    with pytest.raises(Refused, match="the store refuses x: ") as refused:
        bucket.create("x", b"")
    assert not isinstance(refused.value, Denied), "no key mends it"
