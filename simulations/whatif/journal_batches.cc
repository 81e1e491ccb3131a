#include "simulations/whatif/journal_batches.h"

#include <cerrno>
#include <cstring>
#include <utility>

namespace tephra {

absl::StatusOr<std::unique_ptr<JournalBatches>> JournalBatches::Open(const std::string& path) {
  errno = 0;
  auto batches = std::unique_ptr<JournalBatches>(new JournalBatches(path));
  if (batches->file_) return batches;
  return absl::InvalidArgumentError(path + ": cannot read the file: " + std::strerror(errno));
}

absl::StatusOr<std::optional<JournalBatch>> JournalBatches::Next() {
  JournalBatch batch;
  bool any = false;
  while (true) {
    TEPHRA_ASSIGN_OR_RETURN(std::optional<JournalEntry> entry, reader_.Next());
    if (!entry.has_value()) break;
    any = true;
    if (Event* event = std::get_if<Event>(&*entry)) {
      batch.events.push_back(std::move(*event));
    } else if (std::holds_alternative<JournalRefusal>(*entry)) {
      batch.events.pop_back();
    } else if (const auto* tick = std::get_if<JournalTick>(&*entry)) {
      batch.tick = tick->now;
    } else {
      batch.plan = std::move(std::get<JournalPlan>(*entry).bytes);
      return batch;
    }
  }
  if (!reader_.has_header()) {
    return absl::DataLossError(reader_.Where() + ": the file ends inside the journal header");
  }
  if (!any) return std::nullopt;
  return batch;
}

}  // namespace tephra
