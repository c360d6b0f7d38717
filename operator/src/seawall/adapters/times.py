"""Deadlines of requests to the outside, and how long its answers count."""

from __future__ import annotations

from datetime import timedelta

CERTIFICATE_LIFE = timedelta(days=3650)
"""Of what the pages are served with: longer than any process, as nobody renews it."""
AUTHORITY_LIFE = timedelta(days=3650)
"""Of a CA of a managed Kafka: to change it takes every client's trust."""
CONFORMANCE_REPORT_SECONDS = 10.0
"""Within which each node of a database has to report anew, for it to keep the contract."""
DATANODE_ANSWER_SECONDS = 1.0
"""Deadline of a datanode's answer about its settings, of which one observation awaits two after another at most."""
DATANODE_SILENT_SECONDS = 10.0
"""Until a datanode is asked again that did not say what it runs with."""
FLUSH_SECONDS = 60.0
"""Deadline of a flush of regions, which writes files."""
HTTP_CONNECT_SECONDS = 2.0
"""Deadline to connect to a part of the database."""
HTTP_ANSWER_SECONDS = 5.0
"""Deadline of an answer of a part of the database: a tick of the watch asks three."""
HEARSAY_SECONDS = 1.0
"""How long a look waits for another one at a Kafka that did not answer before, rather than repeat what is known."""
KAFKA_ELECTION_SECONDS = (0.1, 0.2, 0.4, 0.8)
"""Until topics are asked again whose leader was elected a moment ago and does not know it yet."""
KAFKA_GRACE_SECONDS = 5.0
"""Seconds that the client gets beyond its own deadline; it has never needed them."""
KAFKA_RAW_CONNECT_SECONDS = 5.0
"""Deadline to connect to a broker by the second client."""
KAFKA_SCAN_SECONDS = 3.0
"""Of reading in one call, once the first record or the end has come."""
EVENT_REPEAT_SECONDS = 10.0
"""The same event about the same version of an object within this time is the same news."""
KUBE_REQUEST_SECONDS = 5.0
"""Deadline of one request: a frozen connection must not hold a tick, or the Lease, for longer."""
KUBE_PERSON_SECONDS = 30.0
"""The same where a person waits, who can end it: an API server under load has often answered by then."""
LEASE_SECONDS = 15.0
"""A Lease that was not renewed for this long may be taken."""
LEASE_RENEW_SECONDS = 10.0
"""A leader that could not renew for this long is none any more."""
LEASE_RETRY_SECONDS = 2.0
"""Pause between attempts."""
LEASE_AWAITS_WATCH_SECONDS = 0.25
"""Until it is asked again whether objects are watched, before which there is no attempt: the first one comes soon."""
SQL_LOCK_SECONDS = 2.0
"""Of waiting for whoever holds the table of metadata in PostgreSQL, or rows of it in MySQL. The database's writes may
wait behind us meanwhile, and its metasrv must renew its lease within 5 s. PostgreSQL takes a vacuum's lock away after
1 s."""
SQL_RETRY_SECONDS = 0.05
"""Until a write to MySQL is tried again that met a row which somebody else holds: who writes holds it for as long."""
SQL_OTHERS_SECONDS = 0.5
"""How long each view and write waits for the hosts of PostgreSQL or MySQL that are not its primary to say so."""
SQL_WRITE_SECONDS = 1.0
"""Of one statement, and of silence between two, while we hold that table or rows against writers: a Seawall that
freezes there (SIGSTOP, a lost node) must let go well within the metasrv's 5 s, of which 2 s may pass before it
renews."""
NO_TRANSACTION_MS = 60_000
"""The timeout of transactions, of which there are none; Kafka wants one all the same."""
STORE_CONNECT_SECONDS = 2.0
"""Deadline to connect to an object store."""
STORE_ANSWER_SECONDS = 4.0
"""Deadline of one of its answers, of which a call awaits two when the first one fails."""
STORE_SECONDS = 9.0
"""Deadline of a call, with all that it asks for: where the pod's own identity counts, that is asked for first."""
