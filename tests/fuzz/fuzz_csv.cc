// Arbitrary bytes as files of the openb trace: read, or refused with a message that names the file.
//
// The first byte says which: node list, pod list, the same streamed, arrival order.
#include "simulations/traces/openb.h"
#include "tests/fuzz/bytes.h"
#include "tests/fuzz/law.h"
#include "tests/fuzz/memory_file.h"

namespace tephra {
namespace {

absl::Status Stream(const std::string& path) {
  auto arrivals = StreamedOpenbArrivals(path, {"A", "B"});
  if (!arrivals.ok()) return arrivals.status();
  for (Arrival arrival;;) {
    const absl::StatusOr<bool> more = (*arrivals)->Next(arrival);
    if (!more.ok()) return more.status();
    if (!*more) return absl::OkStatus();
    const absl::Status valid = ValidateJob(arrival.job);
    Law(valid.ok(), "a job that was read is accepted: " + std::string(valid.message()));
  }
}

absl::Status Read(int which, const std::string& path) {
  switch (which) {
    case 0:
      return ReadOpenbNodes(path).status();
    case 1:
      return ReadOpenbPods(path, {"A", "B"}).status();
    case 2:
      return Stream(path);
    default:
      return ReadOpenbOrder(path, 3).status();
  }
}

}  // namespace
}  // namespace tephra

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tephra;
  Bytes bytes(data, size);
  const int which = bytes.Below(4);
  const MemoryFile file(bytes.Take(size));
  const absl::Status status = Read(which, file.path());
  Law(status.ok() || status.message().find(file.path()) == 0, "a refusal begins with the file");
  return 0;
}
