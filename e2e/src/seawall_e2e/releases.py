"""Releases as people get them: built of a tree, pushed to a registry on loopback, installed from there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from seawall_e2e.cluster import PLATFORM, REPOSITORY, START_SECONDS
from seawall_e2e.commands import CommandFailed, helm, run
from seawall_e2e.loopback.processes import BUILD_TIMEOUT, Process, answers_ok

BEFORE_THE_FIRST = "0.0.1"
"""Without a tag there is no release before this one: what is here stands for it, by another version."""
MACHINE = {"PLATFORMS": "linux-amd64", "PYTHONS": f"{sys.version_info.major}.{sys.version_info.minor}"}
"""The command for one platform and one Python: those for others are made alike."""
PASSWORD = "of a key that lives as long as its test"  # noqa: S105 - and no longer
STOP_SECONDS = 30
BUILD_SECONDS = 1_800
"""From empty caches, all images are built and two programs in Go."""


@dataclass(frozen=True, slots=True)
class Tree:
    """A copy of the repository that says which version it is."""

    folder: Path
    version: str

    @classmethod
    def of_here(cls, folder: Path, version: str) -> Tree:
        """What is here, changes that are not committed included, as a release of a version."""
        listed = run("git", "-C", REPOSITORY, "ls-files", "--cached", "--others", "--exclude-standard").splitlines()
        for name in listed:
            if (REPOSITORY / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(REPOSITORY / name, folder / name)
        run(sys.executable, folder / "release/versions.py", version)
        return cls._with_tools(folder, version)

    @classmethod
    def of_tag(cls, folder: Path, tag: str) -> Tree:
        """What a tag names, v1.2.3."""
        archive = folder.with_suffix(".tar")
        run("git", "-C", REPOSITORY, "archive", "--output", archive, tag)
        folder.mkdir(parents=True, exist_ok=True)
        run("tar", "-C", folder, "-xf", archive)
        return cls._with_tools(folder, tag.removeprefix("v"))

    @classmethod
    def _with_tools(cls, folder: Path, version: str) -> Tree:
        (folder / ".venv").symlink_to(REPOSITORY / ".venv")
        return cls(folder, version)

    def build(self, folder: Path, registry: str = "", **environment: str) -> Path:
        """Builds the release into a folder; with a registry, images and charts are pushed there."""
        words = [str(self.folder / "release/build.sh"), self.version, str(folder), *([registry] if registry else [])]
        epoch = run("git", "-C", REPOSITORY, "log", "-1", "--format=%ct").strip()
        whole = {**os.environ, "SOURCE_DATE_EPOCH": epoch, "PLAIN_HTTP": "1", **MACHINE, **environment}
        done = subprocess.run(words, env=whole, capture_output=True, text=True, check=False, timeout=BUILD_SECONDS)
        if done.returncode:
            raise AssertionError(f"{' '.join(words)} ended with {done.returncode}\n{done.stderr}")
        return folder


def newest_tag() -> str | None:
    """The newest release that this tree comes after, or is; None: there was none."""
    found = run("git", "-C", REPOSITORY, "tag", "--list", "v*.*.*", "--merged", "HEAD", "--sort=-version:refname")
    return next(iter(found.split()), None)


def upgraded(tag: str | None, here: str) -> tuple[str, str]:
    """The versions of an upgrade to this tree, which says that it is `here`: before and after.

    Until the next version is prepared, a tree says that it is what was released: then it is tried as the one after it.
    By one name for both, the registry would have the new one alone, and nothing would be upgraded.
    """
    if tag is None:
        return BEFORE_THE_FIRST, here
    former = tag.removeprefix("v")
    released, own = (tuple(map(int, version.split("."))) for version in (former, here))
    return former, here if own > released else f"{released[0]}.{released[1]}.{released[2] + 1}"


def program(name: str) -> Path:
    """A program of releases: cosign, registry, syft."""
    done = run(str(PLATFORM / "release-tools.sh"), name, timeout=BUILD_TIMEOUT, show_progress=True)
    return Path(done.strip()) / name


@contextmanager
def registry(folder: Path, port: int) -> Iterator[str]:
    """A registry: its address. The node has a network of its own: there, a second process serves the same folder."""
    settings = folder / "registry.yaml"
    (folder / "data").mkdir()
    settings.write_text(
        f"version: 0.1\nstorage: {{filesystem: {{rootdirectory: {folder}/data}}}}\n"
        f'http: {{addr: "127.0.0.1:{port}", secret: {folder.name}}}\nlog: {{accesslog: {{disabled: true}}}}\n'
    )
    command: tuple[str | Path, ...] = (program("registry"), "serve", settings)
    silent, pid = {"OTEL_TRACES_EXPORTER": "none"}, folder / "node.pid"
    here = Process("registry", command, folder, silent)
    shell = ("shell", "sh", "-c", 'echo $$ >"$0"; exec "$@"', pid, "env", *map("=".join, silent.items()), *command)
    there = Process("registry-of-the-node", (PLATFORM / "cluster", *shell), folder)
    here.start()
    there.start()
    try:
        here.wait_ready(lambda: answers_ok(f"http://127.0.0.1:{port}/v2/"), START_SECONDS)
        there.wait_ready(lambda: "listening on" in there.log_since_start(), START_SECONDS)
        yield f"127.0.0.1:{port}/seawall"
    finally:
        here.kill()
        with suppress(CommandFailed, FileNotFoundError):
            run(PLATFORM / "cluster", "shell", "kill", pid.read_text().strip())
            there.wait_ended(STOP_SECONDS)
        shutil.rmtree(folder / "data")  # more than a gigabyte, of which pytest would keep three


def install_crds_from(registry: str, version: str) -> None:
    """Installs or upgrades the CRDs by the chart of a release."""
    chart = f"oci://{registry}/charts/seawall-crds"
    helm("upgrade", "--install", "seawall-crds", chart, "--version", version, "--plain-http", "--namespace", "default")


def install_operator_from(registry: str, version: str, namespace: str, *values: str) -> None:
    """Installs or upgrades the operator by the chart of a release, which names its image by digest; waits for it."""
    chart = ("seawall", f"oci://{registry}/charts/seawall", "--version", version, "--plain-http")
    sets = (word for value in values for word in ("--set", value))
    helm("upgrade", "--install", *chart, "--namespace", namespace, "--wait", "--timeout=120s", *sets, timeout=150)


@dataclass(frozen=True, slots=True)
class Key:
    """A key to sign with."""

    private: Path
    public: Path

    @classmethod
    def made_in(cls, folder: Path) -> Key:
        """Makes one."""
        done = subprocess.run(
            [program("cosign"), "generate-key-pair"], cwd=folder, env={**os.environ, "COSIGN_PASSWORD": PASSWORD},
            capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        if done.returncode:
            raise AssertionError(done.stderr)
        return cls(folder / "cosign.key", folder / "cosign.pub")

    def environment(self) -> Mapping[str, str]:
        """What a build signs by."""
        return {"KEY": str(self.private), "COSIGN_PASSWORD": PASSWORD}

    def verify(self, reference: str) -> None:
        """That an image or a chart in a registry was signed by it; CommandFailed: it was not."""
        how = ("--insecure-ignore-tlog", "--allow-http-registry")
        run(program("cosign"), "verify", "--key", self.public, *how, reference)

    def verify_file(self, file: Path) -> None:
        """The same of a file."""
        bundle = ("--bundle", f"{file}.sigstore.json", "--insecure-ignore-tlog")
        run(program("cosign"), "verify-blob", "--key", self.public, *bundle, file)
