// Log lines with named values, as text ("synced epoch=7 nodes=500") or one JSON object a line, on
// stderr. Any thread.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <variant>

namespace tephra {

enum class LogLevel : std::uint8_t { kDebug, kInfo, kWarning, kError };
enum class LogFormat : std::uint8_t { kText, kJson };

struct LogSettings {
  LogLevel level = LogLevel::kInfo;
  LogFormat format = LogFormat::kText;

  bool operator==(const LogSettings&) const = default;
};

// The words of the configuration, in the order of the enums.
inline constexpr const char* kLogLevelWords[] = {"debug", "info", "warning", "error"};
inline constexpr const char* kLogFormatWords[] = {"text", "json"};

// May be called again, when the settings change.
void SetUpLog(const LogSettings& settings);

struct LogField {
  const char* key;
  std::variant<std::int64_t, double, std::string> value;

  template <class Value>
  LogField(const char* k, const Value& v) : key(k), value(Held(v)) {}

 private:
  static std::int64_t Held(bool v) { return v ? 1 : 0; }
  template <class Number>
  static auto Held(const Number& v) {
    if constexpr (std::is_integral_v<Number>) {
      return static_cast<std::int64_t>(v);
    } else if constexpr (std::is_floating_point_v<Number>) {
      return static_cast<double>(v);
    } else {
      return std::string(v);
    }
  }
};

// `what` is a fixed sentence, so that lines of one kind can be found; all that varies is a field.
void Log(LogLevel level, const char* what, std::initializer_list<LogField> fields = {});

inline void LogInfo(const char* what, std::initializer_list<LogField> fields = {}) {
  Log(LogLevel::kInfo, what, fields);
}
inline void LogWarning(const char* what, std::initializer_list<LogField> fields = {}) {
  Log(LogLevel::kWarning, what, fields);
}
inline void LogError(const char* what, std::initializer_list<LogField> fields = {}) {
  Log(LogLevel::kError, what, fields);
}

}  // namespace tephra
