#!/usr/bin/env bash
# Makes build/sysroot-ARCH: the libraries of hack/libraries.sh for amd64 or arm64, in the newest versions of Debian 12,
# unpacked. The preset `arm64` compiles with them, programs for arm64 run with them under qemu-user, and images of a
# release get them. Needs the packages of `hack/setup.sh release`.
# A second run changes nothing. --again makes it again, with the versions that Debian has now.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source hack/libraries.sh
case "$*" in
  amd64 | arm64 | "amd64 --again" | "arm64 --again") ;;
  *) echo "usage: hack/sysroot.sh amd64|arm64 [--again]" >&2; exit 2 ;;
esac
root=build/sysroot-$1
list="$root/.packages"
if [ -z "${2:-}" ] && [ "$(cat "$list" 2>/dev/null)" = "${libraries[*]}" ]; then exit; fi
command -v mmdebstrap >/dev/null || { echo "sysroot: mmdebstrap is missing: run hack/setup.sh release" >&2; exit 1; }

rm -rf "$root.new"
mkdir -p build
mmdebstrap --quiet --variant=extract --architectures="$1" --hook-dir=/usr/share/mmdebstrap/hooks/merged-usr \
  --skip=cleanup/apt/cache --include="libc6-dev ${libraries[*]}" bookworm "$root.new" >&2

# As dpkg keeps them: what each package is, and its files. hack/needed_libraries.py reads them.
for archive in "$root.new"/var/cache/apt/archives/*.deb; do
  package=$(dpkg-deb -f "$archive" Package)
  dpkg-deb -f "$archive" >"$root.new/var/lib/dpkg/info/$package.control"
  dpkg-deb --fsys-tarfile "$archive" | tar -t | sed 's,^\./,/,' >"$root.new/var/lib/dpkg/info/$package.list"
  rm "$archive"
done

# Debian's links from the root of the file system would lead out of the sysroot.
find "$root.new/usr/lib" -type l -lname '/*' -print0 | while IFS= read -r -d '' link; do
  ln -sfnr "$root.new$(readlink "$link")" "$link"
done
echo "${libraries[*]}" >"$root.new/.packages"
rm -rf "$root"
mv "$root.new" "$root"
