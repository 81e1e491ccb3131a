// Arbitrary bytes as a journal: read to an end, an error or a cut, in bounded memory.
//
// The first byte says how: 0, the rest is the file; else the rest is cut into records whose frames
// are right, so that what lies behind the check sums is reached too.
#include <sstream>

#include <google/protobuf/stubs/logging.h>

#include "sidecar/wire/frame.h"
#include "sidecar/wire/journal_reader.h"
#include "tests/fuzz/bytes.h"
#include "tests/fuzz/law.h"

namespace tephra {
namespace {

// Each record: two bytes of length, and its content.
std::string Framed(Bytes& bytes) {
  std::string journal;
  std::uint32_t crc = 0;
  while (!bytes.empty()) AppendFrame(bytes.Take(bytes.Number<std::uint16_t>()), crc, journal);
  return journal;
}

void Read(const std::string& journal) {
  std::istringstream in(journal);
  JournalReader reader(in, "fuzz");
  std::uint64_t offset = 0;
  for (;;) {
    const auto entry = reader.Next();
    Law(reader.offset() >= offset && reader.offset() <= journal.size(), "it only moves forward");
    offset = reader.offset();
    if (!entry.ok()) return;
    if (entry->has_value()) continue;
    Law(reader.offset() + reader.torn_bytes() == journal.size(), "every byte is accounted for");
    Law(!reader.closed() || reader.torn_bytes() == 0, "a closed journal has nothing behind it");
    return;
  }
}

}  // namespace
}  // namespace tephra

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static google::protobuf::LogHandler* const kSilence = google::protobuf::SetLogHandler(nullptr);
  (void)kSilence;
  tephra::Bytes bytes(data, size);
  const bool framed = bytes.Byte() != 0;
  tephra::Read(framed ? tephra::Framed(bytes) : bytes.Take(size));
  return 0;
}
