#include "base/log.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <memory>

#include <nlohmann/json.hpp>
#include <spdlog/fmt/chrono.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace tephra {
namespace {

std::atomic<LogFormat> format = LogFormat::kText;

spdlog::level::level_enum LevelOf(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

std::string Now() {
  const auto now = std::chrono::system_clock::now();
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch());
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(now)), ms.count() % 1000);
}

// A number with three decimals is enough for a log.
double Rounded(double value) { return std::round(value * 1000) / 1000; }

constexpr auto kLenient = nlohmann::ordered_json::error_handler_t::replace;

std::string ValueText(const LogField& field) {
  if (const auto* whole = std::get_if<std::int64_t>(&field.value)) return std::to_string(*whole);
  if (const auto* real = std::get_if<double>(&field.value)) {
    return fmt::format("{}", Rounded(*real));
  }
  const auto& text = std::get<std::string>(field.value);
  const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return c > ' ' && c < 0x7f && c != '"' && c != '=' && c != '\\';
  });
  // Quoted as JSON does it: one line, whatever is in it.
  return plain ? text : nlohmann::ordered_json(text).dump(-1, ' ', false, kLenient);
}

std::string TextLine(LogLevel level, const char* what, std::initializer_list<LogField> fields) {
  std::string line =
      fmt::format("{} {:<7} {}", Now(), kLogLevelWords[static_cast<int>(level)], what);
  for (const LogField& field : fields) line += fmt::format(" {}={}", field.key, ValueText(field));
  return line;
}

std::string JsonLine(LogLevel level, const char* what, std::initializer_list<LogField> fields) {
  nlohmann::ordered_json line = {
      {"time", Now()}, {"level", kLogLevelWords[static_cast<int>(level)]}, {"message", what}};
  for (const LogField& field : fields) {
    std::visit([&](const auto& value) { line[field.key] = value; }, field.value);
  }
  return line.dump(-1, ' ', false, kLenient);
}

}  // namespace

void SetUpLog(const LogSettings& settings) {
  static const bool once = [] {
    spdlog::set_default_logger(
        std::make_shared<spdlog::logger>("", std::make_shared<spdlog::sinks::stderr_sink_mt>()));
    spdlog::set_pattern("%v");
    spdlog::flush_on(spdlog::level::debug);
    return true;
  }();
  static_cast<void>(once);
  format = settings.format;
  spdlog::set_level(LevelOf(settings.level));
}

void Log(LogLevel level, const char* what, std::initializer_list<LogField> fields) {
  if (!spdlog::should_log(LevelOf(level))) return;
  spdlog::log(
      LevelOf(level), "{}",
      format == LogFormat::kJson ? JsonLine(level, what, fields) : TextLine(level, what, fields));
}

}  // namespace tephra
