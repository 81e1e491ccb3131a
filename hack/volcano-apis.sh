#!/usr/bin/env bash
# Makes build/volcano-apis, which the Go modules replace volcano.sh/apis with: the newest release of
# it that module proxies serve, and the one constant that volcano v1.15 uses beyond it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source hack/go.sh
version=v1.14.0
target=build/volcano-apis
added=pkg/apis/scheduling/v1beta1/queue_allocation_gate.go

[ "$(cat "$target/.version" 2>/dev/null)" = "$version" ] && exit 0
# Outside any module, so that the replacement it is about to make is not asked for.
source_dir=$(cd / && go mod download -json "volcano.sh/apis@$version" |
  python3 -c 'import json, sys; print(json.load(sys.stdin)["Dir"])')
mkdir -p build
fresh=$(mktemp -d build/volcano-apis.XXXXXX)
cp -r "$source_dir/." "$fresh"
chmod -R u+w "$fresh"
cat >"$fresh/$added" <<'GO'
package v1beta1

// QueueAllocationGateKey names the scheduling gate, and the annotation that asks for it, of pods
// which wait for their queue's admission.
const QueueAllocationGateKey = GroupName + "/queue-allocation-gate"
GO
echo "$version" >"$fresh/.version"
rm -rf "$target"
mv "$fresh" "$target"
