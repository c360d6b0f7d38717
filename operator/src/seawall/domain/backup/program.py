"""What runs for a backup, and what its pods mount."""

from __future__ import annotations

from seawall.api.v1alpha1.backup_template import BackupStorage
from seawall.api.v1alpha1.spark_job import JobDeclaration
from seawall.domain.backup.contract import CLAIM_FOLDER, EXPIRY_FOLDER
from seawall.domain.spark_job.allowed import own_secrets
from seawall.domain.spark_job.application import REQUEST_FOLDER, SUMMARY_FILE, Mount, Program, claim, secret
from seawall.domain.spark_job.bucket import files_of, private_mounts, secrets_of_bucket, shared_mounts
from seawall.domain.spark_job.request import FILE

MAIN_FILE = "local:///opt/seawall/backup.py"


def build_program(command: str, storage: BackupStorage, digest: str, *, deletes: bool = False) -> Program:
    """The application that works on the request with this digest: `backup`, `plan` or `restore`."""
    arguments = (command, "--request", f"{REQUEST_FOLDER}/{FILE}", "--summary", SUMMARY_FILE, "--digest", digest)
    return Program(MAIN_FILE, arguments, _shared(storage), (*_private(storage), *(_expiry(storage) if deletes else ())))


def secrets_of(storage: BackupStorage, own: JobDeclaration) -> tuple[str, ...]:
    """The Secrets that only the job needs, and cannot start without."""
    return (*own_secrets(own), *secrets_of_bucket(storage.s3))


def _shared(storage: BackupStorage) -> tuple[Mount, ...]:
    """What executors have as well: the claim, or the CA of the server."""
    if storage.s3 is None:
        return (claim("backups", str(storage.persistent_volume_claim), CLAIM_FOLDER),)
    return shared_mounts(storage.s3)


def _private(storage: BackupStorage) -> tuple[Mount, ...]:
    return () if storage.s3 is None else private_mounts(storage.s3)


def _expiry(storage: BackupStorage) -> tuple[Mount, ...]:
    """The key that may delete. A backup needs none, so it begins without it, too."""
    key = None if storage.s3 is None else storage.s3.expiry_credentials_secret_ref
    return () if key is None else (secret("store-expiry", key.name, files_of(key), EXPIRY_FOLDER, optional=True),)
