"""What is deleted from a store: whole chains that were meant, in an order in which a death leaves whole chains."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import expiry_stories as stories
import pytest
from expiry_stories import ALL, Stock

from seawall_e2e.loopback.s3 import S3Process
from tests.support.mutants import find_survivors
from tests.support.source_mutants import rewritten
from wal_backup import expiry
from wal_backup.expiry import Problem

pytest_plugins = ("backup_beds",)
STORIES = (
    stories.what_is_asked_for_goes_and_nothing_else,
    stories.a_chain_with_a_restore_point_stays,
    stories.a_chain_of_another_full_backup_stays,
    stories.a_chain_that_went_on_since_stays,
    stories.manifests_of_another_place_stay,
    stories.a_manifest_that_nobody_can_read_keeps_its_chain,
    stories.a_chain_whose_manifests_are_not_listed_stays,
    stories.the_chain_of_the_backup_itself_stays,
    stories.nothing_goes_while_nothing_is_named_that_stays,
    stories.nothing_goes_while_what_is_to_stay_is_another,
    stories.nothing_goes_while_what_is_to_stay_is_damaged,
    stories.nothing_goes_while_what_is_to_stay_has_a_hole,
    stories.whoever_dies_while_it_deletes_leaves_whole_chains,
)
GUARDS: tuple[tuple[str, str, str, Callable[[], None]], ...] = (
    ("_delete", "store.delete_all(folder)  #", "#", stories.what_is_asked_for_goes_and_nothing_else),
    ("_why_it_stays", "manifest.restore_point is not None", "False", stories.a_chain_with_a_restore_point_stays),
    ("_manifests", "found and chain.full.digest not in", "[] in", stories.a_chain_of_another_full_backup_stays),
    (
        "_why_it_stays",
        "manifest.finished_time >= backup.started_time",
        "False",
        stories.a_chain_that_went_on_since_stays,
    ),
    (
        "_why_it_stays",
        "(manifest.cluster_id, manifest.chain, manifest.name) != (backup.cluster_id, chain.name, file)",
        "False",
        stories.manifests_of_another_place_stay,
    ),
    (
        "_manifests",
        "raise LeftAlone(str(refused)) from None",
        "continue",
        stories.a_manifest_that_nobody_can_read_keeps_its_chain,
    ),
    (
        "_manifests",
        "if not found and store.size",
        "if False and store.size",
        stories.a_chain_whose_manifests_are_not_listed_stays,
    ),
    ("_manifests", "chain.name == backup.chain", "False", stories.the_chain_of_the_backup_itself_stays),
    ("_require_stays", "not asked.stays", "False", stories.nothing_goes_while_nothing_is_named_that_stays),
    (
        "_require_stays",
        "chain.path[0].digest != each.full.digest",
        "False",
        stories.nothing_goes_while_what_is_to_stay_is_another,
    ),
    ("_require_stays", "missing is not None", "False", stories.nothing_goes_while_what_is_to_stay_is_damaged),
    ("_require_stays", "if chain.problems:", "if False:", stories.nothing_goes_while_what_is_to_stay_has_a_hole),
    ("_newest_first", ")[::-1]", ")", stories.whoever_dies_while_it_deletes_leaves_whole_chains),
)


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_only_what_was_meant_goes(story: Callable[[], None]) -> None:
    story()


def test_every_guard_of_a_deletion_is_needed() -> None:
    mutants = tuple((rewritten(expiry, name, guard, instead), story) for name, guard, instead, story in GUARDS)
    assert find_survivors(mutants) == []


@pytest.fixture
def bucket(s3: S3Process, tmp_path: Path) -> Callable[..., Stock]:
    """Makes stocks in buckets of a real server."""
    (tmp_path / "id").write_text(s3.access_key_id)
    (tmp_path / "secret").write_text(s3.secret_access_key)

    def make(like: Stock | None = None, *, locked: bool = False) -> Stock:
        name = f"wal-{secrets.token_hex(4)}"
        if locked:
            s3.make_locked_bucket(name)
        else:
            folder = s3.make_bucket(name)
            if like is not None:  # much faster than by the server
                shutil.copytree(folder.parent / like.storage["s3"]["bucket"] / "here", folder / "here")
        keys = {"accessKeyIdFile": str(tmp_path / "id"), "secretAccessKeyFile": str(tmp_path / "secret")}
        where = {"bucket": name, "prefix": "here", "region": s3.region, "endpoint": s3.endpoint}
        return Stock({"s3": {**where, **keys}}, tmp_path, fulls={} if like is None else like.fulls)

    return make


def test_a_death_at_any_call_to_a_real_store_leaves_whole_chains(bucket: Callable[..., Stock]) -> None:
    first = bucket()

    @contextmanager
    def make() -> Iterator[Stock]:
        yield bucket(first)

    stories.whoever_dies_while_it_deletes_leaves_whole_chains(make, (True,))


def test_what_a_bucket_locks_is_a_sentence_and_stays_whole(bucket: Callable[..., Stock]) -> None:
    stock = bucket(locked=True)
    found = stock.expire()
    assert (found.problem, found.gone) == (Problem.LOCKED, ())
    assert "object lock" in found.message
    assert stock.left() == ALL
    assert stock.inspect()["outcome"] == "Passed"


def test_a_store_that_is_away_is_a_sentence(bucket: Callable[..., Stock]) -> None:
    stock = bucket()
    stock.storage["s3"]["endpoint"] = "http://127.0.0.1:9"
    found = stock.expire()
    assert (found.problem, found.gone) == (Problem.INTERRUPTED, ())
