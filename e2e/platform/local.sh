# shellcheck shell=bash disable=SC2034
# The local cluster: one Kubernetes node as processes of this machine. Sourced by `cluster`.

NODE_IP=10.201.0.1   # in the node's own network namespace: the same for every instance
KUBECONFIG_FILE=$RUN/pki/host.kubeconfig
KUBECTL=$RUN/bin/kubectl   # for `cluster`

# node_pid: the process that holds the node. The command line is compared, too: pids come again.
node_pid() {
  local pid
  pid=$(cat "$RUN/node.pid" 2>/dev/null) && [ -n "$pid" ] || return 1
  tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline" | grep -q "$PLATFORM/node/" || return 1
  echo "$pid"
}

in_node() { # COMMAND...: runs it inside the node
  local init
  init=$(pgrep -P "$(node_pid)" -f "$PLATFORM/node/init.sh" | head -1)
  [ -n "$init" ] || return 1
  nsenter -t "$init" -m -n -p -u -i -C -- \
    env "PATH=$RUN/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" "KUBECONFIG=$KUBECONFIG_FILE" "$@"
}

# give_up LOG SENTENCE: the end of the log, then the sentence.
give_up() {
  echo "--- end of $RUN/log/$1.log" >&2
  tail -25 "$RUN/log/$1.log" >&2 || true
  die "$2 (logs: $RUN/log)"
}

# node_revision: what a running node cannot take over.
node_revision() { { echo "$bin $pause"; tree_manifest "$PLATFORM/node"; } | hash_of; }

is_up() { node_pid >/dev/null; }

# own_store: sets STORE, the first store of images in the cache that no other node uses. To import them all takes a
# minute of two cores, and their names tell what is inside: what one node imported serves the next. The lock is on 8,
# which the node's processes keep open.
own_store() {
  local number
  mkdir -p "$CACHE/containerd"
  for number in {1..100}; do
    STORE=$CACHE/containerd/$number
    exec 8>"$STORE.lock"
    ! flock -n 8 || break
  done
  # Some 40 images: rather begin anew than look after each of them.
  [ "$(find "$STORE" -maxdepth 3 -path '*/snapshots/*' 2>/dev/null | wc -l)" -le 120 ] || rm -rf "$STORE"
}

cluster_up() {
  [ "$(id -u)" = 0 ] || die "the local cluster needs root: it makes namespaces, mounts and cgroups"
  packages containerd runc containernetworking-plugins iptables nftables conntrack iproute2 procps util-linux curl openssl git ca-certificates
  local bin pause
  bin=$("$PLATFORM/binaries.sh")
  pause=$("$PLATFORM/images.sh" pause "$PLATFORM/tools/cmd/pause" --scratch --build-context "bin=$bin/pause-image")
  if ! is_up; then
    cluster_down   # what an interrupted `up` or a killed node has left
    mkdir -p "$RUN"/{log,sock}
    [ ${#RUN} -le 80 ] || die "the run folder's path $RUN is too long for unix sockets: set SEAWALL_RUN_ROOT"
    ! (exec 3<>"/dev/tcp/127.0.0.1/$API_PORT") 2>/dev/null ||
      die "port $API_PORT, which instance $INSTANCE uses for its API, is taken: set SEAWALL_API_PORT"
    rm -f "$RUN"/log/*
    ln -sfn "$bin" "$RUN/bin"
    node_revision >"$RUN/etc.revision"
    own_store
    export RUN STORE NODE=$INSTANCE NODE_IP API_PORT BIN=$bin PAUSE_IMAGE=$pause
    "$PLATFORM/node/pki.sh" "$RUN/pki"
    "$PLATFORM/node/config.sh"
    say "starting node $INSTANCE"
    setsid nohup "$PLATFORM/node/enter.sh" >"$RUN/log/node.log" 2>&1 </dev/null 9>&- &
    echo $! >"$RUN/node.pid"
    exec 8>&-
  elif [ "$(node_revision)" != "$(cat "$RUN/etc.revision" 2>/dev/null)" ]; then
    say "the node runs an older state of e2e/platform: \`cluster down\`, then \`up\`, brings it up to date"
  fi
  wait_until 60 "the API server" api_answers || give_up kube-apiserver "the API server did not become ready within 60 s"
  kubectl_ apply -f "$RUN/etc/base.yaml" >/dev/null
  wait_until 30 "containerd" in_node ctr version || give_up containerd "containerd did not answer within 30 s"
  cluster_load "$pause"
  # `kubectl wait` fails at once on what does not exist yet, hence two waits.
  wait_until 60 "the node object" kubectl_ get "node/$INSTANCE" || give_up kubelet "kubelet did not register the node within 60 s"
  kubectl_ wait --for=condition=Ready "node/$INSTANCE" --timeout=60s >/dev/null || give_up kubelet "the node was not Ready within 60 s"
  wait_until 30 "the default service account" kubectl_ get serviceaccount default ||
    give_up kube-controller-manager "the controller manager made no service account within 30 s"
  say "node Ready, API at https://127.0.0.1:$API_PORT"
}

api_answers() { is_up && kubectl_ get --raw /readyz; }

# cluster_down: everything that runs in the instance's cgroup, which is everything it started.
cluster_down() {
  local pid folder pids again
  ! pid=$(node_pid) || kill -9 "$pid" 2>/dev/null || true
  if [ -s "$RUN/cgroups" ]; then
    for again in $(seq 100); do
      pids=$(while read -r _ _ folder; do
        [ ! -d "$folder" ] || find "$folder" -name cgroup.procs -exec cat {} + 2>/dev/null || true
      done <"$RUN/cgroups" | sort -u)
      [ -n "$pids" ] || break
      # shellcheck disable=SC2086  # a list
      kill -9 $pids 2>/dev/null || true
      sleep 0.1
    done
    [ -z "$pids" ] || die "processes of $INSTANCE are still there after $((again / 10)) s: ${pids//$'\n'/ }"
    while read -r _ _ folder; do
      find "$folder" -depth -type d -exec rmdir {} + 2>/dev/null || true
    done <"$RUN/cgroups"
  fi
  # The imported images stay, in the cache, and the link to kubectl and helm, which shells have in PATH; the API server's
  # memory does not.
  rm -rf "${RUN:?}"/{node.pid,cgroups,etc.revision,sock,pki,etc,etcd,kubelet,volumes,pod-logs,container-logs,cni}
}

# cluster_load REF|ARCHIVE...: images of images.sh, or docker archives of other origin.
cluster_load() {
  local image archive
  for image in "$@"; do
    archive=$image
    if [ ! -f "$archive" ]; then
      # The tag is a hash of what is inside: a name that is there needs no second look.
      ! in_node ctr -n k8s.io images ls -q "name==$image" | grep -qFx "$image" || continue
      archive=$CACHE/images/$(basename "${image/:/-}").tar
      [ -f "$archive" ] || die "no image $image: neither an archive nor built by images.sh"
    fi
    in_node ctr -n k8s.io images import "$archive" >"$RUN/log/import.log" 2>&1 9>&- || give_up import "could not import $image"
    say "loaded $image"
  done
}

cluster_shell() {
  is_up || die "instance $INSTANCE is not up"
  if [ $# -gt 0 ]; then in_node "$@"; else in_node bash; fi
}

cluster_env() {
  echo "export KUBECONFIG='$KUBECONFIG_FILE'"
  echo "export PATH='$RUN/bin':\"\$PATH\""
}
