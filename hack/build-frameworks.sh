#!/usr/bin/env bash
# Builds into build/frameworks the controllers of the frameworks that docs/reference/frameworks.md lists, each from its own
# Go module, beside the resource definitions and webhooks of that module. The first build takes about five minutes on two
# cores. --only NAME builds one of them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source hack/go.sh
only=
case "${1:-}" in
  --only) only=${2:?--only: no name given, expected the name of a controller, such as jobset} ;;
  "") ;;
  *) echo "build-frameworks: unknown argument '$1', expected --only NAME" >&2; exit 2 ;;
esac
root=$PWD
out=$root/build/frameworks
export CGO_ENABLED=0 GOFLAGS="-mod=readonly -trimpath -buildvcs=false"
built=

# build NAME FOLDER PACKAGE MODULE DEFINITIONS [WEBHOOKS]: the folder under lab/frameworks/controllers has the go.mod; the
# last two are folders of the module, copied as they are.
build() {
  local name=$1 folder=$2 package=$3 module=$4 definitions=$5 webhooks=${6:-} source fresh
  if [ -n "$only" ] && [ "$only" != "$name" ]; then return; fi
  built+=" $name"
  echo "build-frameworks: $name" >&2
  cd "$root/lab/frameworks/controllers/$folder"
  source=$(go list -m -f '{{.Dir}}' "$module")
  if [ -z "$source" ]; then
    go mod download "$module"
    source=$(go list -m -f '{{.Dir}}' "$module")
  fi
  mkdir -p "$out"
  fresh=$(mktemp -d "$out/.$name.XXXXXX")
  go build -ldflags "-s -w" -o "$fresh/controller" "$package"
  go list -m -f '{{.Version}}' "$module" >"$fresh/version"
  mkdir "$fresh/definitions"
  grep -lx 'kind: CustomResourceDefinition' "$source/$definitions"/*.yaml | xargs install -m 644 -t "$fresh/definitions"
  if [ -n "$webhooks" ]; then
    cp -r "$source/$webhooks" "$fresh/webhooks"
    chmod -R u+w "$fresh/webhooks"
  fi
  rm -rf "${out:?}/$name"
  mv "$fresh" "$out/$name"
}

build jobset k8s-0.35 sigs.k8s.io/jobset sigs.k8s.io/jobset config/components/crd/bases config/components/webhook
build lws k8s-0.35 sigs.k8s.io/lws/cmd sigs.k8s.io/lws config/crd/bases config/webhook
build mpi-operator k8s-0.35 github.com/kubeflow/mpi-operator/cmd/mpi-operator github.com/kubeflow/mpi-operator manifests/base
build kuberay k8s-0.35 github.com/ray-project/kuberay/ray-operator github.com/ray-project/kuberay/ray-operator config/crd/bases
build trainer k8s-0.35 github.com/kubeflow/trainer/v2/cmd/trainer-controller-manager github.com/kubeflow/trainer/v2 \
  manifests/base/crds manifests/base/webhook
build training-operator k8s-0.31 github.com/kubeflow/training-operator/cmd/training-operator.v1 \
  github.com/kubeflow/training-operator manifests/base/crds manifests/base/webhook
# The MPI operator has a newer MPIJob of the same name, and the training operator does not need its own.
rm -f "$out/training-operator/definitions/kubeflow.org_mpijobs.yaml"

if [ -z "$built" ]; then
  echo "build-frameworks: --only $only, expected jobset, lws, mpi-operator, kuberay, trainer or training-operator" >&2
  exit 2
fi
