"""docs/conditions.md has every closed set of reasons, as the code and the transcripts have them."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from types import ModuleType

import pytest

import seawall.api.v1alpha1
import seawall.domain
from seawall.crdgen.conditions import BEGIN, STATES, docstrings, split, table, with_tables
from seawall.crdgen.markdown import PageError
from seawall.domain.backup.reasons import PolicyReason as BackupPolicyReason
from seawall.domain.backup.reasons import Reason as BackupReason
from seawall.domain.brokers.reasons import Reason as BrokersReason
from seawall.domain.clocks import Agreement
from seawall.domain.cluster.reasons import Reason as ClusterReason
from seawall.domain.datanodes.roll import WARNINGS
from seawall.domain.decision import FAILURES, ChangeReason
from seawall.domain.hold.reasons import Reason as HoldReason
from seawall.domain.kafka import Unreachable
from seawall.domain.policy.reasons import Reason as PolicyReason
from seawall.domain.purge.reasons import Reason as PurgeReason
from seawall.domain.restore.reasons import Reason as RestoreReason
from seawall.domain.rollout_reasons import Blocker, HealthReason
from seawall.domain.rollout_reasons import Reason as RolloutReason
from seawall.domain.schedule import ScheduleReason
from seawall.domain.spark_job.allowed import User
from seawall.domain.spark_job.reasons import JobReason
from seawall.domain.subscription.brokers import TargetReason
from seawall.domain.subscription.reasons import Reason as SubscriptionReason
from seawall.domain.verification.reasons import Reason as VerificationReason
from seawall.domain.verification.reasons import ScheduledReason
from tests.product.test_architecture import FENCE, LINKED, leads_somewhere

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "conditions.md"
TRANSCRIPTS = ROOT / "operator" / "tests" / "golden" / "transcripts"

OTHER_NAMES = frozenset({"Agreement", "Blocker", "KafkaBlocker", "NotReached", "TopicEnd", "Unreachable", "User"})
"""Sets of reasons of conditions and statuses that are not called so."""
OF_STATUS = ("Stage", "State", "Cause", "StopReason")
"""How the sets of the API end whose words people meet in a status."""
UNWRITTEN = {
    "seawall.domain.placement.outcome.InfeasibleReason": "nobody reads the word: people read its sentence, under the "
    "reason ReassignmentInfeasible",
}
"""Sets of reasons that are on no page, and why."""
STALE = "<!-- reasons seawall.domain.clocks.Agreement -->\nanything\n<!-- end -->\n"

OF_OBJECT: dict[str, tuple[type[StrEnum], ...]] = {
    "WALCluster": (ClusterReason, Unreachable, ChangeReason),
    "WALHold": (HoldReason, ChangeReason),
    "WALPurge": (PurgeReason, ChangeReason),
    "WALPurgePolicy": (PolicyReason, ScheduleReason, ChangeReason),
    "WALBackup": (BackupReason, JobReason, ChangeReason),
    "WALBackupPolicy": (BackupPolicyReason, ScheduleReason, ChangeReason),
    "WALRestore": (RestoreReason, JobReason, ChangeReason),
    "WALSubscription": (SubscriptionReason, JobReason, ChangeReason),
    "WALVerification": (VerificationReason, JobReason, ChangeReason),
}
"""Whose states are those of the object."""
OF_CONDITION: dict[str, tuple[type[StrEnum], ...]] = {
    "BackedUp": (BackupReason, JobReason),
    "DataPlaneReachable": (ClusterReason,),
    "DatanodesHealthy": (HealthReason,),
    "ExpiryJudged": (Agreement,),
    "KafkaReachable": (ClusterReason,),
    "OwnKafkaUser": (User,),
    "QuorumHealthy": (BrokersReason,),
    "ReplicationHealthy": (BrokersReason,),
    "TargetSafe": (TargetReason,),
    "VerificationScheduled": (ScheduledReason,),
    "WALIntact": (ClusterReason,),
}
"""Whose states are the condition's status."""
STATUSES = frozenset({"True", "False", "Unknown"})
LEAST_COMPARED = 40
"""Reasons with a state that the transcripts come by."""


