// JournalWriter: records what enters and leaves one engine, so that `tephra replay` can do all of
// it again.
//
// What enters is recorded before the engine sees it, and a tick is handed to the system before its
// cycle begins: where the engine dies, the journal ends with what killed it. One owner thread.
#pragma once

#include <cstdint>
#include <fstream>
#include <memory>
#include <ostream>
#include <string>

#include "engine/event.h"
#include "engine/plan.h"
#include "engine/snapshot.h"
#include "topology/base/status.h"

namespace tephra {

class JournalWriter {
 public:
  // Creates the file, or empties it. UNAVAILABLE names it and says why it cannot be written.
  static absl::StatusOr<std::unique_ptr<JournalWriter>> Create(const std::string& path);
  // The stream must outlive the writer; `name` is what errors call it.
  JournalWriter(std::ostream& out, std::string name);
  ~JournalWriter();

  // INVALID_ARGUMENT, with the field: the event cannot be written (see EncodeEvent) and was not
  // recorded; it must not be applied.
  absl::Status Record(const Event& event);
  // The engine refused the event recorded last.
  void RecordRefusal(const absl::Status& why);
  void RecordTick(TimeMs now);
  // The plan that the tick recorded last led to. REQUIRES: as of EncodePlan.
  void RecordPlan(const Plan& plan, const Books& books);

  // Marks the journal as whole; nothing can be recorded after. Not OK: what was written so far is
  // a journal that was cut.
  absl::Status Close();
  // The first failure to write; nothing is written after it.
  const absl::Status& status() const { return status_; }
  // Size of the journal so far, what is still in memory included.
  std::uint64_t bytes() const { return bytes_; }
  const std::string& name() const { return name_; }

 private:
  struct Scratch;

  void Append();
  void Flush();

  std::ofstream file_;  // where Create opened one
  std::ostream& out_;
  std::string name_;
  std::unique_ptr<Scratch> scratch_;
  std::string buffer_;
  std::uint32_t crc_ = 0;
  std::uint64_t records_ = 0;
  std::uint64_t bytes_ = 0;
  absl::Status status_;

  JournalWriter(std::ofstream file, std::string name);
  void Begin();
};

}  // namespace tephra
