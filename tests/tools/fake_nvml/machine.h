// FakeMachine: the GPUs that the stand-in for NVML shows, as a JSON file describes them.
//
//   {"preset": "dgx-a100"}
//   {"model": "A100-40GB", "count": 2, "mig": true}
//   {"gpus": [{"model": "NVIDIA L40S", "numa": 0}, {"model": "H100-80GB", "uuid": "GPU-…"}],
//    "topo": "\tGPU0\tGPU1\nGPU0\t X \tPIX\nGPU1\tPIX\t X \n", "driver": "550.54.15"}
//
// presets: dgx-1, dgx-a100, hgx-h100, pcie. `model`: a MIG model's name or a card's
// (plugins/node/cards.cc). `topo`: as `nvidia-smi topo -m` prints it; left out, all pairs are SYS.
// `switched`: whether NVLinks go into switches. `mig`: MIG mode is on from the beginning.
// `memoryMiB` of a GPU overrides the card's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plugins/node/cards.h"
#include "topology/base/status.h"
#include "topology/links.h"
#include "topology/mig.h"

namespace tephra::node {

struct FakeGpu {
  CardKind card;
  const MigModel* mig = nullptr;  // null: MIG does not cut it
  std::string uuid;
  int bus = 0;  // PCI, of domain 0
  int numa = -1;
  bool mig_at_start = false;

  std::string bus_id() const;  // as the driver writes it
};

struct FakeMachine {
  std::vector<FakeGpu> gpus;
  NodeLinks links;
  bool switched = false;
  std::string driver;
  int cuda = 12040;
};

constexpr std::size_t kMostFakeGpus = kMaxLinkedGpus;

absl::StatusOr<FakeMachine> ParseFakeMachine(std::string_view json);

}  // namespace tephra::node
