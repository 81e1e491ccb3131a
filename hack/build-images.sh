#!/usr/bin/env bash
# Builds the OCI images into build/images, without a container engine: tephra-scheduler-VERSION.tar,
# tephra-engine-VERSION.tar (with the command `tephra` in it) and tephra-node-VERSION.tar, each an OCI archive. Equal
# binaries and libraries give equal digests. --no-build packs the binaries that exist.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=true
case "${1:-}" in
  --no-build) build=false ;;
  "") ;;
  *) echo "build-images: unknown argument '$1', expected --no-build" >&2; exit 2 ;;
esac
command -v umoci >/dev/null || { echo "build-images: umoci is missing: run hack/setup.sh" >&2; exit 1; }

version=$(sed -n 's/^project(tephra VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
binaries=${TEPHRA_BUILD:-build/release}
out=${TEPHRA_IMAGES:-build/images}
epoch=1970-01-01T00:00:00Z
export TZ=UTC LC_ALL=C
umask 022

if $build; then
  cmake --preset release >/dev/null
  cmake --build --preset release --parallel "${TEPHRA_JOBS:-$(nproc)}" --target tephra tephra-engine tephra-node
  hack/build-scheduler.sh
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out"

# What every image has: a user of its own, and the license.
root() { # ROOT
  mkdir -p "$1"/etc "$1"/usr/bin "$1"/usr/share/doc/tephra
  echo "tephra:x:65532:65532::/:/sbin/nologin" >"$1/etc/passwd"
  echo "tephra:x:65532:" >"$1/etc/group"
  cp LICENSE "$1/usr/share/doc/tephra/copyright"
}

# The shared libraries that the programs need, their loader, and the packages that these come from, for
# scanners of images.
libraries() { # ROOT PROGRAM...
  local root=$1 library patterns=() package
  shift
  mkdir -p "$root/var/lib/dpkg/status.d"
  for directory in lib lib64; do
    mkdir -p "$root/usr/$directory"
    ln -s "usr/$directory" "$root/$directory"
  done
  echo "hosts: files dns" >"$root/etc/nsswitch.conf"
  ldd "$@" >"$work/ldd"
  if grep "not found" "$work/ldd" >&2; then return 1; fi
  while read -r library; do
    install -D -m 755 "$library" "$root/usr/${library#/usr}"
    patterns+=("*/$(basename "$(dirname "$library")")/$(basename "$(realpath "$library")")")
  done < <(grep -o '/[^ :]*\.so[^ :]*' "$work/ldd" | sort -u)
  dpkg-query -S "${patterns[@]}" | cut -d: -f1 | sort -u | while read -r package; do
    dpkg-query -s "$package" >"$root/var/lib/dpkg/status.d/$package"
    install -D -m 644 "/usr/share/doc/$package/copyright" "$root/usr/share/doc/$package/copyright"
  done
}

# Times, owners, order and modes do not depend on where and when it is packed.
pack() { # FOLDER ARCHIVE
  tar --format=gnu --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
    -C "$1" -cf "$2" .
}

image() { # NAME DESCRIPTION
  local name=$1 layout=$work/$1.oci
  pack "$work/$name" "$work/layer.tar"
  umoci init --layout "$layout"
  umoci new --image "$layout:$version"
  umoci raw add-layer --image "$layout:$version" --history.created "$epoch" \
    --history.author tephra --history.created_by hack/build-images.sh "$work/layer.tar"
  umoci config --image "$layout:$version" --no-history --created "$epoch" \
    --config.user 65532:65532 --config.entrypoint "/usr/bin/$name" \
    --config.label "org.opencontainers.image.title=$name" \
    --config.label "org.opencontainers.image.description=$2" \
    --config.label "org.opencontainers.image.version=$version" \
    --config.label "org.opencontainers.image.licenses=Apache-2.0"
  umoci gc --layout "$layout"
  pack "$layout" "$out/$name-$version.tar"
  printf '%s %s\n' "$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["manifests"][0]["digest"])' \
    "$layout/index.json")" "$out/$name-$version.tar"
}

root "$work/tephra-scheduler"
install -m 755 build/scheduler/tephra-scheduler build/scheduler/tephra-admission "$work/tephra-scheduler/usr/bin/"
install -D -m 644 /etc/ssl/certs/ca-certificates.crt "$work/tephra-scheduler/etc/ssl/certs/ca-certificates.crt"
image tephra-scheduler "Volcano's scheduler, with gangs and GPUs decided by tephra-engine; with tephra-admission"

root "$work/tephra-engine"
install -m 755 "$binaries"/sidecar/tephra-engine "$binaries"/simulations/tephra "$work/tephra-engine/usr/bin/"
libraries "$work/tephra-engine" "$binaries"/sidecar/tephra-engine "$binaries"/simulations/tephra
image tephra-engine "Decides where gangs run and which GPUs they get; with the command tephra"

root "$work/tephra-node"
install -m 755 "$binaries"/plugins/node/tephra-node "$work/tephra-node/usr/bin/"
libraries "$work/tephra-node" "$binaries"/plugins/node/tephra-node
image tephra-node "Hands the slices of GPUs that the scheduler chose to containers"
