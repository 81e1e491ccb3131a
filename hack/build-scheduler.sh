#!/usr/bin/env bash
# Builds into build/scheduler: tephra-scheduler, Volcano's scheduler with our action in it, tephra-admission, the
# webhooks, and kubectl-tephra, the commands that read a cluster. The first build takes about three minutes on two cores.
# --arch arm64 builds them for arm64 into build/scheduler-arm64.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
out=build/scheduler
for_arch=()
case "$*" in
  "") ;;
  "--arch arm64") out+=-arm64 for_arch=(env GOARCH=arm64) ;;
  *) echo "usage: hack/build-scheduler.sh [--arch arm64]" >&2; exit 2 ;;
esac
source hack/go.sh
hack/volcano-apis.sh
hack/proto-go.sh
version=$(sed -n 's/^project(tephra VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
mkdir -p "$out"
cd plugins/volcano
CGO_ENABLED=0 "${for_arch[@]}" go build -mod=readonly -trimpath -ldflags "-s -w -X main.version=$version" \
  -o "../../$out/" ./cmd/tephra-scheduler ./cmd/tephra-admission ./cmd/kubectl-tephra
