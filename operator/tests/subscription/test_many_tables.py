"""A database makes tables all the time, and has very many: what hands rows on goes on."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from seawall.api.meta import Key
from seawall.domain.errors import Forbidden
from seawall.domain.kubernetes import ConfigMap
from seawall.domain.spark_job import following
from seawall.domain.spark_job.application import RERUN, Ended
from seawall.domain.times import SUBSCRIPTION_NAMES_ANEW
from seawall.observe.old_requests import OldRequests
from tests.subscription.test_records_sink import LATER, make_table
from tests.worlds.purge_world import NAMESPACE
from tests.worlds.records_world import RecordsWorld
from tests.worlds.verification_world import why

if TYPE_CHECKING:
    from seawall.domain.subscription.case import Case

GLOBS = {"include": ["public.*"]}
MINUTES = 12
"""In ticks of five seconds."""


def copying(**spec: object) -> RecordsWorld:
    """One that has handed all on."""
    world = RecordsWorld()
    world.subscribe(**spec)
    world.live(world.is_even)
    return world


def make_name(world: RecordsWorld, number: int, schema: str = "public") -> None:
    """A table of which nothing is in the log, such as a logical one of a metric."""
    world.store.put_table((LATER >> 32) + number, schema, f"metric_{number}")


def requests(world: RecordsWorld) -> list[str]:
    """The ConfigMaps that there are."""
    return sorted(key.name for key in world.kube.config_maps() if key.name.startswith("dr-"))


def refuse(_: ConfigMap) -> None:
    """What a Role says that was written before."""
    raise Forbidden("configmaps may not be deleted")


def known(world: RecordsWorld) -> set[str]:
    """What the newest request names."""
    return {table["name"] for table in world.requests()[-1]["tables"]["known"]}


# --- names that no ConfigMap takes


def test_names_that_no_config_map_takes_end_nothing_that_runs() -> None:
    """Another run could not be told of them."""
    world = copying(tables=GLOBS)
    with pytest.MonkeyPatch.context() as small:
        small.setattr(following, "MAX_BYTES", 100)
        world.subscribe(tables={"include": ["public.*", "private.*"]})
        found = world.live(lambda: why(world.subscription())[0] == "TooManyTables")
        assert "a ConfigMap 1 MiB: narrow spec.tables, and make several; what was begun before goes on" in why(found)[1]
        world.write("wal_0", 7)
        world.live(world.is_even)
        assert world.rows_of("wal_0") == list(range(47))
        assert [key.name for key in world.spark.applications] == ["dr-1"]
    world.live(lambda: world.runs(2) and world.is_even())


def test_an_application_that_is_gone_begins_again_with_the_names_that_fitted() -> None:
    world = copying()
    with pytest.MonkeyPatch.context() as small:
        small.setattr(following, "MAX_BYTES", 100)
        make_name(world, 1)
        world.time.time += timedelta(minutes=2)
        del world.spark.applications[Key(NAMESPACE, "dr-1")]
        world.live(lambda: world.runs(1) and world.is_even())
        assert len(world.spark.made) == 2


def test_what_is_stuck_is_replaced_while_names_fit_no_config_map() -> None:
    what_is_stuck_is_replaced_while_names_fit_no_config_map()


def what_is_stuck_is_replaced_while_names_fit_no_config_map() -> None:
    """Another run is due and cannot begin, and the Spark Operator has forgotten the one that is there."""
    world = copying()
    with pytest.MonkeyPatch.context() as small:
        small.setattr(following, "MAX_BYTES", 100)
        make_name(world, 1)
        world.time.time += SUBSCRIPTION_NAMES_ANEW
        found = world.live(lambda: why(world.subscription())[0] == "TooManyTables")
        assert why(found)[1].endswith("; what was begun before goes on")
        world.spark.report(Key(NAMESPACE, "dr-1"), RERUN, driver=Ended(1, "", world.time.time))
        found = world.live(ticks=3)
        assert why(found)[0] == "TooManyTables"
        assert "goes on" not in why(found)[1]
        world.live(lambda: len(world.spark.made) == 2 and world.runs(1))
        world.write("wal_0", 7)
        world.live(world.is_even)


# --- requests of runs that are over


def test_of_all_runs_two_requests_are_left() -> None:
    world = copying()
    for number in range(2, 6):
        world.subscribe(tables={"include": [f"public.{'?' * number}*"]})
        world.live(lambda: world.runs(number) and world.is_even())  # noqa: B023 - it is called at once
        assert requests(world) == [f"dr-{number - 1}", f"dr-{number}"]


def test_a_config_map_of_somebody_else_stays() -> None:
    world = copying()
    world.subscribe(tables=GLOBS)
    world.live(lambda: world.runs(2) and world.is_even())
    world.kube.remove_config_map(Key(NAMESPACE, "dr-1"))
    world.kube.put_config_map(Key(NAMESPACE, "dr-1"), {"mine": "yes"})
    world.subscribe(tables={"include": ["public.t*"]})
    world.live(lambda: world.runs(3) and world.is_even())
    assert requests(world) == ["dr-1", "dr-2", "dr-3"]


def test_whoever_may_not_delete_requests_copies_all_the_same() -> None:
    whoever_may_not_delete_requests_copies_all_the_same()


def whoever_may_not_delete_requests_copies_all_the_same() -> None:
    """A Role of before, written by hand: it is told, and the hold goes on."""
    world = copying()
    with pytest.MonkeyPatch.context() as role:
        role.setattr(world.kube, "delete_config_map", refuse)
        for number in (2, 3, 4):
            world.subscribe(tables={"include": [f"public.{'?' * number}*"]})
            world.live(lambda: world.runs(number) and world.is_even())  # noqa: B023 - it is called at once
        assert "configmaps may not be deleted" in why(world.live(ticks=20))[1]
        world.write("wal_0", 5)
        world.live(world.is_even)
        assert requests(world) == ["dr-1", "dr-2", "dr-3", "dr-4"]
    world.live(lambda: why(world.subscription())[0] == "Streaming")
    assert "dr-2" not in requests(world)


def test_requests_that_a_version_before_left_go_one_after_another() -> None:
    requests_that_a_version_before_left_go_one_after_another()


def requests_that_a_version_before_left_go_one_after_another() -> None:
    """It deleted none. Of one run there is none, and one is somebody else's by now."""
    world = copying()
    with pytest.MonkeyPatch.context() as before:
        before.setattr(world.kube, "delete_config_map", refuse)
        for number in range(2, 7):
            world.subscribe(tables={"include": [f"public.{'?' * number}*"]})
            world.live(lambda: world.runs(number) and world.is_even())  # noqa: B023 - it is called at once
    assert requests(world) == [f"dr-{number}" for number in range(1, 7)]
    for name in ("dr-2", "dr-3"):
        world.kube.remove_config_map(Key(NAMESPACE, name))
    world.kube.put_config_map(Key(NAMESPACE, "dr-2"), {"mine": "yes"})
    world.live(ticks=20)
    assert requests(world) == ["dr-2", "dr-5", "dr-6"]


