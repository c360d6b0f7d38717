"""What people install, from the built files and in an empty environment: wheel, zipapp, the manifest for krew."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml

from seawall.cli.parser import Exit
from seawall_e2e.loopback.processes import platform_folder
from tests.support.site import Site

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("distribution")]

ROOT = Path(__file__).parents[3]
FETCH_TIMEOUT = 500
OF_OPERATOR = ("confluent_kafka", "kafka", "kopf", "numpy", "obstore", "prometheus_client")
ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]


@dataclass(frozen=True)
class Command:
    """A way to call the command, with nothing of this environment."""

    words: tuple[str, ...]
    environment: Mapping[str, str]

    def __call__(self, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
        environment = {**self.environment, **more}
        command = [*self.words, *words]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)  # noqa: S603 - ours


def run(command: Sequence[str], **more: str) -> None:
    subprocess.run(command, cwd=ROOT, env={**os.environ, **more}, check=True, timeout=500)  # noqa: S603 - ours


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built files, for this machine and this Python."""
    folder = tmp_path_factory.mktemp("dist")
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    run(["operator/dist.sh", str(folder), f"linux-{ARCHITECTURE}"], PYTHONS=python)
    return folder


@pytest.fixture(scope="module")
def commands(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Command]:
    """The wheel in an environment of its own, and the zipapp without one."""
    home = tmp_path_factory.mktemp("home")
    uv = subprocess.run(["requirements/uv.sh"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()  # noqa: S607 - ours
    run([uv, "venv", "--quiet", "--python", sys.executable, str(home / "venv")])
    install = (uv, "pip", "install", "--quiet", "--no-deps", "--python", str(home / "venv"))
    run([*install, "--require-hashes", "-r", "requirements/cli.lock"])
    run([*install, str(dist / f"seawall-{version('seawall')}-py3-none-any.whl")])
    environment = {"HOME": str(home), "PATH": f"{home}/venv/bin:/usr/bin:/bin"}
    (home / "krew").mkdir()
    run(["tar", "-xzf", str(next(dist.glob("*.tar.gz"))), "-C", str(home / "krew")])
    return {
        "wheel": Command((str(home / "venv" / "bin" / "kubectl-seawall"),), environment),
        "zipapp": Command(
            (str(home / "venv" / "bin" / "python"), "-I", str(home / "krew" / "kubectl-seawall")), environment
        ),
    }


WAYS = pytest.mark.parametrize("way", ["wheel", "zipapp"])


@WAYS
def test_it_explains_itself(commands: Mapping[str, Command], way: str) -> None:
    for words in ((), ("status",)):
        found = commands[way](*words, "--help")
        assert (found.returncode, found.stderr) == (Exit.DONE, ""), words
        assert found.stdout.startswith(f"usage: {' '.join(('seawall', *words))} "), words
    assert "has fewer in-sync replicas" in commands[way]("explain", "UnderMinISR").stdout


def test_all_commands_can_be_imported_without_what_only_the_operator_needs(commands: Mapping[str, Command]) -> None:
    python = Command((f"{commands['wheel'].words[0].rpartition('/')[0]}/python",), commands["wheel"].environment)
    installed = f"import importlib.util as u; print([m for m in {OF_OPERATOR} if u.find_spec(m)])"
    assert python("-c", installed).stdout == "[]\n"
    found = python("-c", "from seawall.cli.parser import build_parser; build_parser()")
    assert (found.returncode, found.stderr) == (Exit.DONE, "")


@WAYS
def test_what_needs_the_operators_libraries_says_so(commands: Mapping[str, Command], way: str) -> None:
    found = commands[way]("run")
    assert (found.returncode, found.stdout) == (Exit.REFUSED, "")
    assert found.stderr.endswith("which is not here: pip install 'seawall[operator]'\n")
    assert len(found.stderr.splitlines()) == 1


@WAYS
def test_it_asks_a_real_api_server(site: Site, commands: Mapping[str, Command], way: str) -> None:
    site.declare()
    site.wait_ready()
    here = {"KUBECONFIG": str(site.kube.server.kubeconfig)}
    found = commands[way]("status", "wal", "-n", site.namespace, "--operator", "default/seawall", **here)
    assert (found.returncode, found.stderr) == (Exit.DONE, "")
    assert found.stdout.startswith(f"WALCluster {site.namespace}/wal: Ready")
    found = commands[way]("pause", "wal", "-n", site.namespace, "--dry-run", **here)
    assert found.stdout.endswith("Dry run: nothing was changed.\n"), found.stderr
    found = commands[way]("version", "--operator", "default/seawall", **here)
    assert found.stdout.splitlines()[1] == f"operator  {version('seawall')}"


def test_krew_itself_takes_the_manifest(dist: Path, tmp_path: Path) -> None:
    validator = str(platform_folder("krew.sh", FETCH_TIMEOUT) / "validate-krew-manifest")

    def judge(manifest: Path) -> int:
        command = [validator, "-skip-install", "-manifest", str(manifest)]
        return subprocess.run(command, capture_output=True, check=False, timeout=60).returncode  # noqa: S603 - krew's

    assert judge(dist / "seawall.yaml") == 0
    found = yaml.safe_load((dist / "seawall.yaml").read_text())
    del found["spec"]["platforms"][0]["sha256"]
    broken = tmp_path / "seawall.yaml"
    broken.write_text(yaml.safe_dump(found))
    assert judge(broken), "it looks"
