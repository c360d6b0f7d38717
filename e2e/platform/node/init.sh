#!/usr/bin/env bash
# pid 1 of the node: mounts, network, then the daemons, each started again when it ends.
# From enter.sh: RUN, BIN, NODE, NODE_IP.
set -uo pipefail
export PATH=$BIN:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
# A sixth of the API server's time was garbage collection: memory is there, and time is not.
export GOGC=400
pki=$RUN/pki
hostname "$NODE"
mount --make-rshared /

# ---- cgroups: a fresh tree, which thanks to the cgroup namespace shows the node's part only.
# A second mount stacked on the first would confuse what reads mountinfo, hence the umount.
umount -R /sys/fs/cgroup
if grep -q '^unified ' "$RUN/cgroups"; then
  mount -t cgroup2 cgroup2 /sys/fs/cgroup
  mkdir -p /sys/fs/cgroup/daemons
  # As in enter.sh: no processes in the root. Those of outside show as 0 and leave by themselves.
  for _ in $(seq 200); do
    grep -qx 0 /sys/fs/cgroup/cgroup.procs || break
    sleep 0.05
  done
  while read -r pid; do echo "$pid" >/sys/fs/cgroup/daemons/cgroup.procs || true; done < <(cat /sys/fs/cgroup/cgroup.procs)
  for controller in $(</sys/fs/cgroup/cgroup.controllers); do
    echo "+$controller" >/sys/fs/cgroup/cgroup.subtree_control || echo "cgroup controller $controller: not enabled"
  done
else
  mount -t tmpfs -o mode=755 cgroup /sys/fs/cgroup
  while read -r name option _; do
    mkdir -p "/sys/fs/cgroup/$name"
    [ "$name" = "$option" ] || option=none,$option   # name=systemd
    mount -t cgroup -o "$option" cgroup "/sys/fs/cgroup/$name" || echo "cgroup $option: not mounted"
  done <"$RUN/cgroups"
fi

# ---- files: the daemons' usual folders, private to this instance.
mount -t tmpfs -o mode=755 run /run
mkdir -p /run/lock /run/sysctl
own_folder() { mkdir -p "$RUN/$1" "$2"; mount --bind "$RUN/$1" "$2"; }
own_folder volumes /tmp/hostpath_pv
own_folder pod-logs /var/log/pods
own_folder container-logs /var/log/containers
own_folder cni /var/lib/cni
own_folder kubelet /var/lib/kubelet

# kubelet insists on these sysctls, which belong to the whole machine: it gets look-alikes.
look_alike() { echo "$2" >"/run/sysctl/${1##*/}"; mount --bind "/run/sysctl/${1##*/}" "/proc/sys/$1"; }
look_alike vm/overcommit_memory 1
look_alike vm/panic_on_oom 0
look_alike kernel/panic 10
look_alike kernel/panic_on_oops 1
look_alike kernel/keys/root_maxkeys 1000000
look_alike kernel/keys/root_maxbytes 25000000

# ---- network: no link to the host at all. The node's address sits on a veth with both ends in
# here (not every kernel has `dummy`); CNI adds one veth for each pod.
ip link set lo up
ip link add node0 type veth peer name node0-peer
ip link set node0-peer up
ip addr add "$NODE_IP/24" dev node0
ip link set node0 up
ip route add default dev node0
sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.route_localnet=1
[ ! -e /proc/sys/net/bridge/bridge-nf-call-iptables ] || sysctl -qw net.bridge.bridge-nf-call-iptables=1
# Nothing in the node may ask the host's resolver: it would wait ten seconds for an answer.
printf '127.0.0.1 localhost\n%s %s\n' "$NODE_IP" "$NODE" >/run/hosts
mount --bind /run/hosts /etc/hosts
mount --bind "$RUN/etc/resolv.conf" /etc/resolv.conf

# ---- daemons
keep() { # NAME COMMAND...
  local name=$1; shift
  (
    while :; do
      echo "== $(date +%T.%N) start $name"
      "$@"
      echo "== $(date +%T.%N) $name ended with $?"
      sleep 1
    done
  ) >>"$RUN/log/$name.log" 2>&1 &
}

