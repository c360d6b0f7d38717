"""What people install, as a release has it, in an empty environment: wheel, zipapp, krew's manifest, charts, CRDs."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml

from seawall.api.v1alpha1.kinds import KINDS
from seawall.cli.parser import Exit
from seawall_e2e.loopback.processes import binaries_folder, platform_folder
from seawall_e2e.releases import Tree
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
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    """What is here, as a release of this version."""
    return Tree.of_here(tmp_path_factory.mktemp("tree"), version("seawall"))


@pytest.fixture(scope="module")
def dist(tree: Tree, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built files, for this machine and this Python, without images."""
    return tree.build(tmp_path_factory.mktemp("dist"), PLATFORMS=f"linux-{ARCHITECTURE}")


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


def test_checksums_are_of_all_files_and_find_a_changed_one(dist: Path, tmp_path: Path) -> None:
    def check(folder: Path) -> int:
        command = ["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"]
        return subprocess.run(command, cwd=folder, capture_output=True, check=False, timeout=60).returncode  # noqa: S603 - coreutils

    names = {line.split()[1] for line in (dist / "SHA256SUMS").read_text().splitlines()}
    assert names == {path.name for path in dist.iterdir()} - {"SHA256SUMS"}
    assert check(dist) == 0
    for path in dist.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "crds.yaml").write_text("---\n")
    assert check(tmp_path)


def test_the_same_tree_makes_the_same_files(tree: Tree, dist: Path, tmp_path: Path) -> None:
    again = tree.build(tmp_path / "again", PLATFORMS=f"linux-{ARCHITECTURE}")
    assert (again / "SHA256SUMS").read_text() == (dist / "SHA256SUMS").read_text()


def test_no_file_says_where_it_was_built(tree: Tree, dist: Path) -> None:
    with zipfile.ZipFile(next(dist.glob("*.pyz"))) as found:
        content = b"".join(found.read(name) for name in found.namelist() if "/seawall-" in name)
    assert b"seawall" in content
    for path in (str(tree.folder), str(ROOT)):
        assert path.encode() not in content


def test_a_tree_of_another_version_is_no_release(tree: Tree, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=r"(?s)operator/pyproject.toml has .*make release-prepare VERSION=99.0.0"):
        replace(tree, version="99.0.0").build(tmp_path / "none")
    assert not list((tmp_path / "none").iterdir())


def test_sboms_have_all_that_is_pinned(dist: Path) -> None:
    from cyclonedx.schema import SchemaVersion  # noqa: PLC0415 - as the next
    from cyclonedx.validation.json import JsonStrictValidator  # noqa: PLC0415 - a second and more, in each process that collects tests

    cli = (dist / f"seawall-{version('seawall')}-cli.cdx.json").read_text()
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(cli) is None, (
        "and so are the others: `make release-test`"
    )
    locks = {"cli": "cli", "operator": "operator", "verification": "verification"}
    for name, lock in (locks | {"backup": "store", "subscription": "store"}).items():
        sbom = json.loads((dist / f"seawall-{version('seawall')}-{name}.cdx.json").read_text())
        pinned = {
            line.split()[0] for line in (ROOT / f"requirements/{lock}.lock").read_text().splitlines() if "==" in line
        }
        assert {f"{each['name']}=={each['version']}" for each in sbom["components"]} == pinned
        assert sbom["metadata"]["component"]["version"] == version("seawall")


def test_the_charts_are_those_of_the_tree_and_crds_are_all_in_one_file(dist: Path) -> None:
    helm = str(binaries_folder() / "helm")

    def rendered(chart: Path) -> str:
        command = [helm, "template", "seawall", str(chart), "--kube-version", "1.34.4"]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout  # noqa: S603 - helm

    for chart in ("seawall", "seawall-crds"):
        assert rendered(dist / f"{chart}-{version('seawall')}.tgz") == rendered(ROOT / "charts" / chart)
    crds = list(yaml.safe_load_all((dist / "crds.yaml").read_text()))
    assert sorted(each["spec"]["names"]["kind"] for each in crds) == sorted(kind.kind for kind in KINDS)


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