def sets_of_reasons() -> Iterator[str]:
    """The closed sets of words that a person meets in a condition or a status."""
    for each in enums_of(seawall.domain):
        if each.__name__.endswith("Reason") or each.__name__ in OTHER_NAMES:
            yield f"{each.__module__}.{each.__name__}"
    for each in enums_of(seawall.api.v1alpha1):
        if each.__name__.endswith(OF_STATUS):
            yield f"{each.__module__}.{each.__name__}"


def enums_of(package: ModuleType) -> Iterator[type[StrEnum]]:
    """The closed sets of words below a package."""
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        for value in vars(importlib.import_module(found.name)).values():
            if isinstance(value, type) and issubclass(value, StrEnum) and value.__module__ == found.name:
                yield value


def test_every_set_of_reasons_is_on_the_page_once() -> None:
    assert sorted(BEGIN.findall(PAGE.read_text())) == sorted(set(sets_of_reasons()) - set(UNWRITTEN))


def test_reasons_are_found_in_every_capability() -> None:
    sets = set(sets_of_reasons())
    for capability in (
        "backup",
        "brokers",
        "cluster",
        "hold",
        "ledger",
        "policy",
        "purge",
        "restore",
        "subscription",
        "verification",
    ):
        assert f"seawall.domain.{capability}.reasons.Reason" in sets
    assert {owner.rpartition(".")[2] for owner in sets} >= OTHER_NAMES
    assert set(UNWRITTEN) <= sets


def test_the_tables_are_what_the_code_says() -> None:
    assert with_tables(PAGE.read_text()) == PAGE.read_text()
    assert with_tables(STALE) != STALE


class Undocumented(StrEnum):
    """Two words."""

    SAID = "Said"
    """It has a meaning."""
    UNSAID = "Unsaid"


def test_a_reason_without_a_sentence_is_an_error() -> None:
    with pytest.raises(PageError, match=r"Undocumented: no docstring of UNSAID"):
        table(Undocumented)


@pytest.mark.parametrize(
    ("page", "problem"),
    [
        (STALE.replace("<!-- end -->", ""), "has an end"),
        (STALE.replace("<!-- end -->\n", "") + STALE, "has an end"),
        (STALE.replace("Agreement", "TrustedTime"), "is no StrEnum"),
        (STALE.replace("Agreement", "Nothing"), "is no StrEnum"),
    ],
)
def test_a_table_that_cannot_be_written_is_an_error(page: str, problem: str) -> None:
    with pytest.raises(PageError, match=problem):
        with_tables(page)


class Awkward(StrEnum):
    """Words whose text Markdown would take for something else."""

    BOTH = "Both"
    """Ready or Stalled. Set a: <reason> | `b: <reason>`, as docs/purging.md#holds
    says."""
    NONE = "None"
    """Readily said. There is no state here."""


def test_states_have_a_column_and_nothing_is_lost_to_markdown() -> None:
    assert table(Awkward).splitlines()[2:] == [
        "| `Both` | Ready or Stalled | Set a: &lt;reason> \\| `b: <reason>`, as [purging.md](purging.md#holds) says. |",
        "| `None` |  | Readily said. There is no state here. |",
    ]


def test_links_of_the_pages_lead_somewhere() -> None:
    broken = [
        f"{page.name}: {target}"
        for page in PAGE.parent.glob("*.md")
        for target in LINKED.findall(FENCE.sub("", page.read_text()))
        if "://" not in target and not _leads(page, *target.partition("#")[::2])
    ]
    assert not broken


def _leads(page: Path, path: str, heading: str) -> bool:
    return leads_somewhere((page.parent / path) if path else page, heading)


