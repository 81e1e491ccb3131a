// Metrics: figures about the engine in Prometheus' words. docs/engine.md lists them.
//
// Any thread may count; a scrape never waits for the engine.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "plugins/framework/event.h"
#include "plugins/framework/plan.h"
#include "plugins/framework/snapshot.h"
#include "topology/base/status.h"

namespace tephra {

class Metrics {
 public:
  Metrics();
  ~Metrics();

  // Serves /metrics on "127.0.0.1:9102". UNAVAILABLE names the address and says why not.
  absl::Status Serve(const std::string& address);
  // What a scrape would read.
  std::string Text() const;

  void FactTaken(const Event& event);
  void FactRefused();
  // One cycle ended; `books` are as they stand after it.
  void CycleEnded(double seconds, const Plan& plan, const Books& books);
  void Resync(const char* why);
  void Synced(bool synced);
  void JournalGrew(std::uint64_t bytes);
  void JournalFailed();
  void ConfigRead(bool good);

 private:
  struct Families;
  std::unique_ptr<Families> families_;
};

}  // namespace tephra
