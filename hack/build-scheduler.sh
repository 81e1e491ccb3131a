#!/usr/bin/env bash
# Builds into build/scheduler: tephra-scheduler, Volcano's scheduler with our action in it, tephra-admission, the
# webhooks, and kubectl-tephra, the commands that read a cluster. The first build takes about three minutes on two cores.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source hack/go.sh
hack/volcano-apis.sh
hack/proto-go.sh
version=$(sed -n 's/^project(tephra VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
mkdir -p build/scheduler
cd plugins/volcano
CGO_ENABLED=0 go build -mod=readonly -trimpath -ldflags "-s -w -X main.version=$version" \
  -o ../../build/scheduler/ ./cmd/tephra-scheduler ./cmd/tephra-admission ./cmd/kubectl-tephra
