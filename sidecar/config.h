// Config: the file that tephra-engine is started with. docs/reference/engine.md describes it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "engine/config.h"
#include "sidecar/journal_segments.h"
#include "sidecar/server.h"
#include "topology/base/status.h"

namespace tephra {

struct Config {
  EngineConfig engine;
  LogSettings log;
  std::optional<JournalSettings> journal;
  std::string metrics_listen;  // "127.0.0.1:9102", empty for none
  std::string probes_listen;   // "127.0.0.1:9103", empty: probes are beside the metrics alone
  int wedged_after_s = 600;    // /healthz fails if the engine computes one thing for longer
  ServerSettings server{"/run/tephra/engine.sock", ""};

  bool operator==(const Config&) const = default;
};

// INVALID_ARGUMENT "file:line: key: value, expected ..." for the first thing that is wrong: an
// unknown key, a value of the wrong kind or out of range, an engine setting that this build does
// not know. NOT_FOUND where there is no file.
absl::StatusOr<Config> LoadConfig(const std::string& path);
absl::StatusOr<Config> ParseConfig(const std::string& path, const std::string& text);

// The keys that differ and that a running engine does not take over: they need a restart.
std::vector<std::string> NeedRestart(const Config& from, const Config& to);

}  // namespace tephra
