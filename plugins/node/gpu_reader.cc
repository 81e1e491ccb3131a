#include "plugins/node/gpu_reader.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

namespace tephra::node {

GpuReader::GpuReader(GpuSource& source)
    : news_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      call_(
          [&source] {
            GpuReading reading;
            reading.gpus = source.Read();
            if (reading.gpus.ok()) reading.driver = source.driver();
            return reading;
          },
          [this] {
            const std::uint64_t one = 1;
            static_cast<void>(!write(news_.get(), &one, sizeof one));
          }) {}

std::optional<GpuReading> GpuReader::Take() {
  std::uint64_t count = 0;
  static_cast<void>(!read(news_.get(), &count, sizeof count));
  return call_.Take();
}

}  // namespace tephra::node
