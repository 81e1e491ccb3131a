#!/usr/bin/env bash
# Builds build/scheduler/cyclebench, build/scheduler/upstream and build/scheduler/same.test: what the live and swift claims
# measure and check with, in process with Volcano's own cache and sessions.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source hack/go.sh
hack/volcano-apis.sh
hack/proto-go.sh
mkdir -p build/scheduler
cd tests/volcano
CGO_ENABLED=0 go build -mod=readonly -trimpath -o ../../build/scheduler/ ./cyclebench ./upstream
CGO_ENABLED=0 go test -vet=off -mod=readonly -trimpath -c -o ../../build/scheduler/same.test ./sink
