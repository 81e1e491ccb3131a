#include <algorithm>
#include <fstream>
#include <sstream>

#include <catch2/catch.hpp>

#include "plugins/registry.h"
#include "sidecar/wire/event_codec.h"
#include "sidecar/wire/frame.h"
#include "sidecar/wire/journal_reader.h"
#include "sidecar/wire/journal_writer.h"
#include "sidecar/wire/journaled_engine.h"
#include "tests/sidecar/any_event.h"
#include "tests/sidecar/recorded_run.h"

namespace tephra {
namespace {

struct Reading {
  std::vector<JournalEntry> entries;
  absl::Status status;
  bool closed = false, has_header = false;
  std::uint64_t whole_bytes = 0, torn_bytes = 0;
};

Reading Read(const std::string& journal) {
  std::istringstream in(journal);
  JournalReader reader(in, "j");
  Reading reading;
  for (;;) {
    auto entry = reader.Next();
    reading.status = entry.status();
    if (!entry.ok() || !entry->has_value()) break;
    reading.entries.push_back(**std::move(entry));
  }
  reading.closed = reader.closed();
  reading.has_header = reader.has_header();
  reading.whole_bytes = reader.offset();
  reading.torn_bytes = reader.torn_bytes();
  return reading;
}

std::string Message(const absl::Status& status) { return std::string(status.message()); }

TEST_CASE("Journal: what was recorded is read back, in order") {
  Dice dice(5);
  std::vector<Event> events;
  std::ostringstream out;
  JournalWriter writer(out, "j");
  for (int i = 0; i < 200; ++i) {
    events.push_back(AnyEvent(dice));
    REQUIRE(writer.Record(events.back()).ok());
    if (i % 10 == 0) writer.RecordRefusal(absl::NotFoundError("no"));
  }
  REQUIRE(writer.Close().ok());

  const Reading reading = Read(out.str());
  REQUIRE(reading.status == absl::OkStatus());
  CHECK(reading.closed);
  CHECK(reading.whole_bytes == out.str().size());
  CHECK(reading.torn_bytes == 0);
  std::size_t at = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    REQUIRE(Same(std::get<Event>(reading.entries[at++]), events[i]));
    if (i % 10 != 0) continue;
    const auto& refusal = std::get<JournalRefusal>(reading.entries[at++]);
    CHECK(refusal.code == absl::StatusCode::kNotFound);
    CHECK(refusal.message == "no");
  }
  CHECK(at == reading.entries.size());
}

TEST_CASE("Journal: a run's events, refusals, ticks and plans are all there") {
  const RecordedRun run = RunAndRecord(1);
  const Reading reading = Read(run.journal);
  REQUIRE(reading.status == absl::OkStatus());
  CHECK(reading.closed);
  int events = 0, refused = 0;
  std::vector<std::string> plans;
  for (const JournalEntry& entry : reading.entries) {
    events += std::holds_alternative<Event>(entry);
    refused += std::holds_alternative<JournalRefusal>(entry);
    if (const auto* plan = std::get_if<JournalPlan>(&entry)) plans.push_back(plan->bytes);
  }
  CHECK(events == run.events);
  CHECK(refused == run.refused);
  CHECK(refused > 0);
  CHECK(plans == run.plans);
}

TEST_CASE("Journal: cut at any byte it is read up to the last whole record, and the cut is known") {
  const std::string journal = RunAndRecord(2, 3).journal;
  const std::size_t entries = Read(journal).entries.size();
  const std::vector<std::size_t> ends = FrameEnds(journal);
  REQUIRE(ends.back() == journal.size());
  REQUIRE(ends.size() == entries + 2);  // header and end
  for (std::size_t cut = 0; cut < journal.size(); ++cut) {
    INFO("cut at byte " << cut << " of " << journal.size());
    const Reading reading = Read(journal.substr(0, cut));
    REQUIRE(reading.status == absl::OkStatus());
    REQUIRE_FALSE(reading.closed);
    const auto whole = std::upper_bound(ends.begin(), ends.end(), cut) - ends.begin();
    REQUIRE(reading.has_header == (whole > 0));
    REQUIRE(static_cast<std::ptrdiff_t>(reading.entries.size()) ==
            std::max<std::ptrdiff_t>(whole, 1) - 1);
    const std::size_t whole_bytes = whole == 0 ? 0 : ends[static_cast<std::size_t>(whole) - 1];
    REQUIRE(reading.whole_bytes == whole_bytes);
    REQUIRE(reading.torn_bytes == cut - whole_bytes);
  }
}

TEST_CASE("Journal: no flipped bit goes unnoticed, and none is taken for a cut") {
  const std::string journal = RunAndRecord(3, 1).journal;
  const std::vector<std::size_t> ends = FrameEnds(journal);
  for (std::size_t byte = 0; byte < journal.size(); ++byte) {
    for (int bit = 0; bit < 8; ++bit) {
      INFO("byte " << byte << " of " << journal.size() << ", bit " << bit);
      std::string damaged = journal;
      damaged[byte] = static_cast<char>(damaged[byte] ^ (1 << bit));
      const Reading reading = Read(damaged);
      REQUIRE(absl::IsDataLoss(reading.status));
      // It says which record, and gives everything before it.
      const auto record = std::upper_bound(ends.begin(), ends.end(), byte) - ends.begin();
      REQUIRE(Message(reading.status).find("j: record " + std::to_string(record) + " at byte ") ==
              0);
      REQUIRE(static_cast<std::ptrdiff_t>(reading.entries.size()) ==
              std::max<std::ptrdiff_t>(record, 1) - 1);
    }
  }
}

TEST_CASE("Journal: a record that is lost, doubled or moved is noticed") {
  const std::string journal = RunAndRecord(3, 1).journal;
  const std::vector<std::size_t> ends = FrameEnds(journal);
  const auto frame = [&](std::size_t i) {
    return journal.substr(ends[i - 1], ends[i] - ends[i - 1]);
  };
  const std::string head = journal.substr(0, ends[0]), tail = journal.substr(ends[2]);
  REQUIRE(Read(head + frame(1) + frame(2) + tail).status.ok());
  CHECK(absl::IsDataLoss(Read(head + frame(2) + tail).status));
  CHECK(absl::IsDataLoss(Read(head + frame(2) + frame(1) + tail).status));
  CHECK(absl::IsDataLoss(Read(head + frame(1) + frame(1) + frame(2) + tail).status));
  CHECK(absl::IsDataLoss(Read(journal + frame(1)).status));
  CHECK(absl::IsDataLoss(Read(journal + "x").status));
}

TEST_CASE("Journal: what is no journal is called that") {
  CHECK(Message(Read("name: a simulation\ncluster: { nodes: 2 }\n").status) ==
        "j: record 0 at byte 0: damaged: length 110 is not what the record says of itself; or this "
        "is not a journal");
  std::string other;
  std::uint32_t crc = 0;
  AppendFrame("\x12\x00", crc, other);
  CHECK(Message(Read(other).status) == "j: record 0 at byte 0: not the header of a journal");
  const Reading empty = Read("");
  CHECK(empty.status.ok());
  CHECK_FALSE(empty.has_header);
}

TEST_CASE("Journal: a later format is refused with both versions") {
  const std::string later =
      Rewritten(RunAndRecord(3, 1).journal, [](std::size_t number, v1::JournalRecord& record) {
        if (number > 0) return;
        record.mutable_header()->set_format_version(2);
        record.mutable_header()->set_tool_version("9.0");
      });
  CHECK(Read(later).status == absl::UnimplementedError("j: record 0 at byte 0: format_version: 2, "
                                                       "written by tephra 9.0; expected 1"));
}

TEST_CASE("Journal: records in an order that no writer makes are refused") {
  const std::string journal = RunAndRecord(3, 1).journal;
  const auto without = [&](auto is_gone) {
    return Message(Read(Rewritten(journal, [&](std::size_t, v1::JournalRecord& record) {
                     if (is_gone(record)) record.Clear();
                   })).status);
  };
  const auto has = [](const std::string& text, const std::string& part) {
    INFO(text);
    return text.find(part) != std::string::npos;
  };
  CHECK(has(without([](auto& record) { return record.has_tick(); }), "a plan without a tick"));
  CHECK(has(without([](auto& record) { return record.content_case() == v1::JournalRecord::kPlan; }),
            "a tick without its plan"));
  CHECK(has(without([](auto& record) { return record.has_event(); }), "a "));
  CHECK(has(without([](auto& record) { return record.has_header(); }), "not the header"));
  bool first = true;
  CHECK(
      has(without([&](auto& record) { return record.has_event() && std::exchange(first, false); }),
          "end: records: "));
}

TEST_CASE("Journal: an event that cannot be read is named with its field") {
  const std::string journal =
      Rewritten(RunAndRecord(3, 1).journal, [](std::size_t number, v1::JournalRecord& record) {
        if (number == 1) record.mutable_event()->mutable_task_upserted();
      });
  const Reading reading = Read(journal);
  CHECK(absl::IsInvalidArgument(reading.status));
  CHECK(Message(reading.status).find("j: record 1 at byte ") == 0);
  CHECK(Message(reading.status).find("task_upserted.task: missing") != std::string::npos);
}

TEST_CASE("Journal: an event that no journal can hold is refused, and the next one is not") {
  Engine engine(DefaultAssembly());
  std::ostringstream out;
  JournalWriter writer(out, "j");
  JournaledEngine journaled(engine, &writer);
  NodeUpserted bad;
  bad.node.name = "n\xff";
  CHECK(absl::IsInvalidArgument(journaled.Apply(bad)));
  CHECK_FALSE(engine.state().books().hardware.Find("n\xff").valid());
  bad.node.name = "n";
  CHECK(journaled.Apply(bad).ok());
  REQUIRE(writer.Close().ok());
  CHECK(Read(out.str()).entries.size() == 1);
}

TEST_CASE("Journal: what killed the engine in its cycle is already written") {
  std::ostringstream out;
  JournalWriter writer(out, "j");
  REQUIRE(writer.Record(NodeRemoved{"n"}).ok());
  writer.RecordTick(5);
  const Reading reading = Read(out.str());  // as it is while the cycle runs
  REQUIRE(reading.entries.size() == 2);
  CHECK(std::get<JournalTick>(reading.entries[1]).now == 5);
}

// Takes so many bytes and no more.
class FullBuffer final : public std::streambuf {
 public:
  explicit FullBuffer(std::size_t room) : room_(room) {}
  const std::string& bytes() const { return bytes_; }

