// GpuReader reads the GPUs of a GpuSource in the background: a driver that does not answer holds up
// no other work. One owner thread.
#pragma once

#include <optional>

#include "base/descriptor.h"
#include "plugins/node/background_call.h"
#include "plugins/node/gpu_source.h"

namespace tephra::node {

struct GpuReading {
  absl::StatusOr<Gpus> gpus = absl::UnavailableError("not read yet");
  GpuSource::Driver driver;
};

class GpuReader {
 public:
  // REQUIRES: `source` outlives it.
  explicit GpuReader(GpuSource& source);

  // Has the GPUs read once more.
  void Begin() { call_.Begin(); }
  // Readable once a reading is there; Take makes it unreadable.
  int descriptor() const { return news_.get(); }
  // The newest reading that was not taken yet; nothing: there is none.
  std::optional<GpuReading> Take();

 private:
  const Descriptor news_;
  BackgroundCall<GpuReading> call_;
};

}  // namespace tephra::node
