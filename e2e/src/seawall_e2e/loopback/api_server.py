"""An API server of its own: etcd and kube-apiserver on loopback."""

from __future__ import annotations

import base64
import json
import shutil
import signal
import ssl
import tempfile
from pathlib import Path
from typing import Self

from seawall_e2e.commands import run
from seawall_e2e.loopback.etcd import EtcdProcess
from seawall_e2e.loopback.pki import CertificateAuthority
from seawall_e2e.loopback.processes import FEWER_COLLECTIONS, Process, answers_ok, binaries_folder, free_ports

START_TIMEOUT = 60


class ApiServer:
    """etcd and kube-apiserver, with RBAC. `kubeconfig` is a cluster admin's.

    There are no other controllers: nobody empties a namespace that is deleted (it stays Terminating), collects objects
    whose owner is gone, makes Pods of Deployments, or makes the `default` service account of a new namespace.
    Nothing is installed: tests bring their own CRDs and namespaces.
    """

    def __init__(self) -> None:
        self._binaries = binaries_folder()
        self._etcd = EtcdProcess()
        self._folder = Path(tempfile.mkdtemp(prefix="seawall-api-"))
        (self._port,) = free_ports(1)
        self.kubeconfig = self._folder / "admin.kubeconfig"
        self._ca = CertificateAuthority(self._folder)
        self._server = Process("kube-apiserver", self._server_command(), self._folder, FEWER_COLLECTIONS)
        admin = self._ca.issue("admin", "/O=system:masters/CN=loopback-admin")
        self._write_kubeconfig(
            self.kubeconfig,
            {"client-certificate-data": _base64(admin.cert), "client-key-data": _base64(admin.key)},
        )
        self._trust = ssl.create_default_context(cafile=self._ca.cert)
        self._trust.load_cert_chain(admin.cert, admin.key)
        try:
            self.start()
        except BaseException:
            self.close()
            raise

    @property
    def url(self) -> str:
        """The API server's address."""
        return f"https://127.0.0.1:{self._port}"

    def kubectl(self, *args: str, stdin: str = "", timeout: float = 60) -> str:
        """Runs kubectl as the admin and returns its stdout; a failure is an error with what it said."""
        return run(self._binaries / "kubectl", "--kubeconfig", self.kubeconfig, *args, stdin=stdin, timeout=timeout)

    def kubeconfig_of(self, namespace: str, service_account: str) -> Path:
        """A kubeconfig that has the rights of a service account, by a token of one hour."""
        path = self._folder / f"{namespace}.{service_account}.kubeconfig"
        self._write_kubeconfig(path, {"token": self.token_of(namespace, service_account)})
        return path

    def token_of(self, namespace: str, service_account: str) -> str:
        """A token of a service account, for one hour."""
        return self.kubectl("create", "token", service_account, "-n", namespace, "--duration=1h").strip()

    def start(self) -> None:
        """Starts kube-apiserver and waits until it is ready."""
        self._server.start()
        self._server.wait_ready(self._is_ready, START_TIMEOUT)

    def kill(self) -> None:
        """Kills kube-apiserver; etcd keeps the data."""
        self._server.kill()

    def restart(self) -> None:
        """Kills kube-apiserver and starts it again."""
        self.kill()
        self.start()

    def pause(self) -> None:
        """Stops the process (SIGSTOP): connections stay open and nothing answers."""
        self._server.signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Lets it go on, and waits until it is ready."""
        self._server.signal(signal.SIGCONT)
        self._server.wait_ready(self._is_ready, START_TIMEOUT)

    def close(self) -> None:
        """Ends the processes and removes their folder."""
        self._server.kill()
        self._etcd.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _is_ready(self) -> bool:
        return answers_ok(f"{self.url}/readyz", self._trust)

    def _server_command(self) -> list[str | Path]:
        server = self._ca.issue("server", "/CN=kube-apiserver")
        accounts = self._ca.issue("service-accounts", "/CN=service-accounts")
        return [
            self._binaries / "kube-apiserver",
            f"--etcd-servers={self._etcd.url}",
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            f"--secure-port={self._port}",
            f"--tls-cert-file={server.cert}",
            f"--tls-private-key-file={server.key}",
            f"--client-ca-file={self._ca.cert}",
            "--authorization-mode=RBAC",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={accounts.cert}",
            f"--service-account-signing-key-file={accounts.key}",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--enable-admission-plugins=OwnerReferencesPermissionEnforcement",  # as OpenShift has it
            "--disable-admission-plugins=ServiceAccount",  # Pods need no service account: nothing runs them
            "--shutdown-delay-duration=0s",
        ]

    def _write_kubeconfig(self, path: Path, user: dict[str, str]) -> None:
        cluster = {"server": self.url, "certificate-authority-data": _base64(self._ca.cert)}
        path.touch(mode=0o600)
        path.write_text(
            json.dumps(  # JSON is YAML
                {
                    "apiVersion": "v1",
                    "kind": "Config",
                    "current-context": "loopback",
                    "contexts": [{"name": "loopback", "context": {"cluster": "loopback", "user": "user"}}],
                    "clusters": [{"name": "loopback", "cluster": cluster}],
                    "users": [{"name": "user", "user": user}],
                }
            )
        )


def _base64(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()