# The provisioner makes folders of mode 0750 owned by root, and kubelet applies no fsGroup to
# hostPath volumes: without this, no pod that is not root could use a volume. A look costs no process:
# to read from a pipe that never says anything is to sleep.
open_volumes() {
  local seen=/run/volumes.seen never
  exec {never}<> <(:)
  while :; do
    if [ "$RUN/volumes" -nt "$seen" ]; then
      touch -d '1 second ago' "$seen"
      find "$RUN/volumes" -mindepth 1 -maxdepth 1 -perm 0750 -exec chmod 0777 {} +
    fi
    read -rt 0.3 -u "$never" || true
  done
}

keep etcd etcd --name node --data-dir "$RUN/etcd" --unsafe-no-fsync --log-level warn \
  --listen-client-urls http://127.0.0.1:2379 --advertise-client-urls http://127.0.0.1:2379 \
  --listen-peer-urls http://127.0.0.1:2380 --initial-advertise-peer-urls http://127.0.0.1:2380 \
  --initial-cluster node=http://127.0.0.1:2380
keep containerd containerd --config "$RUN/etc/containerd.toml"
keep fwd fwd "unix:$RUN/sock/api.sock" tcp:127.0.0.1:6443
keep kube-apiserver kube-apiserver --etcd-servers=http://127.0.0.1:2379 \
  --bind-address=0.0.0.0 --secure-port=6443 --advertise-address="$NODE_IP" \
  --service-cluster-ip-range=10.96.0.0/16 --allow-privileged=true \
  --authorization-mode=Node,RBAC --enable-admission-plugins=NodeRestriction \
  --client-ca-file="$pki/ca.crt" --tls-cert-file="$pki/apiserver.crt" --tls-private-key-file="$pki/apiserver.key" \
  --kubelet-preferred-address-types=InternalIP --kubelet-certificate-authority="$pki/ca.crt" \
  --kubelet-client-certificate="$pki/kubelet-client.crt" --kubelet-client-key="$pki/kubelet-client.key" \
  --service-account-issuer=https://kubernetes.default.svc.cluster.local \
  --service-account-key-file="$pki/sa.pub" --service-account-signing-key-file="$pki/sa.key"
keep volumes open_volumes

# The others would fail and come back in a second; waiting saves noise in their logs.
# Bounded: should the API server never come, `cluster up` gives up and says why.
for _ in $(seq 600); do
  ! curl -skf --max-time 2 -o /dev/null https://127.0.0.1:6443/readyz || break
  sleep 0.2
done
kcm=$pki/controller-manager.kubeconfig
keep kube-controller-manager kube-controller-manager --kubeconfig="$kcm" \
  --authentication-kubeconfig="$kcm" --authorization-kubeconfig="$kcm" \
  --root-ca-file="$pki/ca.crt" --cluster-signing-cert-file="$pki/ca.crt" --cluster-signing-key-file="$pki/ca.key" \
  --service-account-private-key-file="$pki/sa.key" --use-service-account-credentials=true \
  --leader-elect=false --enable-hostpath-provisioner=true --controllers='*,bootstrapsigner,tokencleaner' --bind-address=127.0.0.1
scheduler=$pki/scheduler.kubeconfig
# Seen once: a pod was tried before its volume was bound, that this came was missed, and the pod waited five minutes,
# until the scheduler looked at all that it had given up. It does so each half minute, at those that wait for longer than
# this.
keep kube-scheduler kube-scheduler --kubeconfig="$scheduler" \
  --authentication-kubeconfig="$scheduler" --authorization-kubeconfig="$scheduler" --leader-elect=false --bind-address=127.0.0.1 \
  --pod-max-in-unschedulable-pods-duration=5s
keep kubelet kubelet --config="$RUN/etc/kubelet.yaml" --kubeconfig="$pki/kubelet.kubeconfig" \
  --hostname-override="$NODE" --node-ip="$NODE_IP" --root-dir=/var/lib/kubelet
keep kube-proxy kube-proxy --config="$RUN/etc/kube-proxy.yaml" --hostname-override="$NODE"
keep coredns coredns -conf "$RUN/etc/Corefile"

# pid 1 reaps what the pods leave behind, for as long as the node lives.
while :; do wait -n || true; sleep 0.1; done
