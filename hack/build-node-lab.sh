#!/usr/bin/env bash
# Builds into build/lab what tests/claims/node-real-kubelet runs: containerd with its shim and ctr, and the test, which
# is the kubelet and the control plane too. runc is Debian's. The first build takes about five minutes on two cores.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source hack/go.sh
containerd=v2.4.2
hack/volcano-apis.sh
mkdir -p build/lab/containerd
export CGO_ENABLED=0 GOFLAGS="-trimpath"
out=$PWD/build/lab
echo "build-node-lab: containerd" >&2
(cd / && GOBIN=$out/containerd go install -tags "no_btrfs no_devmapper no_zfs" -ldflags "-s -w" \
  "github.com/containerd/containerd/v2/cmd/containerd@$containerd" \
  "github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2@$containerd" \
  "github.com/containerd/containerd/v2/cmd/ctr@$containerd")
echo "build-node-lab: real.test" >&2
cd lab
kubernetes=$(go list -m -f '{{.Version}}' k8s.io/kubernetes)
go test -vet=off -mod=readonly -tags realkubelet -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=$kubernetes" \
  -c -o "$out/real.test" ./kubelet/real
