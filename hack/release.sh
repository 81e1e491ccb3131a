#!/usr/bin/env bash
# Makes a release folder, build/dist/tephra-VERSION: charts, images with their SBOM and provenance, manifests,
# documents, programs for the command line, the demo, and checksums. Needs the packages of `hack/setup.sh release`, and
# no container engine. docs/how-to/release.md lists the files.
#   --into DIR      the folder, instead of build/dist/tephra-VERSION; an older release there is replaced
#   --arch ARCH     images for amd64 or arm64 only; programs are always for amd64
#   --only PART     programs or images only
#   --no-build      packs the programs that exist
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
usage() { echo "usage: hack/release.sh [--into DIR] [--arch amd64|arm64] [--only programs|images] [--no-build]" >&2; exit 2; }
folder='' architectures=(amd64 arm64) parts=(programs images) build=true
while [ $# -gt 0 ]; do
  case "$1 ${2:-}" in
    "--no-build "*) build=false; shift ;;
    "--into "?*) folder=$2; shift 2 ;;
    "--arch amd64" | "--arch arm64") architectures=("$2"); shift 2 ;;
    "--only programs" | "--only images") parts=("$2"); shift 2 ;;
    *) usage ;;
  esac
done
version=$(sed -n 's/^project(tephra VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
folder=${folder:-build/dist/tephra-$version}
umask 022
export LC_ALL=C TZ=UTC
# Commits have a time, so equal sources give equal files.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH

programs() {
  if $build; then
    cmake --preset release >/dev/null
    cmake --build --preset release --parallel "${TEPHRA_JOBS:-$(nproc)}" --target tephra tephra-engine tephra-node
    hack/build-scheduler.sh
    hack/build-lab.sh
  fi
  hack/chart.sh --into build/chart
  mkdir -p "$folder"/{bin,lib/tephra,charts,demo,share/doc}
  cp build/chart/tephra-"$version".tgz build/chart/tephra-team-"$version".tgz "$folder/charts/"
  install -m 755 build/scheduler/{tephra-scheduler,tephra-admission,kubectl-tephra} "$folder/bin/"
  install -m 755 build/lab/{tephra-lab,tephra-churn,kubectl,vcctl} "$folder/bin/"
  install -m 755 build/release/simulations/tephra build/release/sidecar/tephra-engine "$folder/lib/tephra/"
  hack/sysroot.sh amd64
  hack/needed_libraries.py --sysroot build/sysroot-amd64 "$folder"/lib/tephra/* | while read -r library package; do
    install -m 755 "build/sysroot-amd64$library" "$folder/lib/"
    install -D -m 644 "build/sysroot-amd64/usr/share/doc/$package/copyright" "$folder/share/doc/$package/copyright"
  done
  for program in tephra tephra-engine; do install -m 755 hack/release/launch.sh "$folder/bin/$program"; done
  install -m 755 hack/release/demo.sh "$folder/"
  install -m 644 hack/live_demo.py "$folder/demo/"
  install -m 644 hack/release/README.md LICENSE CHANGELOG.md "$folder/"
  git ls-files -z docs manifests simulations/examples | tar -c --null --files-from=- | tar -x -C "$folder"
}

# sbom SOURCE NAME OUT: what a folder or an image holds, by syft.
sbom() {
  SYFT_CHECK_FOR_APP_UPDATE=false "$syft" scan --quiet --source-name "$2" --source-version "$version" --output "spdx-json=$3" "$1"
}

images() {
  local architecture name image archives
  mkdir -p "$folder/images"
  for architecture in "${architectures[@]}"; do
    TEPHRA_IMAGES=$work/$architecture hack/build-images.sh --arch "$architecture" --newest-libraries $($build || echo --no-build)
  done
  for name in tephra-scheduler tephra-engine tephra-node; do
    archives=()
    for architecture in "${architectures[@]}"; do
      archives+=("$work/$architecture/$name-$version"*.tar)
      image=$folder/images/$name-$version-$architecture
      sbom "oci-archive:${archives[-1]}" "$name" "$image.spdx.json"
      python3 hack/release/statement.py "${archives[-1]}" "$image"
    done
    python3 hack/release/join.py "$folder/images/$name-$version.tar" "${archives[@]}"
  done
  [ -d "$folder/bin" ] || return 0
  # The libraries in lib are files without a package, so their packages are beside them while syft looks.
  mkdir -p "$folder/var/lib/dpkg/status.d" "$folder/etc"
  cp /etc/os-release "$folder/etc/"
  hack/needed_libraries.py --sysroot build/sysroot-amd64 "$folder"/lib/tephra/* | cut -d' ' -f2 | sort -u | while read -r name; do
    hack/needed_libraries.py --sysroot build/sysroot-amd64 --control "$name" >"$folder/var/lib/dpkg/status.d/$name"
  done
  sbom "dir:$folder" tephra "$folder/programs.spdx.json"
  rm -r "$folder/var" "$folder/etc"
  python3 hack/release/statement.py --programs "$folder/programs.spdx.json"
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ -e "$folder" ] && [ ! -f "$folder/SHA256SUMS" ]; then
  echo "release: $folder is no release folder, expected none or one with SHA256SUMS, which is replaced" >&2
  exit 2
fi
if $build; then
  for architecture in "${architectures[@]}"; do hack/sysroot.sh "$architecture" --again; done
fi
rm -rf "$folder"
mkdir -p "$folder"
: >"$folder/SHA256SUMS"
if [[ " ${parts[*]} " == *" images "* ]]; then syft=$(hack/syft.sh); fi
for part in "${parts[@]}"; do "$part"; done
sums=$(cd "$folder" && find . -type f ! -name SHA256SUMS -print0 | sort -z | xargs -0 sha256sum)
echo "$sums" >"$folder/SHA256SUMS"
echo "release: $folder, $(du -sh "$folder" | cut -f1)"
