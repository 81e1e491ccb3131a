#!/usr/bin/env bash
# Installs what building and testing needs on a bare Debian 12 machine; does nothing when all of
# it is there: hack/setup.sh [browser]. With `browser` also what tests the page of tephra report.
# Runs as root, or through sudo.
set -euo pipefail

packages=(
  g++ clang libclang-rt-14-dev          # compilers; the fuzz targets need clang's runtime
  cmake ninja-build ccache pkg-config   # build
  git python3 xz-utils ca-certificates                  # scripts, tests, compressed traces
  python3-yaml umoci                    # tests of the manifests; images
  runc                                  # the node plugin beside a real kubelet
  protobuf-compiler libprotobuf-dev protobuf-compiler-grpc libgrpc++-dev prometheus-cpp-dev
  libabsl-dev libbenchmark-dev libboost-graph-dev libcli11-dev libcsv-dev
  libcivetweb-dev libcurl4-openssl-dev libeigen3-dev
  libspdlog-dev libtcmalloc-minimal4 libyaml-cpp-dev nlohmann-json3-dev catch2
  libjs-dygraphs                        # charts of tephra report
)
case "$#:${1:-}" in
  0:) ;;
  1:browser) packages+=(chromium chromium-driver python3-selenium) ;;
  *) echo "usage: hack/setup.sh [browser]" >&2; exit 2 ;;
esac

fail() { echo "setup: $*" >&2; exit 1; }

command -v dpkg-query >/dev/null ||
  fail "this script knows Debian 12 only; install by hand: ${packages[*]}"

# dpkg-query exits non-zero when it does not know a package; what it prints is what counts.
# shellcheck disable=SC2016  # the dollar signs are dpkg-query's own
format='${Package} ${db:Status-Status}\n'
installed=$(dpkg-query -W -f="$format" "${packages[@]}" 2>/dev/null) || true
missing=()
for package in "${packages[@]}"; do
  grep -qxF "$package installed" <<<"$installed" || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  echo "setup: all ${#packages[@]} packages are installed"
  exit 0
fi

if [ "$(id -u)" -eq 0 ]; then
  as_root=()
elif command -v sudo >/dev/null; then
  as_root=(sudo)
else
  fail "missing ${missing[*]}; installing needs root, and there is no sudo"
fi

apt() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get -q -o Acquire::Retries=3 -o DPkg::Lock::Timeout=120 "$@"
}

echo "setup: installing ${missing[*]}"
apt update || { sleep 5; apt update; } || fail "apt-get update failed twice"
apt install -y --no-install-recommends "${missing[@]}" || fail "could not install ${missing[*]}"
