#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/text_file.h"
#include "simulations/traces/alea.h"
#include "simulations/traces/trace_row.h"

namespace tephra {
namespace {

// Calls `read` with each row; a missing file has no rows.
absl::Status ForEachRow(const std::string& path, std::vector<std::string> names,
                        const std::function<bool(TraceRow&)>& read) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return absl::OkStatus();
  TEPHRA_ASSIGN_OR_RETURN(LineReader lines, LineReader::Open(path));
  TraceRow row(std::move(names), ' ');
  std::string text;
  while (true) {
    TEPHRA_ASSIGN_OR_RETURN(const bool more, lines.Next(text));
    if (!more) return absl::OkStatus();
    if (text.empty() || text[0] == ';') continue;
    if (!row.Cut(text, lines.line()) || !read(row)) return FaultStatus(path, row.fault());
  }
}

// Field 0 is a unique number, field 1 its name.
AleaQuota* Enter(TraceRow& row, std::map<std::int64_t, AleaQuota>& table) {
  std::int64_t id = 0;
  if (!row.Whole(0, 0, TraceRow::kMostWhole, id)) return nullptr;
  const auto [place, fresh] = table.try_emplace(id);
  if (!fresh) row.Wrong(TraceFaultKind::kOutOfRange, 0, "a unique number");
  return fresh && row.Name(1, place->second.name) ? &place->second : nullptr;
}

bool Amount(TraceRow& row, std::size_t field, std::int64_t& out) {
  return row.Whole(field, 0, TraceRow::kMostWhole, out);
}

}  // namespace

absl::StatusOr<AleaTables> ReadAleaTables(const std::string& trace) {
  AleaTables tables;
  TEPHRA_RETURN_IF_ERROR(ForEachRow(
      trace + ".queues", {"id", "queue_name", "CPU_quota", "priority"}, [&](TraceRow& row) {
        AleaQuota* const queue = Enter(row, tables.queues);
        return queue != nullptr && Amount(row, 2, queue->cpu_quota) &&
               Amount(row, 3, queue->priority);
      }));
  for (const auto& [suffix, table] :
       {std::pair{".groups", &tables.groups}, std::pair{".users", &tables.users}}) {
    TEPHRA_RETURN_IF_ERROR(ForEachRow(
        trace + suffix, {"id", "name", "shares", "CPU_quota"}, [table = table](TraceRow& row) {
          AleaQuota* const holder = Enter(row, *table);
          return holder != nullptr && Amount(row, 2, holder->shares) &&
                 Amount(row, 3, holder->cpu_quota);
        }));
  }
  TEPHRA_RETURN_IF_ERROR(
      ForEachRow(trace + ".machines",
                 {"cl_id", "name", "nodes", "CPUs", "speed", "GB_RAM", "properties", "GPUs"},
                 [&](TraceRow& row) {
                   MachinePart& part = tables.machine.parts.emplace_back();
                   std::int64_t cpus = 0, gpus = 0;
                   if (!Amount(row, 2, part.tasks) || !Amount(row, 3, cpus) ||
                       !row.Name(6, part.name) || !Amount(row, 7, gpus)) {
                     return false;
                   }
                   part.cpus = part.tasks * cpus;
                   part.gpus = part.tasks * gpus;
                   return true;
                 }));
  return tables;
}

}  // namespace tephra
