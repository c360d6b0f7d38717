"""Leaves are changed in simulated worlds: all is as if it had been so from the beginning, and can be taken back.

SPEC_WALK_SEED=<n> draws other values. All leaves: `pytest -m soak`, SPEC_WALK_WORKERS=<n> at once; its counts go to
e2e/soak/results.
"""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from random import Random
from typing import Any

import pytest

from seawall.api.meta import InvalidSpec
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.controllers.cluster import WALClusterController
from seawall_e2e.soak import write_counts
from tests.walk.leaves import Leaf, leaves
from tests.walk.rest import Walk, is_immutable, worth_a_world
from tests.walk.values import Value
from tests.walk.world import PLACES

SEED = int(os.environ.get("SPEC_WALK_SEED", "71"))
WORKERS = int(os.environ.get("SPEC_WALK_WORKERS", str(os.cpu_count() or 1)))
SOME = {"WALCluster": 3, "WALPurgePolicy": 1, "WALHold": 1}
BATCH = 12
"""Leaves that share a world: it is made once."""


def of_kind(kind: str) -> list[Leaf]:
    """The leaves of a kind."""
    return [leaf for leaf in leaves() if leaf.kind.kind == kind and not leaf.is_whole]


def walk(kind: str, steps: Sequence[tuple[Leaf, Value]]) -> tuple[list[str], Counter[str]]:
    """What is wrong, and the counts."""
    walking = Walk(kind)
    for leaf, value in steps:
        walking.step(leaf, value)
    walking.close()
    return [str(each) for each in walking.walked.findings], walking.walked.counts


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize(("kind", "some"), SOME.items(), ids=SOME)
def test_some_edits_are_as_if_made_from_the_beginning_and_can_be_taken_back(kind: str, some: int) -> None:
    random = Random(SEED)  # noqa: S311 - a seed, no secret
    chosen = random.sample([leaf for leaf in of_kind(kind) if not is_immutable(leaf)], some)
    wrong, counts = walk(kind, [(leaf, random.choice(list(worth_a_world(leaf)))) for leaf in chosen])
    assert not wrong, "\n".join(wrong)
    assert counts["values"] == some


@pytest.mark.usefixtures("quiet")
def test_a_field_that_nobody_reads_again_after_creation_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    first: dict[int, tuple[Any, Any]] = {}
    observe, decide = WALClusterController.observe, WALClusterController.decide

    def as_made(self: WALClusterController, obj: WALCluster) -> WALCluster:
        assert not isinstance(obj.spec, InvalidSpec)
        _, kept = first.setdefault(id(self), (self, obj.spec.topics.segment_bytes))  # the id stays its own
        topics = obj.spec.topics.model_copy(update={"segment_bytes": kept})
        return replace(obj, spec=obj.spec.model_copy(update={"topics": topics}))

    monkeypatch.setattr(WALClusterController, "observe", lambda self, obj: observe(self, as_made(self, obj)))
    monkeypatch.setattr(WALClusterController, "decide", lambda self, obj, saw: decide(self, as_made(self, obj), saw))
    (leaf,) = (each for each in of_kind("WALCluster") if each.path == ("topics", "segmentBytes"))
    wrong, _ = walk("WALCluster", [(leaf, Value(next(iter(worth_a_world(leaf))).intent, "32Mi"))])
    assert any("not as if it had been so from the beginning" in each and "segment.bytes" in each for each in wrong)


@pytest.mark.soak
@pytest.mark.timeout(100_000)
def test_all_edits_are_as_if_made_from_the_beginning_and_can_be_taken_back() -> None:
    names = [(kind, leaf.name) for kind in PLACES for leaf in of_kind(kind)]
    batches = [names[at : at + BATCH] for at in range(0, len(names), BATCH)]
    wrong: list[str] = []
    counts: Counter[str] = Counter()
    with ProcessPoolExecutor(WORKERS, get_context("spawn"), initializer=logging.disable) as pool:
        for number, (found, counted) in enumerate(pool.map(_walk_batch, batches), 1):
            wrong += found
            counts.update(counted)
            print(f"{number} of {len(batches)} parts", *found, sep="\n", flush=True)  # noqa: T201 - a soak takes long
    write_counts("spec-walk", {"leaves": len(names), **dict(sorted(counts.items())), "findings": len(wrong)})
    assert not wrong, "\n".join(wrong[:40])


def _walk_batch(batch: Sequence[tuple[str, str]]) -> tuple[list[str], Counter[str]]:
    wrong: list[str] = []
    counts: Counter[str] = Counter()
    for kind in dict.fromkeys(kind for kind, _ in batch):
        wanted = {name for of, name in batch if of == kind}
        steps = [(leaf, value) for leaf in of_kind(kind) if leaf.name in wanted for value in worth_a_world(leaf)]
        found, counted = walk(kind, steps)
        wrong += found
        counts.update(counted)
    return wrong, counts
