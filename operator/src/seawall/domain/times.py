"""Every wait and deadline that is decided by, and why it is as it is: who waits, and for what.

A longer one makes people wait, a shorter one asks more often or gives up too early. Deadlines of single requests are
the adapters' (`adapters/times.py`); defaults of fields are the API's.
"""

from __future__ import annotations

from datetime import timedelta

CLI_POLL_SECONDS = 1.0
"""Between two looks at a run that is waited for."""
CLI_UNANSWERED = 10
"""So many looks after each other go without an answer before a command that waits gives up: an API server is replaced
in less. What it waits for goes on without it."""
LOCAL_VERIFICATION_HELD_FOR = timedelta(hours=6)
"""The hold of a verification on a laptop ends by itself after this, whatever became of the laptop."""
REASSIGNMENT_IDLE_THROTTLE_MINUTES = 10
"""How often it is looked at whether somebody left a throttle, while no replicas are moved."""
ROLLOUT_SETTLES_MS = 20_000
"""How long a new process waits for reports to advance before it takes a datanode for down."""
ROLLOUT_ASKED_MS = 10_000
"""How long a flush takes to show in a report."""
BROKERS_PERIOD_SECONDS = 30.0
"""Between two observations of brokers while nothing changes; each describes all partitions of a Kafka."""
BROKERS_SOON_SECONDS = 2.0
"""After a change: brokers tell of it one after another, and replicas of new topics take seconds to be in sync."""
BROKERS_BEHIND_MS = 10_000
"""A voter that lacks records for so long is down or cut off. One that is well fetches twice a second."""
MANAGED_KAFKA_POLL_SECONDS = 2.0
"""While nodes of a managed Kafka begin or are away: pods and Kafka wake nobody."""
MANAGED_KAFKA_IDLE_SECONDS = 15.0
"""How often a managed Kafka is looked at that is well."""
MANAGED_KAFKA_SIZED_SECONDS = 60.0
"""How often it is asked whether volumes are as large as declared: an edit wakes who asks."""
MANAGED_KAFKA_SIZING_SECONDS = 5.0
"""The same while one is smaller: a storage driver wakes nobody."""
MANAGED_KAFKA_IN_SYNC_SECONDS = 5.0
"""How often it is asked whether nodes that are in sync still are; a broker that starts needs longer for its port."""
MANAGED_KAFKA_IN_SYNC_MS = 1_000
"""So far apart two looks have to be that show a node in sync."""
MANAGED_KAFKA_CAUGHT_UP_MS = 2_000
"""A voter that lacks records for longer has not caught up. One that is well fetches twice a second."""
MANAGED_KAFKA_GRACE_SECONDS = 300
"""What a broker has for handing over what it leads, before it is killed."""
MANAGED_KAFKA_STALE_MS = 9_000
"""What a broker tells is not believed when no controller has heard of it for so long: no longer than a dead one keeps
its registration (broker.session.timeout.ms), and less than the least dwell."""
MANAGED_KAFKA_CLEARED_MS = 15_000
"""For so long every look must find that nothing is lost with a volume: a broker that died is fenced within nine."""
MANAGED_KAFKA_CLEARED_BREAK = timedelta(seconds=10)
"""A longer time between two looks, in which the API server did not answer or another process led, shows nothing: they
begin anew. Five polls, and less than the dwell. Nobody waits for longer while a volume is lost."""
MANAGED_KAFKA_LOST_SECONDS = 5.0
"""How often a managed Kafka is looked at, whatever is refused, while a volume of it is lost: the pause after a refusal
would be a break, and the looks would begin anew each time."""
MANAGED_KAFKA_LONGEST_BREAK = timedelta(seconds=60)
"""The same where looks that lie apart are enough: longer than the pause after what was refused (30 s), or one pod that
may not be written would keep all others from being looked at twice, and than a look in which a broker hangs."""
MANAGED_KAFKA_LOST_FOR = timedelta(seconds=15)
"""For so long every look must find that a controller's disk is lost before its vote is taken."""
MANAGED_KAFKA_EMPTY_FOR = timedelta(seconds=15)
"""For so long every look must find nothing on a broker before it is taken out."""
CERTIFICATE_EXPIRES_SOON = timedelta(days=30)
"""So long before its end a certificate is reported: cert-manager has renewed one of 90 days by then."""
CERTIFICATE_LAST_SHARE = 0.25
"""So much of its life is left at the most when a certificate is reported that is made for less than 120 days:
cert-manager renews by default when a third is left."""
CERTIFICATE_LEAST_LIFE = timedelta(days=1)
"""What a CA must have left that `seawall kafka secrets` signs by; the least of its `--days`."""
CERTIFICATE_SKEW = timedelta(minutes=1)
"""A certificate that a person makes begins so long before now: clocks of nodes may be behind. Nodes that began within
it are not known to have the one of before."""
CLOCKS_AGREE = timedelta(seconds=10)
"""Clocks that are certainly not further apart agree."""
CLOCKS_FRESH = timedelta(seconds=60)
"""What an older answer of the API server says of its clock counts for nothing."""
CLUSTER_GIVE_UP_AFTER = timedelta(minutes=10)
"""How long a deletion waits for Kafka."""
CLUSTER_SILENT_SECONDS = 60.0
"""How often that Kafka is asked at least, however long the resync is: after a longer break its silence begins anew."""
CLUSTER_SOON_SECONDS = 0.5
"""After topics were made: brokers hear of them one after another."""
CLUSTER_RETRY_SECONDS = 5.0
"""What may mend itself is asked again."""
CLUSTER_PATIENT_SECONDS = 20.0
"""What has not mended itself for a while is asked again."""
CLUSTER_RECENT = timedelta(seconds=30)
"""What lasts for longer than this will not end in the next second: it is looked at less often."""
DATABASE_REPORTING_WITHIN = timedelta(minutes=1)
"""A datanode whose newest report is older does not report. By our clock, which is another one, this only informs
people; by the newest report of any datanode it also says whose version must be known."""
REFUSED_SECONDS = 30.0
"""Until what was refused is tried again: a person may have acted meanwhile."""
UNANSWERED_SECONDS = 5.0
"""Until what was not answered is tried again."""
HOLD_RETRY_SECONDS = 5.0
"""A hold that is not granted yet, or cannot be observed, asks again."""
HOLD_OBSERVE_SECONDS = 60.0
"""The longest time without a look."""
DECLARATION_LONGEST = timedelta(hours=24)
"""What a person found right today says nothing of next week, and what is forgotten must not be about that."""
DECLARATION_SKEW = timedelta(minutes=5)
"""By so much the clock of whoever writes an expiry may be ahead of ours: a day by that clock is none too many. Such a
clock is on a laptop, or in a pipeline, and nobody compares it with any other."""
LEDGER_LEAST_AT_RISK = timedelta(seconds=60)
"""For so long a hold is AtRisk before it is Lost, so that people and holders see it; but no longer than the share."""
LEDGER_LEAST_BREAK = timedelta(minutes=2)
"""A shorter time in which nobody observed a hold is none: looks are a minute apart, and another process takes over."""
LEDGER_REPLACED_MS = 600_000
"""So long whoever leads in an older epoch than is known is taken for a leader that was replaced: clients ask anew who
leads at least every five minutes."""
LEDGER_MAX_POLL_SECONDS = 30.0
"""The watch observes at least this often, however old the policies let reports be: people hear of a silent database."""
LEDGER_IDLE_SECONDS = 60.0
"""Until the next look at a WALCluster that has nothing to look at."""
LEASE_SILENT = timedelta(minutes=1)
"""A Lease that was not renewed for this long has no holder who lives, whatever the clocks of the machines say."""
POLICY_OBSERVE_SECONDS = 300.0
"""The longest time without a look at the clock, which may be set."""
RETENTION_BEHIND_PERIODS = 8
"""So many periods, and a quarter of its window, may a retention be behind the newest backup before that is said: a slow
backup, or a pause of an hour, is caught up with soon."""
POLICY_SKEW = timedelta(minutes=5)
"""A last run further ahead than this was written by a clock that was wrong: it must not stop all runs until then."""
POLICY_TRIGGER_SECONDS = 10.0
"""Until the sizes are looked at again."""
ACT_ASKED_WITHIN_MS = 120_000
"""What is asked right before records or topics go must not have taken longer: a process that was frozen meanwhile has
answers of before. It takes seconds; where a database or a Kafka hangs, some of its deadlines of up to ten."""
PURGE_RETRY_SECONDS = 5.0
"""A run that waits for its turn, or whose ledger cannot be observed, asks again."""
PURGE_VERIFICATION_WAIT = timedelta(minutes=15)
"""How long a replay verification that runs is waited for: longer ones are what the next run will find."""
PURGE_SLACK = timedelta(minutes=10)
"""On top of all waits: for Kafka, the database and the API server to answer."""
REASSIGNMENT_POLL_SECONDS = 2.0
"""How often replicas on their way are looked at: Kafka wakes nobody."""
REASSIGNMENT_WAIT_SECONDS = 10.0
"""How often a run that waits for something else looks."""
REASSIGNMENT_IDLE_SECONDS = 30.0
"""How often it is looked at whether replicas are where they should be."""
REASSIGNMENT_AT_LEAST = timedelta(minutes=10)
"""A run is not called slow before this, whatever was estimated."""
REASSIGNMENT_RETRY_REFUSED = timedelta(minutes=10)
"""How long after Kafka refused partitions the same is not planned again."""
REASSIGNMENT_GIVE_UP_AFTER = timedelta(minutes=10)
"""How long a deletion waits for Kafka before the object is let go with a throttle that may be left."""
SILENCE_LONGEST_BREAK = timedelta(minutes=5)
"""A longer time in which nobody asked does not count as silence: looks are a minute apart; others take over."""
REASSIGNMENT_LEADERS_WAIT = timedelta(minutes=5)
"""How long preferred leaders are waited for: Kafka elects them by itself every five minutes."""
REASSIGNMENT_PROGRESS_EVERY = timedelta(seconds=5)
"""How often numbers and sentences are written while nothing else changes: partitions may arrive every second."""
ROLLOUT_IDLE_SECONDS = 15.0
"""How often datanodes are looked at while nothing is to be restarted: pods wake nobody."""
ROLLOUT_WAITING_SECONDS = 5.0
"""How often it is looked at whether a shut gate is open."""
ROLLOUT_POLL_SECONDS = 2.0
"""How often the outside is looked at that wakes nobody."""
ROLLOUT_FORBIDDEN_SECONDS = 10.0
"""Until an eviction is tried again that a PodDisruptionBudget forbade, where that needs no maintenance."""
ROLLOUT_STUCK = timedelta(minutes=1)
"""After the time at which a pod should be gone."""
ROLLOUT_TIMEOUT = timedelta(minutes=2)
"""A region that cannot flush must not hold up a restart for ever: what it did not flush is replayed. Rows that no log
has are waited for, or given up by a person."""
ROLLOUT_AGAIN = timedelta(minutes=10)
"""A datanode that still waits then has new rows: its regions are asked anew."""
MAINTENANCE_SETTLES = timedelta(seconds=10)
"""All of the database knows of it after this: a metasrv reads the switch through a cache of 10 s."""
MAINTENANCE_LEASE = timedelta(minutes=5)
"""Until the pod goes; then it is the restart's budget that counts."""
MAINTENANCE_REST = timedelta(seconds=30)
"""Until an eviction is tried again that a PodDisruptionBudget has just forbidden; then for as long as it has. For each
try the database is in maintenance for some fifteen seconds, in which nothing fails over."""
MAINTENANCE_LONGEST_REST = timedelta(minutes=5)
"""At the most, or a budget that allows it at last would be waited for too long."""
MAINTENANCE_ON_ITS_WAY = timedelta(seconds=15)
"""Longer than it takes from the last look at the object until the request to turn it on has arrived, or never will."""
MAINTENANCE_ASKED_WITHIN_MS = 5_000
"""What that look may take: the request has seven seconds to connect and to be answered."""
MAINTENANCE_SILENT = timedelta(minutes=1)
"""A database that has not said for so long that it is out of maintenance is reported, with what a person can type."""
MAINTENANCE_MAX_RETRY_SECONDS = 60.0
"""A database that does not leave maintenance is asked once in this time at the least."""
MAINTENANCE_GIVE_UP_AFTER = timedelta(minutes=10)
"""For how long a deletion, or a person's word, waits for such a database."""
ROLLOUT_AT_MOST_EVERY = timedelta(minutes=1)
"""How often what a restart would cost is written while nothing else changes."""
ROLLOUT_CHANGE_SECONDS = 10
"""A startup budget that changed by less than both is no news."""
ROLLOUT_ETA_CHANGE = timedelta(seconds=30)
"""An estimated end that moved by less is not written anew."""
ROLLOUT_START = timedelta(seconds=30)
"""A container's start beside its replay."""
ROLLOUT_SCHEDULING = timedelta(minutes=2)
"""Until a pod that was deleted runs again: it ends, is scheduled, its volume moves."""
JOB_POLL_SECONDS = 5.0
"""How often the outside is looked at that wakes nobody."""
JOB_FOLLOWS_SECONDS = 2.0
"""How often an application that was made is looked at: two requests to the API server, and most of them take half a
minute."""
JOB_RETRY_SECONDS = 5.0
"""A Spark job that waits asks again; one that is over asks whether its ttl is."""
JOB_PATIENCE = timedelta(minutes=3)
"""How long regions that have not reported, or are being opened, are waited for; then their topics are not read."""
JOB_SLACK = timedelta(hours=1)
"""The hold outlives the application by this: for the grant, and for the pods to start."""
SCRATCH_LINGER = timedelta(seconds=45)
"""So long after the end of an attempt scratch topics are looked for: a request that makes one may be on its way still
(its deadline is 30 s), and brokers hear of topics one after another."""
REMOVED_LINGER = timedelta(seconds=45)
"""So long after an attempt began records in a topic that was just made may be those of the attempt before: the leader
that tells of them hears of both topics in its own time."""
SCRATCH_GIVE_UP_AFTER = timedelta(minutes=10)
"""How long the deletion of a restore waits for a Kafka that does not answer, before its scratch topics stay."""
JOB_BACKOFF = timedelta(seconds=15)
"""Before the second attempt; four times as long before the third."""
JOB_SERVED_WITHIN = timedelta(seconds=60)
"""The Spark Operator takes up an application within a second or two; more than a minute means that it does not run."""
RESTORE_SILENT_AFTER = timedelta(seconds=30)
"""A database is stopped when its datanodes have not reported for ten heartbeats, and no pod is left."""
SUBSCRIPTION_HOLD_TTL = timedelta(hours=24)
"""The hold of a subscription outlives an operator that is away for so long; meanwhile nobody purges either."""
SUBSCRIPTION_MOVES_HOLD = timedelta(seconds=30)
"""How often the hold follows the target: each time is a write, a grant, and a look of whoever waits for holds."""
SUBSCRIPTION_RENEWS_HOLD = timedelta(hours=1)
"""How often a hold is renewed that does not move."""
SUBSCRIPTION_LAGGING_SECONDS = 60
"""A copy that has been behind for so long is reported: it is seconds behind when all is well."""
SUBSCRIPTION_GIVES_UP_SECONDS = 60
"""How long a topic may be without a leader before its claim, which is not granted, keeps others waiting no more."""
SUBSCRIPTION_BEGINS_TOGETHER_SECONDS = 30
"""So long another run waits for a topic that is about to begin, which it would be ended for: as long as one takes to
start, so nobody waits longer than the run of some topics, and then of all, would take."""
SUBSCRIPTION_MEASURES = timedelta(seconds=30)
"""How often numbers are written while nothing else changes: a status may have 1,000 topics."""
SUBSCRIPTION_CONFIGS_MS = 60_000
"""How often the configs of the target's topics are looked at; a broker takes a second for 1,000 of them."""
SUBSCRIPTION_CHAINS_MS = 30_000
"""How often a bucket is read: as often as topics commit, by default."""
SUBSCRIPTION_NAMES_MS = 60_000
"""How often the names of tables are read: the metadata store may have 100,000 of them."""
SUBSCRIPTION_NAMES_ANEW = timedelta(minutes=15)
"""Where everything is selected, so long a run lasts before another one is told of tables that were made: to begin takes
half a minute, in which nothing is handed on, and a database may make a table each minute."""
SUBSCRIPTION_TRIES_AGAIN = timedelta(minutes=5)
"""After an application that could do nothing, or ended without a word: a person may have mended what is wrong."""
SCHEDULE_OBSERVE_SECONDS = 300.0
"""The longest time without a look at the clock, which may be set."""
LEDGER_PAGE_RETRY_SECONDS = 5
"""What who comes while a plan is made is told to wait."""
PAGE_ACCESS_SECONDS = 30.0
"""How long an answer of the API server counts about what a person may see: a page of many kinds asks ten times."""
METRICS_ACCESS_SILENT_SECONDS = 3600.0
"""How long its last answer about who may read metrics counts while it is silent, which alerts tell: a token's life."""
CONDITIONS_UNREAD_SECONDS = 300
"""For so long what an object's conditions said is published although it cannot be read. Shorter, alerts that wait for a
state to last begin anew whenever the API server does not answer for a moment; longer, they tell what nobody knows."""
OPERATOR_STUCK_SECONDS = 300
"""A tick in which no request has ended for so long has hung: each has a deadline of seconds. How long the whole tick
takes says nothing of that: one of 10,000 topics sends hundreds, and a slow Kafka takes seconds for each."""
TURN_SECONDS = 1.0
"""How often a tick that waits for what another one asks takes over how that one gets on."""
OPERATOR_DRAIN_SECONDS = 10
"""How long a stopping process waits for its running ticks, and no longer than its last renewal of the Lease counts. To
give the Lease back takes two requests more, and the pod has 20 s for all (terminationGracePeriodSeconds); if they take
longer, the kubelet ends the process, and the Lease ends by itself."""
WATCH_INACTIVITY_SECONDS = 20
"""A watch without an event for this long is taken for dead; so an edit is seen within 30 s at worst."""
WATCH_LIST_SECONDS = 60
"""Deadline of the list that a watch begins with: one over a connection that is dead must not last for minutes."""
WATCH_DEAF_SECONDS = 120
"""What the watch has not told of for so long, though the API server lists it, it will not tell of: watching begins anew
then. Twice what a list that hangs may take; objects are woken meanwhile, once a resync."""
TOPICS_CONFIGS_FRESH_FOR_MS = 30_000
"""A broker takes a second for the configs of 1,000 topics, and a run looks seven times and more."""
TOPICS_FREED_AFTER_MS = 600_000
"""Kafka looks every five minutes which segments are deleted (log.retention.check.interval.ms), and removes their files
a minute later (file.delete.delay.ms): after this nothing else is on disk."""
TOPICS_SIZES_FRESH_FOR_MS = 10_000
"""Each broker is asked, over a connection of its own; by default the ledger is looked at as often."""
QUEUE_ALIGNED_SECONDS = 20.0
"""Pauses that are at least as long end together with others of the same length, a little early."""
QUEUE_ALIGNED_PART = 0.1
"""How early at most, as a part of the pause: ten groups of objects are spread over each."""
QUEUE_BACKOFF_SECONDS = (0.0, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
"""Pauses between ticks that follow each other without ever having to wait; errors start at the second one."""
