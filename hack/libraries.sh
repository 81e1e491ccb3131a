# Sourced: the Debian packages of libraries that the programs in C++ are built with. They are needed once for each
# architecture: hack/setup.sh installs them, hack/sysroot.sh unpacks them.
# shellcheck shell=bash disable=SC2034

libraries=(
  libprotobuf-dev libgrpc++-dev prometheus-cpp-dev
  libabsl-dev libbenchmark-dev libboost-graph-dev libcli11-dev libcsv-dev
  libcivetweb-dev libcurl4-openssl-dev libssl-dev libeigen3-dev
  libspdlog-dev libtcmalloc-minimal4 libyaml-cpp-dev nlohmann-json3-dev catch2
  libjs-dygraphs                        # charts of tephra report
)
