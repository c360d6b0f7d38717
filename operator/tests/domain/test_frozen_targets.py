"""Targets as they are kept in ConfigMaps: what is written is read, and nothing else is."""

from __future__ import annotations

import base64
import gzip
import random
import string
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seawall.api.v1alpha1.purge import MAX_PARTS, FrozenTargets
from seawall.domain import frozen_targets
from seawall.domain.frozen_targets import (
    DATA_KEY,
    MAX_TARGETS,
    PART_BYTES,
    Target,
    TargetsLost,
    decode_targets,
    encode_targets,
    freeze,
    parts_of,
    thaw,
)
from seawall.domain.kubernetes import ConfigMap
from tests.domain.purges import make_run

LARGEST_OFFSET = 2**63 - 1
ONE = {"wal_0": Target(36, 0, 36)}

offsets = st.integers(0, LARGEST_OFFSET)
sentences = st.none() | st.sampled_from(["declared unused (a)", "region 7 is declared dead"]) | st.text(max_size=20)
targets = st.dictionaries(
    st.text(string.ascii_letters + "._-", min_size=1, max_size=20),
    st.builds(Target, offsets, offsets, offsets, sentences, sentences),
    max_size=20,
)


def found(frozen: FrozenTargets, parts: tuple[ConfigMap, ...]) -> dict[str, Target]:
    return thaw(frozen, parts)


@given(targets)
def test_what_is_written_is_read(given_targets: dict[str, Target]) -> None:
    frozen, parts = freeze(make_run("run"), given_targets)
    assert found(frozen, parts) == given_targets
    assert frozen.topics == len(given_targets)
    assert tuple(part.key for part in parts) == parts_of(make_run("run"), frozen)


def test_equal_targets_are_equal_bytes_in_whatever_order() -> None:
    two = {"a": Target(1, 0, 1), "b": Target(2, 0, 2)}
    assert encode_targets(two) == encode_targets(dict(reversed(two.items())))


def incompressible(count: int) -> dict[str, Target]:
    """Names as long as Kafka takes them and offsets, in both of which there is no order at all."""
    chance = random.Random(7)  # noqa: S311 - no secret

    def offset() -> int:
        return chance.randrange(LARGEST_OFFSET // 2, LARGEST_OFFSET)

    names = (base64.urlsafe_b64encode(chance.randbytes(186)).decode() for _ in range(count))
    return {f".{name}": Target(offset(), offset(), offset()) for name in names}


def test_as_many_as_a_run_takes_fit_whatever_they_are_called() -> None:
    made = incompressible(MAX_TARGETS)
    frozen, parts = freeze(make_run("run"), made)
    sizes = [len(part.binary_data[DATA_KEY]) for part in parts]
    print(f"{MAX_TARGETS} targets: {sum(sizes)} bytes in {len(sizes)} parts")  # noqa: T201 - the count is the evidence
    assert MAX_PARTS / 2 < frozen.parts <= MAX_PARTS
    assert max(sizes) <= PART_BYTES
    assert found(frozen, parts) == made


def test_20_000_topics_of_a_pool_fit_into_one_part() -> None:
    """Names are a prefix and a number; each topic has its own sentence, with the reason that a person gave for all."""
    names = [f"{'greptimedb_wal_topic' * 12}_{number}" for number in range(20_000)]
    reason = "declared dead by annotation until 2026-11-22T11:00:00Z (" + "disk of datanode 3 lost " * 15 + ")"
    made = {
        name: replace(target, dead=f"region {4402341478400 + number} is {reason}")
        for number, (name, target) in enumerate(zip(names, incompressible(20_000).values(), strict=True))
    }
    frozen, parts = freeze(make_run("run"), made)
    assert frozen.parts == 1
    assert found(frozen, parts) == made


def test_more_than_fits_is_an_error_and_never_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frozen_targets, "PART_BYTES", 100)
    with pytest.raises(ValueError, match="10 targets take"):
        encode_targets(incompressible(10))


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "is cut"),
        (b"nonsense", "is damaged"),
        (encode_targets(ONE)[:-9], "is cut"),
        (gzip.compress(b"[]"), "is damaged"),
        (gzip.compress(b"[2,[],[]]"), "format 2"),
        (gzip.compress(b'[1,[],[["a",1,1,1,0,null]]]'), "a sentence that it does not have"),
        (gzip.compress(b'[1,[],[["a",-1,1,1,null,null]]]'), "is damaged"),
    ],
    ids=["empty", "no gzip", "cut", "no targets", "newer", "no sentence", "negative"],
)
def test_what_is_damaged_or_newer_is_said(data: bytes, sentence: str) -> None:
    with pytest.raises(TargetsLost, match=sentence):
        decode_targets(data)


def test_parts_that_are_gone_or_changed_or_in_another_order_are_lost() -> None:
    frozen, parts = freeze(make_run("run"), incompressible(5_000))
    first, second, *_ = parts
    assert found(frozen, parts)
    for others, sentence in (
        ((None, *parts[1:]), "are gone"),
        ((second, first, *parts[2:]), "were changed"),
        ((replace(first, binary_data={}), *parts[1:]), "were changed"),
    ):
        with pytest.raises(TargetsLost, match=sentence):
            thaw(frozen, others)