def states_of(sets: tuple[type[StrEnum], ...]) -> dict[str, set[str]]:
    """Reason → its states as its docstring has them; those without are left out."""
    found = {}
    for each in sets:
        for name, text in docstrings(each).items():
            if state := split(text)[0]:
                found[each[name].value] = set(state.split(" or "))
    return found


def transcribed() -> Iterator[tuple[str, str, str]]:
    """What the transcripts have: kind or condition, reason, and the state or status that it had."""
    for path in TRANSCRIPTS.rglob("*.txt"):
        known: dict[str, dict[str, tuple[str, str]]] = {}
        for block in re.split(r"^  status of ", path.read_text(), flags=re.MULTILINE)[1:]:
            conditions = known.setdefault(block.partition("\n")[0], {})
            for name, status, reason in re.findall(r"^    conditions\[(\w+)\]: (\w+) (\w+) since", block, re.MULTILINE):
                conditions[name] = (status, reason)
                yield name, reason, status
            if (state := _state(conditions)) is not None:
                yield block.partition(" ")[0], conditions["Ready"][1], state


def _state(conditions: dict[str, tuple[str, str]]) -> str | None:
    kstatus = ("Ready", "Reconciling", "Stalled")
    if not conditions.keys() >= set(kstatus):
        return None
    return next((name for name in kstatus if conditions[name][0] == "True"), "Not ready")


def test_states_are_those_of_the_transcripts() -> None:
    """A docstring that says another state than Seawall has fails here, wherever a transcript comes by."""
    found = set(transcribed())
    compared, wrong = 0, []
    for owner, reason, state in found:
        sets = OF_OBJECT.get(owner) or OF_CONDITION.get(owner, ())
        allowed = states_of(sets).get(reason, set())
        allowed = allowed & STATUSES if owner in OF_CONDITION else allowed - STATUSES
        if allowed:
            compared += 1
            if state not in allowed:
                wrong.append((owner, reason, state, allowed))
    assert not wrong
    assert compared >= LEAST_COMPARED


def test_restarts_warn_as_the_page_says() -> None:
    warned = {reason for reason, states in states_of((RolloutReason,)).items() if states == {"Warning"}}
    of_condition = {RolloutReason.LEFT_ON, RolloutReason.IN_MAINTENANCE}
    assert warned == (WARNINGS - set(Blocker) - FAILURES) | of_condition
    assert set(Blocker) <= WARNINGS


def test_every_state_is_in_use() -> None:
    sets = [
        getattr(importlib.import_module(path.rpartition(".")[0]), path.rpartition(".")[2]) for path in sets_of_reasons()
    ]
    assert set().union(*states_of(tuple(sets)).values()) == set(STATES)


REASONS_OF = re.compile(r"\[[^\]]*\breasons?\b[^\]]*\]\(([^)\s]+)\)|\[[^\]]+\]\(([^)\s]+)\)\)? for (?:its|the) reasons")
"""A link that leads to reasons by its own words, or by those behind it."""


def sections_with_reasons() -> set[str]:
    """The anchors of the page below which a table of reasons stands."""
    found, heading = set(), ""
    for line in PAGE.read_text().splitlines():
        if line.startswith("#"):
            heading = re.sub(r"[^\w\- ]", "", line.lstrip("# ").lower()).replace(" ", "-")
        elif BEGIN.match(f"{line}\n"):
            found.add(heading)
    return found


def test_a_link_to_reasons_leads_to_their_table() -> None:
    """Found by a reader: a page sent him for reasons to one that sent him back."""
    tables, wrong, links = sections_with_reasons(), [], 0
    for page in [*PAGE.parent.rglob("*.md"), *ROOT.glob("*.md"), *(ROOT / "charts").rglob("*.md")]:
        for either in REASONS_OF.findall(FENCE.sub("", page.read_text())):
            path, _, heading = "".join(either).partition("#")
            links += 1
            if (path and (page.parent / path).resolve() != PAGE) or (heading and heading not in tables):
                wrong.append((page.name, path, heading))
    assert not wrong
    assert links >= LEAST_LINKS


LEAST_LINKS = 6
