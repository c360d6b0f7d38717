"""`seawall explain`: the page of conditions in a terminal, and lines of others' logs."""

from __future__ import annotations

import argparse
import io
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest

from seawall.api.meta import ConditionType
from seawall.cli.explain import answers, explain, explain_log, known_errors, names
from seawall.cli.parser import Exit
from seawall.cli.session import Session
from seawall.domain.errors import Refused
from seawall.domain.ledger.reasons import Reason
from seawall.domain.overview.reasons_page import PAGE, rows_of
from tests.product.test_architecture import leads_somewhere

ROOT = Path(__file__).parents[3]
DOCUMENT = (ROOT / "docs" / PAGE).read_text()


def test_every_row_of_the_page_is_found_by_its_word() -> None:
    rows = list(rows_of(DOCUMENT))
    in_page = re.findall(r"^\| `(\w+)` \|", DOCUMENT, re.MULTILINE)
    assert [row.name for row in rows] == in_page
    assert len(rows) > 200
    for row in rows:
        assert explain(row.name.lower(), DOCUMENT).startswith(f"{row.name} (")
    assert {row.name for row in rows} <= set(names())


def test_a_reason_comes_with_its_section_its_sentence_and_its_remedy() -> None:
    text = " ".join(explain("OffsetsUnknown", DOCUMENT).split())
    assert text.startswith("OffsetsUnknown (Topics that are left alone) what it means: ")
    assert Reason.OFFSETS_UNKNOWN.sentence in text
    assert Reason.OFFSETS_UNKNOWN.remedy in text


def test_a_reason_of_several_sets_is_explained_for_each() -> None:
    text = explain("UnderMinISR", DOCUMENT)
    sections = re.findall(r"^UnderMinISR \((.+)\)$", text, re.MULTILINE)
    assert sections == ["WALCluster", "Topics that are left alone", "ReplicationHealthy and QuorumHealthy"]


def test_links_and_marks_are_for_terminals() -> None:
    text = explain("TopicsChanged", DOCUMENT)
    assert "docs/install.md#a-deletion-that-comes-back-from-a-backup" in text
    assert not re.search(r"\]\(|\*\*|&lt;", text)


def test_a_condition_is_its_section() -> None:
    assert explain("kafkareachable", DOCUMENT).startswith("KafkaReachable\n\nTrue is Connected")


def test_what_nobody_knows_is_said_with_what_is_near() -> None:
    with pytest.raises(Refused, match=r"OffsetUnknown is no reason.*did you mean OffsetsUnknown"):
        explain("OffsetUnknown", DOCUMENT)


@pytest.mark.parametrize("each", known_errors(), ids=lambda each: each.name)
def test_each_known_error_knows_its_own_line_and_has_a_source(each: object) -> None:
    known = next(one for one in known_errors() if one == each)
    text = "\n".join(explain_log([f"2026-11-25 ERROR {known.sample}\n"]))
    assert f"{known.system}: {known.name}, line 1" in text
    assert known.system in {"Kafka", "GreptimeDB", "Spark"}
    assert known.source
    for path, heading in re.findall(r"(docs/[\w./-]+\.md)(?:#([\w-]+))?", known.remedy):
        assert leads_somewhere(ROOT / path, heading), path
    for word in re.findall(r"[(]?(?:condition|reason) (\w+)", known.remedy):
        assert word in {*names(), *ConditionType}, word


def test_an_error_is_told_once_with_its_first_line() -> None:
    log = ["all is well\n", "x OffsetOutOfRange y\n", "LEADER_NOT_AVAILABLE\n", "OffsetOutOfRange\n"]
    heads = [part.splitlines()[0] for part in explain_log(log)]
    assert heads == ["Kafka: OffsetOutOfRange, line 2 and 1 more", "Kafka: LeaderNotAvailable, line 3"]


def test_a_log_without_any_is_no_success() -> None:
    with pytest.raises(Refused, match="none of its lines is known"):
        list(explain_log(["INFO rskafka::connection: Establishing new connection\n", ""]))


def test_a_log_that_is_not_all_text_is_read_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kafka and databases print keys and values of records, as they are."""
    log = io.BytesIO(b"key \xff\xfe of a record\nOffsetOutOfRange\n")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(log, encoding="utf-8"))
    (text,) = answers(argparse.Namespace(reason=None, log=True), cast("Session", None))
    assert text.startswith("Kafka: OffsetOutOfRange, line 2")


def test_who_reads_no_further_is_told_by_the_exit_code() -> None:
    """`seawall … | head`: what was to come may have been a change."""
    ours, theirs = os.pipe()
    os.close(ours)
    with subprocess.Popen([sys.executable, "-m", "seawall", "explain", "OffsetsUnknown"], stdout=theirs) as command:
        os.close(theirs)
        assert command.wait(60) == Exit.NOT_READ
