"""What a pod of the subscriptions' image runs: the rows that the chains of commits in a bucket name. It stands alone.

bucket_rows.py ENDPOINT BUCKET PREFIX KEY SECRET   prints what `topic_rows.py` prints, chain after chain
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from hashlib import sha256
from io import BytesIO
from typing import Any

import obstore
import pyarrow as pa
import pyarrow.parquet as pq
from obstore.store import S3Store


def main() -> None:
    """Reads and prints."""
    endpoint, bucket, prefix, key, secret = sys.argv[1:]
    store = S3Store(
        bucket,
        config={
            "endpoint": endpoint,
            "access_key_id": key,
            "secret_access_key": secret,
            "region": "us-east-1",
            "virtual_hosted_style_request": False,
        },
        client_options={"allow_http": True},
    )
    chains: dict[str, list[str]] = defaultdict(list)
    for page in obstore.list(store, f"{prefix}/"):
        for found in page:
            folder, _, name = found["path"].rpartition("/")
            if folder.endswith("/log"):
                chains[folder].append(name)
    rows = list[list[object]]()
    for folder, names in sorted(chains.items()):
        for number, name in enumerate(sorted(names)):
            commit = json.loads(bytes(obstore.get(store, f"{folder}/{name}").bytes()))
            if commit["number"] != number:
                raise RuntimeError(f"{folder} has no commit {number}")
            found_here = list[list[Any]]()
            for file in commit["files"]:
                content = bytes(obstore.get(store, f"{prefix}/{file['path']}").bytes())
                table = pq.read_table(BytesIO(content))
                ts = table.column("ts").cast(pa.int64()).to_pylist()
                for row, time in zip(table.to_pylist(), ts, strict=True):
                    place = [row[f"_{of}"] for of in ("topic", "offset", "row", "sequence", "op")]
                    found_here.append([*place, row["k"], time, sha256(row["v"].encode()).hexdigest()[:16]])
            rows += sorted(found_here)
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
