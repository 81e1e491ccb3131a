// Arbitrary bytes as the annotation of a pod: read, or refused with its key; what was read names
// containers only, and is matched with GPUs that there are.
#include "plugins/node/kubelet/checkpoint.h"
#include "plugins/node/slices_annotation.h"
#include "tests/fuzz/bytes.h"
#include "tests/fuzz/law.h"

namespace tephra::node {
namespace {

Gpus Two() {
  Gpus gpus;
  for (const char* uuid : {"GPU-0", ""}) {
    Gpu gpu;
    gpu.hardware.uuid = uuid;
    gpu.hardware.memory_mib = 40'000;
    gpu.hardware.modes = (1u << kSliceModes) - 1;
    gpu.hardware.mig_model = "A100-40GB";
    gpus.devices.push_back(gpu);
  }
  return gpus;
}

void TrySlices(const std::string& text) {
  const auto containers = ParseSlices(text);
  if (!containers.ok()) {
    Law(containers.status().message().substr(0, 16) == kSlicesKey,
        "a refusal names the annotation");
    return;
  }
  const Gpus gpus = Two();
  for (const ContainerSlices& container : *containers) {
    Law(IsContainerName(container.name), "a container's name is one");
    const auto grant = MatchSlices({"n", "u", "s", "p", container.name}, *containers, gpus);
    if (!grant.ok()) continue;
    Law(grant->slices.size() == container.slices.size(), "all slices are matched, or none");
    for (const GrantedSlice& slice : grant->slices) {
      Law(slice.gpu < gpus.devices.size(), "a GPU is one that there is");
      Law(slice.memory_mib <= 40'000 && slice.compute <= 1000, "no more than there is");
    }
  }
}

}  // namespace
}  // namespace tephra::node

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tephra::Bytes bytes(data, size);
  tephra::node::TrySlices(bytes.Take(size));
  return 0;
}
