// Arbitrary bytes as an event: what can be decoded is encoded to bytes that decode to the same.
#include <google/protobuf/stubs/logging.h>

#include "sidecar/wire/event_codec.h"
#include "tephra/v1/event.pb.h"
#include "tests/fuzz/law.h"

namespace tephra {
namespace {

std::string Encoded(const Event& event) {
  v1::Event wire;
  const absl::Status status = EncodeEvent(event, &wire);
  Law(status.ok(), "what was decoded can be encoded: " + std::string(status.message()));
  return wire.SerializeAsString();
}

}  // namespace
}  // namespace tephra

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tephra;
  static google::protobuf::LogHandler* const kSilence = google::protobuf::SetLogHandler(nullptr);
  (void)kSilence;
  v1::Event wire;
  if (!wire.ParseFromArray(data, static_cast<int>(size))) return 0;
  const absl::StatusOr<Event> event = DecodeEvent(wire);
  if (!event.ok()) {
    Law(absl::IsInvalidArgument(event.status()), "a refusal is INVALID_ARGUMENT");
    return 0;
  }
  const std::string bytes = Encoded(*event);
  v1::Event again;
  Law(again.ParseFromString(bytes), "what was encoded can be parsed");
  const absl::StatusOr<Event> back = DecodeEvent(again);
  Law(back.ok(), "what was encoded can be decoded");
  Law(back->index() == event->index(), "it is of the same kind");
  Law(Encoded(*back) == bytes, "it is the same");
  return 0;
}
