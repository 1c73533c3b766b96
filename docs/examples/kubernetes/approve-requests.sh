#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Approves the certificate requests of hosts by the rule in how-to/join-a-cluster.md, section Approve. Use it
# to join many hosts, and once a day for renewals. Needs kubectl, openssl, and the right to approve requests.
# Run 'sh approve-requests.sh' in a directory with two files, one name a line:
#   requests   names of requests, from the hosts themselves; the script approves these
#   revoked    Nodes; the script denies their requests, also renewals
# Change: nothing. See gpuhost-cluster(8), JOINING A CLUSTER.
set -eu

touch requests revoked
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
kubectl get csr -l gpuhost.io/node -o go-template='{{range .items}}{{if not .status.conditions
    }}{{.metadata.name}}|{{.spec.signerName}}|{{.spec.request}}|{{range .spec.usages}}{{.}},{{end
    }}|{{printf "%q" .spec.username}}{{"\n"}}{{end}}{{end}}' >"$work/list"

status=0
while IFS='|' read -r name signer request usages user; do
    printf %s "$request" | base64 -d >"$work/request.pem" || true
    subject=$(openssl req -in "$work/request.pem" -noout -subject -nameopt RFC2253) || subject=
    key=$(openssl req -in "$work/request.pem" -noout -pubkey | openssl pkey -pubin -outform DER | sha256sum)
    key=$(printf %.12s "$key")
    node=${subject#subject=CN=gpuhost:host:}
    node=${node%,O=gpuhost:hosts}
    # A request in another form, such as text before the first line, can be a different one to the API server.
    if ! openssl req -in "$work/request.pem" -outform PEM | cmp -s - "$work/request.pem" ||
        [ "$subject" != "subject=CN=gpuhost:host:$node,O=gpuhost:hosts" ] ||
        [ "$name" != "gpuhost-$node-$key" ] ||
        [ "$signer" != kubernetes.io/kube-apiserver-client ] ||
        [ "$usages" != 'digital signature,client auth,' ]; then
        echo "$name: not a request of gpuhost-cluster"
    elif grep -qxF -e "$node" revoked; then
        kubectl certificate deny "$name" || status=1
    elif [ "$user" = "\"gpuhost:host:$node\"" ] || grep -qxF -e "$name" requests; then
        kubectl certificate approve "$name" || status=1
    else
        echo "$name: not in the file requests"
    fi
done <"$work/list"
exit "$status"
