#include "sidecar/journal_segments.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <vector>

#include <spdlog/fmt/fmt.h>

namespace tephra {
namespace {

namespace fs = std::filesystem;

constexpr char kPrefix[] = "tephra-";
constexpr char kSuffix[] = ".journal";

// Names sort as the times do.
std::string NameFor(std::chrono::system_clock::time_point time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch());
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y%m%dT%H%M%S", &utc);
  return fmt::format("{}{}.{:03}Z{}", kPrefix, text, ms.count() % 1000, kSuffix);
}

bool IsSegment(const std::string& name) {
  return name.starts_with(kPrefix) && name.ends_with(kSuffix);
}

}  // namespace

absl::StatusOr<std::unique_ptr<JournalWriter>> JournalSegments::Begin() {
  std::error_code error;
  fs::create_directories(settings_.directory, error);
  if (error) {
    return absl::UnavailableError("journal directory " + settings_.directory +
                                  ": cannot be made: " + error.message());
  }
  auto time = std::chrono::system_clock::now();
  fs::path path;
  do {
    path = fs::path(settings_.directory) / NameFor(time);
    time += std::chrono::milliseconds(1);
  } while (fs::exists(path, error));
  TEPHRA_ASSIGN_OR_RETURN(std::unique_ptr<JournalWriter> segment,
                          JournalWriter::Create(path.string()));
  DropOldest();
  return segment;
}

void JournalSegments::DropOldest() const {
  std::vector<fs::path> found;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(settings_.directory, error)) {
    if (IsSegment(entry.path().filename().string())) found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  const auto kept = static_cast<std::size_t>(settings_.segments);
  for (std::size_t i = 0; i + kept < found.size(); ++i) fs::remove(found[i], error);
}

bool JournalSegments::RoomAgain() const {
  std::error_code error;
  const fs::space_info space = fs::space(settings_.directory, error);
  return !error && space.available >= settings_.segment_bytes;
}

}  // namespace tephra
