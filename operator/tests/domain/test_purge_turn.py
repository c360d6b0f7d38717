"""Whose turn it is among the runs of one WALCluster."""

from dataclasses import replace
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from seawall.api.meta import Condition, ConditionType, InvalidSpec
from seawall.api.v1alpha1.purge import FINISHED, Stage, WALPurge
from seawall.domain.conditions import find_condition
from seawall.domain.decision import settle
from seawall.domain.purge.decide import decide
from seawall.domain.purge.state import Observed
from seawall.domain.purge.waits import run_in_front, why_waiting
from seawall.domain.step import Record
from tests.domain.purges import NOON, make_policy, make_run

LATER = NOON + timedelta(minutes=1)
LATEST = NOON + timedelta(minutes=2)


def front(run: WALPurge, *others: WALPurge) -> str | None:
    """The name of the run in front, of a list that has the run itself too."""
    found = run_in_front(run, [*others, run])
    return None if found is None else found.metadata.name


def test_a_run_alone_has_its_turn() -> None:
    assert front(make_run("a")) is None


def test_runs_go_in_the_order_in_which_they_were_created_whoever_made_them() -> None:
    manual, scheduled = make_run("manual"), make_run("scheduled", created=LATER, policy=make_policy())
    assert front(manual, scheduled) is None
    assert front(scheduled, manual) == "manual"


def test_of_several_in_front_the_first_is_named() -> None:
    assert front(make_run("c", created=LATEST), make_run("b", created=LATER), make_run("a")) == "a"


def test_one_that_has_begun_goes_first_even_if_it_is_younger() -> None:
    older, begun = make_run("older"), make_run("begun", Stage.PREPARATION, created=LATER)
    assert front(older, begun) == "begun"
    assert front(begun, older) is None


def test_others_stand_in_nobodys_way() -> None:
    run = make_run("mine", created=LATEST)
    assert front(run, *(make_run(f"over-{stage}", stage) for stage in FINISHED)) is None
    assert front(run, make_run("elsewhere", namespace="other"), make_run("of-another", cluster="other")) is None
    assert front(run, make_run("goes", Stage.PURGE, deletion_timestamp=NOON)) is None
    assert front(run, replace(make_run("unreadable"), spec=InvalidSpec("no", cluster="wal"))) is None


def test_who_waits_says_for_whom() -> None:
    assert why_waiting(make_run("a", Stage.PURGE)) == "WALPurge a of the same WALCluster comes first; it is in Purge"
    assert "has not begun" in why_waiting(make_run("a"))


def test_who_waits_for_one_that_cannot_go_on_says_why_and_what_to_do() -> None:
    paused = why_waiting(make_run("a", Stage.PURGE, annotations={"seawall.dev/paused": "true"}))
    assert paused.endswith("it is in Purge and is paused: remove its annotation seawall.dev/paused, or delete it")
    unaware = make_run("a", Stage.PREPARATION)
    ready = Condition(
        type="Ready", status="False", reason="CannotLook", message="no broker answered", last_transition_time=NOON
    )
    unaware = replace(unaware, status=unaware.status.model_copy(update={"conditions": (ready,)}))
    assert why_waiting(unaware).endswith("cannot look at the ledger (no broker answered): mend that, or delete it")


def test_a_paused_run_says_so_even_when_another_comes_first() -> None:
    """Else the run behind says that it waits for one that a pause of the WALCluster keeps, too."""
    observed = Observed(
        NOON, has_cluster=True, front=make_run("a"), paused="seawall.dev/paused is set on WALCluster wal"
    )
    run = make_run("b")
    step = settle(run, decide(run, observed))
    assert isinstance(step, Record)
    ready = find_condition(step.status.conditions, ConditionType.READY)
    assert ready is not None
    assert (ready.reason, ready.message) == ("Paused", observed.paused)


STAGES = st.sampled_from([None, *Stage])
RUNS = st.lists(st.tuples(st.integers(0, 3), STAGES), min_size=1, max_size=6)


@given(RUNS)
def test_of_the_runs_that_are_not_over_exactly_one_has_its_turn(made: list[tuple[int, Stage | None]]) -> None:
    runs = [
        make_run(f"run-{index}", stage, created=NOON + timedelta(seconds=seconds))
        for index, (seconds, stage) in enumerate(made)
    ]
    living = [run for run in runs if not run.status.is_finished]
    assert sum(run_in_front(run, runs) is None for run in living) == min(1, len(living))