 private:
  std::streamsize xsputn(const char* bytes, std::streamsize size) override {
    const std::size_t taken = std::min(room_ - bytes_.size(), static_cast<std::size_t>(size));
    bytes_.append(bytes, taken);
    return static_cast<std::streamsize>(taken);
  }
  int_type overflow(int_type) override { return traits_type::eof(); }

  std::size_t room_;
  std::string bytes_;
};

TEST_CASE("Journal: a full disk is reported, nothing is written after it, and the rest is a cut") {
  for (std::size_t room : {0u, 10u, 40u, 60u, 100u}) {
    INFO("room for " << room << " bytes");
    FullBuffer buffer(room);
    std::ostream out(&buffer);
    JournalWriter writer(out, "j");
    for (int i = 0; i < 5; ++i) {
      REQUIRE(writer.Record(NodeRemoved{"node"}).ok());
      writer.RecordTick(i);
      writer.RecordPlan(Plan{}, Books{});
    }
    CHECK(absl::IsUnavailable(writer.status()));
    CHECK(absl::IsUnavailable(writer.Close()));
    const Reading reading = Read(buffer.bytes());
    CHECK(reading.status.ok());
    CHECK_FALSE(reading.closed);
    CHECK(reading.whole_bytes + reading.torn_bytes == buffer.bytes().size());
  }
}

TEST_CASE("Journal: a device without room, and a folder that is not there, say why") {
  auto full = JournalWriter::Create("/dev/full");
  REQUIRE(full.ok());
  CHECK((*full)->Close() ==
        absl::UnavailableError("journal /dev/full: cannot be written: No space left on device"));
  CHECK(JournalWriter::Create("/no/such/folder/j").status() ==
        absl::UnavailableError(
            "journal /no/such/folder/j: cannot be written: No such file or directory"));
}

TEST_CASE("Journal: a folder read as a journal is an error, not an empty journal") {
  std::ifstream in("/", std::ios::binary);
  JournalReader reader(in, "/");
  CHECK_FALSE(reader.Next().ok());
}

}  // namespace
}  // namespace tephra
