#!/usr/bin/env bash
# Joins the node's own cgroup and starts node/init.sh as pid 1 of namespaces of its own.
# Everything that the instance runs is in this cgroup and comes to an end with it.
# From the caller: RUN, BIN, NODE, NODE_IP, API_PORT.
set -euo pipefail

# The calling shell may already be inside a node's cgroup (`cluster shell`): the new one goes beside it.
parent_of() { local path=$1/; path=${path%%/"$NODE"/*}; echo "${path%/}"; }

# Read at once: the file changes with every group that is joined below.
groups=$(</proc/self/cgroup)

# All of the instance is one cgroup. Beside it each session has a group of its own (sched(7), autogroup): each Kafka
# of another test would count as much as the whole cluster, whose tests are what a run waits for at its end.
CPU_SESSIONS=8

: >"$RUN/cgroups"   # what `down` empties and removes: "MOUNT_NAME OPTION FOLDER"
while IFS=: read -r _ controllers path; do
  [ -n "$controllers" ] || continue              # the v2 tree of a hybrid host: left alone
  mount=/sys/fs/cgroup/${controllers#name=}
  [ -e "$mount/cgroup.procs" ] || continue
  own=$mount$(parent_of "$path")/$NODE
  mkdir -p "$own"
  echo "${controllers#name=} $controllers $own" >>"$RUN/cgroups"
  if [ "$controllers" = cpuset ]; then           # a new cpuset is empty, and nothing may join it
    for file in cpuset.cpus cpuset.mems; do
      [ -n "$(cat "$own/$file")" ] || cat "$(dirname "$own")/$file" >"$own/$file"
    done
  fi
  case ,$controllers, in *,cpu,*) echo $((1024 * CPU_SESSIONS)) >"$own/cpu.shares" ;; esac
  echo $$ >"$own/cgroup.procs"
done <<<"$groups"

v2=''
if [ ! -s "$RUN/cgroups" ] && [ -e /sys/fs/cgroup/cgroup.controllers ]; then
  # A machine with the v2 tree only (not run yet, see README.md).
  v2=/sys/fs/cgroup/$NODE
  mkdir -p "$v2/host"
  echo "unified v2 $v2" >>"$RUN/cgroups"
  for controller in $(</sys/fs/cgroup/cgroup.controllers); do
    echo "+$controller" >/sys/fs/cgroup/cgroup.subtree_control 2>/dev/null || true
  done
  echo $((100 * CPU_SESSIONS)) >"$v2/cpu.weight" 2>/dev/null || true
  echo $$ >"$v2/cgroup.procs"
fi
[ -s "$RUN/cgroups" ] || { echo "no cgroup hierarchy under /sys/fs/cgroup"; exit 1; }

# The host's end of the bridge to the API server; the other end runs in the node (init.sh).
outside=$(readlink /proc/self/ns/cgroup)
(
  if [ "$v2" ]; then
    # A v2 group that has controllers for its children holds no processes itself: this process and
    # the one that becomes unshare leave it, once the new namespace has it as its root.
    for _ in $(seq 200); do
      [ "$(readlink "/proc/$$/ns/cgroup")" = "$outside" ] || break
      sleep 0.05
    done
    echo $$ >"$v2/host/cgroup.procs"
    echo "$BASHPID" >"$v2/host/cgroup.procs"
  fi
  while :; do
    "$BIN/fwd" "tcp:127.0.0.1:$API_PORT" "unix:$RUN/sock/api.sock" >>"$RUN/log/fwd-host.log" 2>&1 || true
    sleep 1
  done
) &

exec unshare --mount --net --pid --uts --ipc --cgroup --fork --kill-child --mount-proc --propagation private \
  "$(dirname "${BASH_SOURCE[0]}")/init.sh"
