#!/usr/bin/env bash
# Generates the Go side of sidecar/proto into plugins/volcano/tephrav1, which git ignores.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source hack/go.sh
protos=(sidecar/proto/tephra/v1/{event,plan,service}.proto)
out=plugins/volcano/tephrav1
newest=$(ls -t "${protos[@]}" hack/proto-go.sh plugins/volcano/go.mod | head -1)
[ "$out/service.pb.go" -nt "$newest" ] && exit 0

tools=build/go-tools
mkdir -p "$tools" "$out"
# With the flags of hack/build-scheduler.sh, which then finds the standard library compiled.
(cd plugins/volcano && CGO_ENABLED=0 go build -mod=readonly -trimpath -o ../../$tools/ \
  google.golang.org/protobuf/cmd/protoc-gen-go google.golang.org/grpc/cmd/protoc-gen-go-grpc)
PATH="$PWD/$tools:$PATH" protoc -I sidecar/proto \
  --go_out=plugins/volcano --go_opt=module=tephra.sh/volcano \
  --go-grpc_out=plugins/volcano --go-grpc_opt=module=tephra.sh/volcano "${protos[@]}"
