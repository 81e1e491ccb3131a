#include "sidecar/config.h"

#include <iterator>
#include <limits>
#include <utility>

#include "base/fields.h"
#include "plugins/registry.h"
#include "settings/read.h"

namespace tephra {
namespace {

constexpr std::int64_t kLeastSegment = 64 << 10;

EngineConfig ReadEngine(const Item& item) {
  EngineConfig config;
  Fields fields(item);
  ReadSettings(fields, config);
  fields.Done();
  if (item.wrong->ok()) item.wrong->Wrong(item.node->line, DefaultAssembly().validate(config));
  return config;
}

LogSettings ReadLog(const Item& item) {
  LogSettings log;
  int level = static_cast<int>(log.level), format = static_cast<int>(log.format);
  Fields fields(item);
  fields.OneOf("level", {std::begin(kLogLevelWords), std::end(kLogLevelWords)}, level);
  fields.OneOf("format", {std::begin(kLogFormatWords), std::end(kLogFormatWords)}, format);
  fields.Done();
  log.level = static_cast<LogLevel>(level);
  log.format = static_cast<LogFormat>(format);
  return log;
}

JournalSettings ReadJournal(const Item& item) {
  JournalSettings journal;
  auto size = static_cast<std::int64_t>(journal.segment_bytes);
  Fields fields(item);
  fields.Need("directory");
  fields.Text("directory", journal.directory);
  const Item segment = fields.At("segment_size");
  if (segment.node != nullptr && ReadQuantity(segment, size, 1) && size < kLeastSegment) {
    segment.Wrong("a size of at least 64Ki");
  }
  fields.Whole("segments", journal.segments, 1, 10000);
  fields.Done();
  journal.segment_bytes = static_cast<std::uint64_t>(size);
  return journal;
}

// An address that only this machine can reach.
void ReadLoopback(const Item& item, std::string& out) {
  if (item.node == nullptr || !ReadText(item, out)) return;
  if (!IsLoopback(out)) item.Wrong("127.0.0.1:PORT or another loopback address");
}

// Any address: a scraper and the kubelet come from outside.
void ReadListen(Fields& fields, std::string& out) {
  const Item at = fields.Need("listen");
  if (at.node != nullptr && ReadText(at, out) && !IsAddress(out)) {
    at.Wrong("HOST:PORT such as 127.0.0.1:9102 or 0.0.0.0:9102");
  }
}

void ReadMetrics(const Item& item, Config& config) {
  Fields fields(item);
  ReadListen(fields, config.metrics_listen);
  fields.Done();
}

void ReadProbes(const Item& item, Config& config) {
  Fields fields(item);
  ReadListen(fields, config.probes_listen);
  fields.Whole("wedged_after_s", config.wedged_after_s, 1, 86400);
  fields.Done();
}

Config ReadAll(const Item& root) {
  Config config;
  Fields top(root);
  const Item engine = top.At("engine"), log = top.At("log"), journal = top.At("journal"),
             metrics = top.At("metrics"), probes = top.At("probes");
  if (engine.node != nullptr) config.engine = ReadEngine(engine);
  if (log.node != nullptr) config.log = ReadLog(log);
  if (journal.node != nullptr) config.journal = ReadJournal(journal);
  if (metrics.node != nullptr) ReadMetrics(metrics, config);
  if (probes.node != nullptr) ReadProbes(probes, config);
  top.Text("socket", config.server.socket);
  ReadLoopback(top.At("listen"), config.server.listen);
  top.Done();
  return config;
}

absl::StatusOr<Config> Read(const std::string& path, const absl::StatusOr<Yaml::Ptr>& document) {
  TEPHRA_RETURN_IF_ERROR(document.status());
  Diagnosis wrong(path);
  Config config = ReadAll({document->get(), "", &wrong});
  if (!wrong.ok()) return wrong.status();
  return config;
}

}  // namespace

absl::StatusOr<Config> LoadConfig(const std::string& path) { return Read(path, ReadYaml(path)); }

absl::StatusOr<Config> ParseConfig(const std::string& path, const std::string& text) {
  return Read(path, ParseYaml(path, text));
}

std::vector<std::string> NeedRestart(const Config& from, const Config& to) {
  std::vector<std::string> keys;
  if (from.journal != to.journal) keys.push_back("journal");
  if (from.metrics_listen != to.metrics_listen) keys.push_back("metrics.listen");
  if (from.probes_listen != to.probes_listen) keys.push_back("probes.listen");
  if (from.wedged_after_s != to.wedged_after_s) keys.push_back("probes.wedged_after_s");
  if (from.server.socket != to.server.socket) keys.push_back("socket");
  if (from.server.listen != to.server.listen) keys.push_back("listen");
  return keys;
}

}  // namespace tephra
