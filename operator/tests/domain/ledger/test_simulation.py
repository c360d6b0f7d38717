"""I1 to I6 under whatever hypothesis thinks of: two operators, a database that restarts and moves, holds at any moment.

`SEAWALL_LEDGER_EXAMPLES` makes the search longer than what `make test` has time for.
"""

from __future__ import annotations

import os
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from seawall.domain.ledger.held import Claim
from seawall.domain.ledger.mode import Mode
from seawall.domain.ledger.policy import Level, Requirement
from tests.domain.ledger.simulation.operator import START
from tests.domain.ledger.simulation.world import GRACE, World

EXAMPLES = int(os.environ.get("SEAWALL_LEDGER_EXAMPLES", "40"))
NODES = st.integers(0, 1)
REQUIRED = Requirement(Level.INTEGRITY, timedelta(milliseconds=400))
REGIONS = st.integers(0, 2)
OPERATORS = st.integers(0, 1)


class Simulation(RuleBasedStateMachine):
    """Moves in the world; after each of them everything that must be true is."""

    world: World

    @initialize(mode=st.sampled_from([Mode.A, Mode.B, Mode.C]), inner=st.integers(1, 2), counts=st.booleans())
    def begin(self, mode: Mode, inner: int, counts: bool) -> None:  # noqa: FBT001 - hypothesis fills it
        self.start(World(mode), inner)
        self.world.database.any_change_may_stage = counts

    def start(self, world: World, inner: int) -> None:
        self.world = world
        self.born = 0
        for number in range(2):
            self.create(number, inner)
        self.world.beat(20)

    def teardown(self) -> None:
        if hasattr(self, "world") and not self.world.broken_since:
            self.world.restart_everything()

    # --- the database

    @rule(region=REGIONS, inner=st.integers(0, 1), rows=st.integers(1, 5))
    def write(self, region: int, inner: int, rows: int) -> None:
        for _ in range(rows if region < self.born else 0):
            self.world.database.write(region, inner)
        self.world.check()

    @rule(region=REGIONS)
    def flush(self, region: int) -> None:
        if region < self.born:
            self.world.database.flush(region)
        self.world.check()

    @rule(region=REGIONS)
    def checkpoint(self, region: int) -> None:
        if region < self.born:
            self.world.database.checkpoint(region)
        self.world.check()

    @precondition(lambda self: self.born < 3)
    @rule(node=NODES, inner=st.integers(1, 2))
    def create(self, node: int, inner: int) -> None:
        start = self.world.logs["wal_0"].high_watermark - 1
        self.world.database.create(self.born, "wal_0", node, inner, start)
        self.born += 1

    @rule(node=NODES)
    def kill(self, node: int) -> None:
        self.world.database.kill(node)
        self.world.check()

    @rule(number=st.integers(0, 2))
    def finish_open(self, number: int) -> None:
        self.world.database.finish_open(number)
        self.world.check()

    @rule(
        region=REGIONS,
        node=NODES,
        what=st.sampled_from(["begin", "begin, and the old one is silent", "end", "roll back"]),
    )
    def migrate(self, region: int, node: int, what: str) -> None:
        database = self.world.database
        if region >= self.born:
            return
        match what:
            case "end":
                database.end_migration(region, node)
            case "roll back":
                database.roll_back_migration(region)
            case _:
                database.begin_migration(region, node, old_answers=what == "begin")

    @rule(region=REGIONS, what=st.sampled_from(["begin", "begin", "fails", "succeeds"]), flushes=st.booleans())
    def repartition(self, region: int, what: str, flushes: bool) -> None:  # noqa: FBT001 - hypothesis fills it
        database = self.world.database
        if region >= self.born:
            return
        if what == "begin":
            database.begin_staging(region)
        else:
            database.end_staging(region, fails=what == "fails")
        if flushes:
            database.write(region, 0)
            database.flush(region)
        self.world.check()

    @rule(region=REGIONS, what=st.sampled_from(["drop", "roll back", "roll back", "finish"]))
    def drop(self, region: int, what: str) -> None:
        database = self.world.database
        if region >= self.born:
            return
        match what:
            case "drop":
                database.drop(region)
            case "finish":
                database.finish_drop(region, after=GRACE)
            case _:
                database.roll_back_drop(region, within=GRACE)
        self.world.check()

    @rule(region=REGIONS, what=st.sampled_from(["add", "add", "replay", "remove"]))
    def follow(self, region: int, what: str) -> None:
        if region >= self.born:
            return
        match what:
            case "add":
                self.world.database.add_standby(region)
            case "replay":
                self.world.database.replay_on_standby(region)
            case _:
                self.world.database.remove_standby(region)

    # --- reports

    @rule(node=NODES, what=st.sets(st.sampled_from(["sample", "send", "arrive"]), min_size=1))
    def report(self, node: int, what: set[str]) -> None:
        if "sample" in what:
            self.world.database.sample_idle(node)
        if "send" in what:
            self.world.database.heartbeat(node)
        if "arrive" in what:
            self.world.database.deliver(node)

    @rule(operator=OPERATORS)
    def remember_reports(self, operator: int) -> None:
        """The next look of this operator will be answered from an old copy."""
        self.world.operators[operator].old_reports = list(self.world.database.delivered)

    # --- operators

    @rule(operator=OPERATORS, steps=st.integers(1, 8))
    def step(self, operator: int, steps: int) -> None:
        for _ in range(steps):
            self.world.operators[operator].step()
            self.world.check()

    @rule(operator=OPERATORS)
    def crash(self, operator: int) -> None:
        self.world.operators[operator].start()

    @rule(times=st.integers(1, 25), wait=st.integers(1, 20))
    def beat(self, times: int, wait: int) -> None:
        self.live(times, wait)

    @rule(flushes=st.sampled_from([(0, 1, 2), (0,), (1,)]), times=st.integers(10, 30))
    def live_and_flush(self, flushes: tuple[int, ...], times: int) -> None:
        """What a purge needs: everybody writes, some flush, and time goes by."""
        for region in range(self.born):
            self.world.database.write(region, 0)
        for region in flushes:
            if region < self.born:
                self.world.database.flush(region)
        self.live(times, 5)

    @rule(operator=OPERATORS, times=st.integers(1, 15))
    def one_operator_sleeps(self, operator: int, times: int) -> None:
        """The other one goes on alone."""
        asleep = self.world.operators.pop(operator)
        self.live(times, 5)
        self.world.operators.insert(operator, asleep)

    def live(self, times: int, wait: int) -> None:
        for _ in range(times):
            if self.world.mode is Mode.A:
                self.world.database.prune_by_itself("wal_0")
            self.world.beat(1, wait)

    @rule(by=st.integers(1, 100))
    def wait(self, by: int) -> None:
        self.world.database.now += by

    # --- holds

    @rule(back=st.integers(-2, 12), everything=st.booleans())
    def place_hold(self, back: int, everything: bool) -> None:  # noqa: FBT001 - hypothesis fills it
        offset = max(0, self.world.logs["wal_0"].high_watermark - back)
        claim = Claim(everything=True) if everything and back > 8 else Claim({"wal_0": offset})
        self.world.place_hold(f"hold-{len(self.world.store.holds)}", claim, ttl=1_500)

    @rule(number=st.integers(0, 3), what=st.sampled_from(["renew", "edit", "release"]), by=st.integers(-3, 3))
    def change_hold(self, number: int, what: str, by: int) -> None:
        self.world.change_hold(f"hold-{number}", what, by, START + timedelta(milliseconds=self.world.database.now))

    @rule()
    def stop_for_a_while(self) -> None:
        self.world.store.stopped = True
        self.live(3, 5)
        self.world.store.stopped = False


