// GpuFile: GPUs as a JSON file describes them, read again when it changes: for tests, and for a
// show on a machine without any.
//
//   {"devices": [{"uuid": "GPU-0", "model": "NVIDIA H100 80GB HBM3", "memoryMiB": 81559, "minor":
//   0,
//                 "numa": 0, "healthy": true, "modes": ["whole", "fraction"], "splitCount": 10}]}
//
// `uuid` and `memoryMiB` are needed; `minor` is the place in the list where it is left out, the
// modes whole and fraction. `unhealthy` says why, and `healthy` is false then.
#pragma once

#include <string>
#include <string_view>

#include "base/config_watch.h"
#include "plugins/node/gpu_source.h"

namespace tephra::node {

// INVALID_ARGUMENT "gpus.json: devices[3].memoryMiB: ..." for the first thing that is wrong.
absl::StatusOr<Gpus> ParseGpuFile(const std::string& name, std::string_view text);

class GpuFile final : public GpuSource {
 public:
  explicit GpuFile(std::string path) : path_(std::move(path)), watch_(path_) {}

  absl::StatusOr<Gpus> Read() override;
  int descriptor() const override { return watch_.descriptor(); }
  void Drain() override { watch_.Drain(); }

 private:
  const std::string path_;
  ConfigWatch watch_;
};

}  // namespace tephra::node
