"""Which folders of a bucket a spec may name: no object has a path with `.` or `..` in it."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from seawall.api.v1alpha1.object_storage import S3Bucket


@pytest.mark.parametrize("prefix", ["", "a", "a/b", ".a", "..a", "...", "a.", "a..b/..c", "a=1/b-2_c"])
def test_folders_may_have_dots_in_their_names(prefix: str) -> None:
    assert S3Bucket(bucket="wal", prefix=prefix).prefix == prefix


@pytest.mark.parametrize("prefix", [".", "..", "a/..", "../a", "a/../b", "a/./b", "a//b", "/a", "a/"])
def test_no_folder_is_the_one_above_or_the_same(prefix: str) -> None:
    with pytest.raises(ValidationError):
        S3Bucket(bucket="wal", prefix=prefix)