class GatedSimulation(Simulation):
    """The same where a purge needs a verification: it passes, fails, dies, gets old or is deleted at any moment."""

    @initialize(mode=st.sampled_from([Mode.A, Mode.B, Mode.C]), inner=st.integers(1, 2))
    def begin(self, mode: Mode, inner: int) -> None:
        self.start(World(mode, required=REQUIRED), inner)

    @rule(operator=OPERATORS, level=st.sampled_from(Level))
    def begin_verification(self, operator: int, level: Level) -> None:
        planned = self.world.operators[operator].plan
        if planned is not None:
            self.world.verifications.begin("wal_0", level, planned)

    @rule(number=st.integers(0, 2), how=st.sampled_from(["passes", "passes", "finds damage", "dies"]))
    def end_verification(self, number: int, how: str) -> None:
        self.world.verifications.end(number, dies=how == "dies", finds_damage=how == "finds damage")

    @rule(number=st.integers(0, 5))
    def remove_verification(self, number: int) -> None:
        self.world.verifications.remove(number)

    @rule(times=st.integers(0, 30))
    def live_flush_and_verify(self, times: int) -> None:
        """What a gated purge needs; meanwhile rows go on to be written and flushed."""
        self.live_and_flush((0, 1, 2), 10)
        planned = self.world.operators[0].plan
        if planned is not None:
            self.world.verifications.begin("wal_0", Level.INTEGRITY, planned)
        self.live_and_flush((0, 1, 2), 10)
        self.world.verifications.end(len(self.world.verifications.jobs) - 1)
        self.live(times, 5)

    @rule()
    def wait_until_verifications_are_old(self) -> None:
        self.live(3, 50)


@pytest.mark.parametrize("mode", [Mode.A, Mode.B, Mode.C])
def test_a_gated_purge_of_the_simulation_goes_to_where_a_verification_began_and_no_further(mode: Mode) -> None:
    world = World(mode, required=REQUIRED)
    for number in range(2):
        world.database.create(number, "wal_0", number, 1, 0)
    world.beat(20)
    starts = []
    for _ in range(3):
        for number in range(10):
            world.database.write(number % 2, 0)
        for number in range(2):
            world.database.flush(number)
        world.beat(10)
        planned = world.operators[0].plan
        assert planned is not None
        world.verifications.begin("wal_0", Level.INTEGRITY, planned)
        world.verifications.end(0)
        for _ in range(60):
            if mode is Mode.A:
                world.database.prune_by_itself("wal_0")
            world.beat()
        starts.append((world.logs["wal_0"].log_start, world.verifications.kept[-1].says.verified_from))
    below = 1 if mode is Mode.C else 0  # there the record at the least flushed id stays
    assert all(start == verified - below > 0 for start, verified in starts), starts
    assert len(set(starts)) == len(starts)


TestSimulation = Simulation.TestCase
TestSimulation.settings = settings(
    max_examples=EXAMPLES, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)
TestGatedSimulation = GatedSimulation.TestCase
TestGatedSimulation.settings = settings(TestSimulation.settings, max_examples=max(1, EXAMPLES // 4))