def test_old_requests_go_although_a_topic_is_stopped() -> None:
    """Which is what its condition says, whether they may be deleted or not."""
    world = copying()
    world.recreate("wal_2")
    world.live(lambda: why(world.subscription())[0] == "TopicsStopped")
    with pytest.MonkeyPatch.context() as role:
        role.setattr(world.kube, "delete_config_map", refuse)
        for number in (2, 3):
            runs = len(world.spark.specs)
            world.subscribe(tables={"include": [f"public.{'?' * number}*"]})
            world.live(lambda: world.runs(runs + 1))  # noqa: B023 - it is called at once
        assert why(world.live(ticks=20))[0] == "TopicsStopped"
        assert len(requests(world)) == runs + 1 > 2
    world.live(ticks=20)
    assert requests(world) == [f"dr-{runs}", f"dr-{runs + 1}"]


def test_a_run_more_does_not_begin_the_walk_through_old_requests_anew() -> None:
    """What a version before left goes where there is a run each quarter of an hour, too."""
    walk, left, first = OldRequests(), set(range(1, 301)), 301
    for tick in range(400):
        run = first + tick // 10
        left.add(run)
        meant = SimpleNamespace(run=SimpleNamespace(number=run))
        case = SimpleNamespace(status=meant, uid="uid", run_key=lambda number: Key(NAMESPACE, str(number)))
        found = walk.read(cast("Case", case), lambda key: request_of(key) if int(key.name) in left else None)
        if found is not None:
            left.remove(int(found.key.name))
    assert left <= {run - 1, run}


