"""The test beds themselves."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from seawall_e2e.commands import CommandFailed
from seawall_e2e.loopback import ApiServer
from seawall_e2e.loopback.forked import ForkedProcess, Program
from seawall_e2e.loopback.processes import BedError, Process, free_ports
from seawall_e2e.waiting import wait_until

HTTP_SERVER = "http.server", ["0", "--bind=127.0.0.1"]
"""The operator's libraries have imported it: running it again is a warning."""
pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("api-server")]


def test_the_api_server_keeps_objects_over_a_restart(api_server: ApiServer) -> None:
    api_server.kubectl("create", "namespace", "restart")
    api_server.kubectl("create", "configmap", "kept", "-n", "restart", "--from-literal=a=b")
    api_server.restart()
    kept = json.loads(api_server.kubectl("get", "configmap", "kept", "-n", "restart", "-o", "json"))
    assert kept["data"] == {"a": "b"}


def test_a_killed_api_server_answers_nobody(api_server: ApiServer) -> None:
    api_server.kill()
    try:
        with pytest.raises(CommandFailed, match="refused"):
            api_server.kubectl("get", "namespaces")
    finally:
        api_server.start()
    assert "default" in api_server.kubectl("get", "namespaces")


def test_a_paused_api_server_holds_its_callers(api_server: ApiServer) -> None:
    api_server.pause()
    try:
        with pytest.raises(CommandFailed, match=r"did not end|[Tt]imeout"):
            api_server.kubectl("get", "namespaces", "--request-timeout=1s", timeout=10)
    finally:
        api_server.resume()
    assert "default" in api_server.kubectl("get", "namespaces")


def test_roles_bind_a_service_account(api_server: ApiServer) -> None:
    api_server.kubectl("create", "namespace", "roles")
    api_server.kubectl("create", "serviceaccount", "reader", "-n", "roles")
    api_server.kubectl("create", "role", "reader", "-n", "roles", "--verb=get", "--resource=configmaps")
    api_server.kubectl(
        "create", "rolebinding", "reader", "-n", "roles", "--role=reader", "--serviceaccount=roles:reader"
    )
    theirs = f"--kubeconfig={api_server.kubeconfig_of('roles', 'reader')}"
    assert api_server.kubectl("auth", "can-i", "get", "configmaps", "-n", "roles", theirs).strip() == "yes"
    with pytest.raises(CommandFailed, match="no"):
        api_server.kubectl("auth", "can-i", "get", "secrets", "-n", "roles", theirs)


def test_a_process_that_does_not_get_ready_ends_in_its_log(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("processes")
    ends = Process("ends", ["sh", "-c", "echo why; exit 3"], folder)
    ends.start()
    with pytest.raises(BedError, match="ended while it was starting:\nwhy"):
        ends.wait_ready(lambda: False, 10)
    hangs = Process("hangs", ["sh", "-c", "echo still; exec sleep 60"], folder)
    hangs.start()
    hangs.wait_ready(lambda: "still" in hangs.log_since_start(), 30)
    with pytest.raises(BedError, match=r"not ready within \d+ s:\nstill"):
        hangs.wait_ready(lambda: False, 1)
    hangs.kill()
    assert not hangs.is_running()


def test_a_fork_is_a_process_with_a_log_signals_and_an_exit_code(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("forks")
    missing = ForkedProcess("missing", Program("no_such_module", []), folder)
    missing.start()
    with pytest.raises(BedError, match=r"ended while it was starting:\n[^$]*No module named no_such_module"):
        missing.wait_ready(lambda: False, 30)
    assert missing.exit_code == 1
    serves = ForkedProcess("serves", Program(*HTTP_SERVER, warnings="default"), folder)
    serves.start()
    serves.wait_ready(lambda: "Serving HTTP" in serves.log_since_start(), 30)
    with pytest.raises(BedError, match="runs already"):
        serves.start()
    serves.kill()
    assert serves.exit_code == -signal.SIGKILL
    serves.start()
    serves.wait_ready(lambda: "Serving HTTP" in serves.log_since_start(), 30)
    serves.stop(30)
    assert serves.exit_code == -signal.SIGTERM


@pytest.mark.parametrize(
    "child",
    [
        "Process('child', ['python3', '-u', '-m', {0!r}, *{1!r}], {2!r})",
        "ForkedProcess('child', Program({0!r}, {1!r}, warnings='default'), {2!r})",
    ],
    ids=["executed", "forked"],
)
def test_a_killed_test_run_leaves_no_process(child: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("orphans")
    script = (
        "import os, signal; from pathlib import PosixPath; from seawall_e2e.loopback.processes import Process;"
        "from seawall_e2e.loopback.forked import ForkedProcess, Program;"
        f"p = {child.format(*HTTP_SERVER, folder)}; p.start();"
        "p.wait_ready(lambda: 'Serving HTTP' in p.log_since_start(), 30);"
        "print(p.pid, flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    )
    command = [sys.executable, "-c", script]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)  # noqa: S603 - our own
    assert run.returncode == -signal.SIGKILL
    wait_until(lambda: has_ended(int(run.stdout)), "the child has ended")


def has_ended(pid: int) -> bool:
    """Whether there is no such process, or only its zombie: nobody may wait for orphans in a container."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def test_ports_are_free_and_different() -> None:
    ports = [*free_ports(50), *free_ports(50)]
    assert len(set(ports)) == 100
