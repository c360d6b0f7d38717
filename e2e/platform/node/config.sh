#!/usr/bin/env bash
# Writes the daemons' configuration into the run folder.
# From the caller: RUN, STORE, NODE_IP, PAUSE_IMAGE.
set -euo pipefail
pki=$RUN/pki
mkdir -p "$RUN/etc/cni" "$RUN/etc/manifests"
cd "$RUN/etc"

cat >containerd.toml <<K
version = 2
root = "$STORE"
state = "/run/containerd"
disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.aufs", "io.containerd.internal.v1.opt"]
[grpc]
  address = "/run/containerd/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "$PAUSE_IMAGE"
  disable_apparmor = true
  # Without CAP_SYS_RESOURCE runc cannot lower oom_score_adj, and no pod would start.
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "$RUN/etc/cni"
K

cat >cni/10-seawall.conflist <<K
{"cniVersion": "0.4.0", "name": "seawall", "plugins": [
  {"type": "ptp", "ipMasq": false, "mtu": 1500,
   "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.202.0.0/24"}]], "routes": [{"dst": "0.0.0.0/0"}]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}]}
K

cat >kubelet.yaml <<K
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: 0.0.0.0
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: $pki/ca.crt}}
authorization: {mode: Webhook}
tlsCertFile: $pki/kubelet-server.crt
tlsPrivateKeyFile: $pki/kubelet-server.key
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
# containerd 1.6 cannot be asked for its driver, so it is said here.
cgroupDriver: cgroupfs
failSwapOn: false
clusterDNS: [10.96.0.10]
clusterDomain: cluster.local
resolvConf: $RUN/etc/resolv.conf
staticPodPath: $RUN/etc/manifests
evictionHard: {memory.available: 100Mi, nodefs.available: 1%, imagefs.available: 1%}
# Images come from archives, not from a registry: one that is collected does not come back.
imageGCHighThresholdPercent: 100
imageMinimumGCAge: 8760h
maxPods: 110
# Tests kill the same container again and again; a minute of back-off would be a minute without a fault.
featureGates: {KubeletCrashLoopBackOffMax: true}
crashLoopBackOff: {maxContainerRestartPeriod: 1s}
syncFrequency: 10s
nodeStatusUpdateFrequency: 4s
serializeImagePulls: false
K

cat >kube-proxy.yaml <<K
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: nftables
clusterCIDR: 10.202.0.0/24
clientConnection: {kubeconfig: $pki/proxy.kubeconfig}
# The conntrack sysctls are read-only in a child network namespace: zero means "leave them".
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
K

# No forward: names outside the cluster answer SERVFAIL, nothing leaves the node.
# No cache: a restarted broker's new address is there at once, and so is a name that was missing.
cat >Corefile <<K
.:53 {
  bind $NODE_IP
  errors
  ready 127.0.0.1:8181
  kubernetes cluster.local in-addr.arpa {
    kubeconfig $pki/coredns.kubeconfig
    ttl 5
  }
}
K

echo "nameserver 10.96.0.10" >resolv.conf

cat >base.yaml <<K
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: seawall:kubelet-client}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: system:kubelet-api-admin}
subjects: [{kind: Group, name: "seawall:kubelet-client", apiGroup: rbac.authorization.k8s.io}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: seawall:coredns}
rules:
- {apiGroups: [""], resources: [endpoints, services, pods, namespaces], verbs: [list, watch]}
- {apiGroups: [discovery.k8s.io], resources: [endpointslices], verbs: [list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: seawall:coredns}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: seawall:coredns}
subjects: [{kind: User, name: "seawall:coredns", apiGroup: rbac.authorization.k8s.io}]
---
# CoreDNS is a process of the node, not a pod: a Service without a selector leads to it.
apiVersion: v1
kind: Service
metadata: {name: kube-dns, namespace: kube-system}
spec:
  clusterIP: 10.96.0.10
  ports: [{name: dns, port: 53, protocol: UDP}, {name: dns-tcp, port: 53, protocol: TCP}]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: kube-dns-node, namespace: kube-system, labels: {kubernetes.io/service-name: kube-dns}}
addressType: IPv4
endpoints: [{addresses: [$NODE_IP], conditions: {ready: true}}]
ports: [{name: dns, port: 53, protocol: UDP}, {name: dns-tcp, port: 53, protocol: TCP}]
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: standard, annotations: {storageclass.kubernetes.io/is-default-class: "true"}}
provisioner: kubernetes.io/host-path
reclaimPolicy: Delete
K