def request_of(key: Key) -> ConfigMap:
    """Made by the subscription of that walk."""
    return ConfigMap(key, {}, controller_uid="uid")


# --- a table each minute


def test_tables_that_are_made_and_dropped_end_no_run_where_everything_is_selected() -> None:
    """Until it has lasted a while: then the next one knows them all."""
    world = copying()
    for number in range(1, 6):
        make_name(world, number)
        world.live(ticks=MINUTES)
    world.store.drop_table((LATER >> 32) + 1)
    world.live(ticks=MINUTES)
    assert (requests(world), len(world.spark.specs)) == (["dr-1"], 1)
    world.write("wal_1", 3)
    world.live(world.is_even)
    world.live(lambda: world.runs(2) and world.is_even(), ticks=int(SUBSCRIPTION_NAMES_ANEW.total_seconds() / 5))
    assert {f"public.metric_{number}" for number in range(2, 6)} < known(world)
    world.live(ticks=2 * MINUTES)
    assert len(world.spark.specs) == 2


@pytest.mark.parametrize("schema", ["public", "private"])
def test_tables_of_which_nothing_comes_end_no_run_where_globs_select(schema: str) -> None:
    tables_of_which_nothing_comes_end_no_run(schema)


def tables_of_which_nothing_comes_end_no_run(schema: str = "private") -> None:
    """The application meets none of them."""
    world = copying(tables=GLOBS)
    for number in range(1, 4):
        make_name(world, number, schema)
        world.live(ticks=2 * MINUTES)
    world.time.time += 2 * SUBSCRIPTION_NAMES_ANEW
    world.live(ticks=2 * MINUTES)
    assert (requests(world), len(world.spark.specs)) == (["dr-1"], 1)


def test_a_table_that_is_selected_no_more_by_its_name_is_left_out_at_once() -> None:
    world = copying(tables=GLOBS)
    make_table(world)
    world.live(world.is_even)
    runs = len(world.spark.specs)
    world.store.put_table(LATER >> 32, "private", "later")
    world.live(lambda: world.runs(runs + 1) and world.is_even())
    make_table(world, schema="private")
    world.live(world.is_even)
    assert world.rows_of("wal_0") == list(range(45))
    assert [offset for _, _, offset in world.left_out] == list(range(45, 50))


def test_a_table_that_is_selected_now_by_its_name_is_in_at_once() -> None:
    world = copying(tables=GLOBS)
    make_table(world, schema="private")
    world.live(world.is_even)
    runs = len(world.spark.specs)
    world.store.put_table(LATER >> 32, "public", "later")
    world.live(lambda: world.runs(runs + 1) and world.is_even())
    make_table(world)
    world.live(world.is_even)
    assert world.rows_of("wal_0") == [*range(40), *range(45, 50)]


def test_another_name_of_a_table_is_another_run_where_everything_is_selected() -> None:
    world = copying()
    make_name(world, 1)
    world.live(ticks=2 * MINUTES)
    world.store.put_table(next(iter(world.rows)) >> 32, "public", "renamed")
    world.live(ticks=3 * MINUTES)
    assert world.runs(2)
    assert {"public.renamed", "public.metric_1"} < known(world)
