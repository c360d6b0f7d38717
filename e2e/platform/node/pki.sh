#!/usr/bin/env bash
# pki.sh DIR: one CA, the certificates of the cluster's parts and their kubeconfigs. Idempotent.
# From the caller: NODE, NODE_IP, API_PORT (the host's port of the API server).
set -euo pipefail
dir=$1
[ ! -e "$dir/complete" ] || exit 0
rm -rf "$dir"; mkdir -p "$dir"; chmod 700 "$dir"; cd "$dir"

new_key() { openssl ecparam -name prime256v1 -genkey -noout -out "$1.key"; }

new_cert() { # NAME SUBJECT [SUBJECT_ALT_NAMES]
  new_key "$1"
  openssl req -new -key "$1.key" -subj "$2" -out "$1.csr"
  printf 'keyUsage=critical,digitalSignature\nextendedKeyUsage=serverAuth,clientAuth\n%s\n' "${3:+subjectAltName=$3}" >"$1.ext"
  openssl x509 -req -in "$1.csr" -CA ca.crt -CAkey ca.key -CAcreateserial -days 3650 -extfile "$1.ext" -out "$1.crt" 2>/dev/null
  rm "$1.csr" "$1.ext"
}

new_kubeconfig() { # NAME CERTIFICATE SERVER
  cat >"$1.kubeconfig" <<K
apiVersion: v1
kind: Config
current-context: seawall
contexts:
- {name: seawall, context: {cluster: seawall, user: $2}}
clusters:
- name: seawall
  cluster: {server: "$3", certificate-authority-data: $(base64 -w0 ca.crt)}
users:
- name: $2
  user: {client-certificate-data: $(base64 -w0 "$2.crt"), client-key-data: $(base64 -w0 "$2.key")}
K
}

new_key ca
openssl req -x509 -new -key ca.key -days 3650 -subj /CN=seawall-cluster-ca -out ca.crt -addext keyUsage=critical,keyCertSign,digitalSignature
kubernetes=DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,DNS:kubernetes.default.svc.cluster.local
new_cert apiserver /CN=kube-apiserver "IP:127.0.0.1,IP:10.96.0.1,IP:$NODE_IP,DNS:localhost,$kubernetes"
new_cert kubelet-server "/O=system:nodes/CN=system:node:$NODE" "IP:$NODE_IP,DNS:$NODE"
new_cert kubelet-client /O=seawall:kubelet-client/CN=kube-apiserver-kubelet-client
new_cert admin /O=system:masters/CN=admin
new_cert controller-manager /CN=system:kube-controller-manager
new_cert scheduler /CN=system:kube-scheduler
new_cert proxy /CN=system:kube-proxy
new_cert kubelet "/O=system:nodes/CN=system:node:$NODE"
new_cert coredns /CN=seawall:coredns
openssl genrsa -out sa.key 2048 2>/dev/null
openssl rsa -in sa.key -pubout -out sa.pub 2>/dev/null

for name in controller-manager scheduler proxy kubelet coredns; do
  new_kubeconfig "$name" "$name" https://127.0.0.1:6443
done
new_kubeconfig host admin "https://127.0.0.1:$API_PORT"
touch complete
