#!/usr/bin/env bash
# Builds the OCI images into build/images, without a container engine: tephra-scheduler-VERSION.tar,
# tephra-engine-VERSION.tar (with the command `tephra` in it) and tephra-node-VERSION.tar, each an OCI archive. Equal
# binaries and libraries give equal digests.
#   --no-build           packs the programs that exist
#   --newest-libraries   the libraries in the images are Debian's newest (hack/sysroot.sh), not those of this machine
#   --arch arm64         compiles for arm64, into archives NAME-VERSION-arm64.tar, with Debian's newest libraries
# The last two need the packages of `hack/setup.sh release`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=true newest=false arch=amd64
while [ $# -gt 0 ]; do
  case "$1 ${2:-}" in
    "--no-build "*) build=false; shift ;;
    "--newest-libraries "*) newest=true; shift ;;
    "--arch amd64" | "--arch arm64") arch=$2; shift 2 ;;
    *) echo "build-images: unknown argument '$1', expected --no-build, --newest-libraries, --arch amd64 or --arch arm64" >&2; exit 2 ;;
  esac
done
command -v umoci >/dev/null || { echo "build-images: umoci is missing: run hack/setup.sh" >&2; exit 1; }

version=$(sed -n 's/^project(tephra VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
preset=release for_arch=() sysroot=() go_programs=build/scheduler suffix=
if [ "$arch" = arm64 ]; then
  preset=arm64 newest=true for_arch=(--arch arm64) go_programs=build/scheduler-arm64 suffix=-arm64
fi
if $newest; then
  hack/sysroot.sh "$arch"
  sysroot=(--sysroot "build/sysroot-$arch")
fi
binaries=${TEPHRA_BUILD:-build/$preset}
out=${TEPHRA_IMAGES:-build/images}
epoch=1970-01-01T00:00:00Z
export TZ=UTC LC_ALL=C
umask 022

if $build; then
  cmake --preset "$preset" >/dev/null
  cmake --build --preset "$preset" --parallel "${TEPHRA_JOBS:-$(nproc)}" --target tephra tephra-engine tephra-node
  hack/build-scheduler.sh "${for_arch[@]}"
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
  local root=$1 library package
  shift
  mkdir -p "$root/var/lib/dpkg/status.d"
  for directory in lib lib64; do
    mkdir -p "$root/usr/$directory"
    ln -s "usr/$directory" "$root/$directory"
  done
  echo "hosts: files dns" >"$root/etc/nsswitch.conf"
  install -m 644 /etc/os-release "$root/usr/lib/os-release"
  ln -s ../usr/lib/os-release "$root/etc/os-release"
  hack/needed_libraries.py "${sysroot[@]}" "$@" >"$work/needed"
  while read -r library package; do
    install -D -m 755 "${sysroot[1]:-}$library" "$root/usr/${library#/usr}"
    [ ! -e "$root/var/lib/dpkg/status.d/$package" ] || continue
    hack/needed_libraries.py "${sysroot[@]}" --control "$package" >"$root/var/lib/dpkg/status.d/$package"
    install -D -m 644 "${sysroot[1]:-}/usr/share/doc/$package/copyright" "$root/usr/share/doc/$package/copyright"
  done <"$work/needed"
}

# Times, owners, order and modes do not depend on where and when it is packed.
pack() { # FOLDER ARCHIVE
  (cd "$1" && tar --format=gnu --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX -c -- *) >"$2"
}

image() { # NAME DESCRIPTION
  local name=$1 layout=$work/$1.oci
  pack "$work/$name" "$work/layer.tar"
  umoci init --layout "$layout"
  umoci new --image "$layout:$version"
  umoci raw add-layer --image "$layout:$version" --history.created "$epoch" \
    --history.author tephra --history.created_by hack/build-images.sh "$work/layer.tar"
  umoci config --image "$layout:$version" --no-history --created "$epoch" --architecture "$arch" --os linux \
    --config.user 65532:65532 --config.entrypoint "/usr/bin/$name" \
    --config.label "org.opencontainers.image.title=$name" \
    --config.label "org.opencontainers.image.description=$2" \
    --config.label "org.opencontainers.image.version=$version" \
    --config.label "org.opencontainers.image.licenses=Apache-2.0"
  umoci gc --layout "$layout"
  pack "$layout" "$out/$name-$version$suffix.tar"
  printf '%s %s\n' "$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["manifests"][0]["digest"])' \
    "$layout/index.json")" "$out/$name-$version$suffix.tar"
}

root "$work/tephra-scheduler"
install -m 755 "$go_programs"/tephra-scheduler "$go_programs"/tephra-admission "$work/tephra-scheduler/usr/bin/"
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
