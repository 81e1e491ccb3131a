#!/usr/bin/env bash
# Builds build/scheduler/cyclebench and build/scheduler/upstream: what the live claims measure and
# check with, in process with Volcano's own cache and sessions.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source hack/go.sh
hack/volcano-apis.sh
hack/proto-go.sh
mkdir -p build/scheduler
cd tests/volcano
CGO_ENABLED=0 go build -mod=readonly -trimpath -o ../../build/scheduler/ ./cyclebench ./upstream
