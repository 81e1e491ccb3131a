// Metrics: figures about the engine in Prometheus' words. docs/reference/engine.md lists them.
//
// Any thread may count; a scrape never waits for the engine.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "engine/event.h"
#include "engine/plan.h"
#include "engine/snapshot.h"
#include "topology/base/status.h"

namespace tephra {

class HttpServer;

class Metrics {
 public:
  Metrics();
  ~Metrics();

  // Serves /metrics, /healthz (the process answers) and /readyz (a scheduler is connected and its
  // full sync has ended) on "127.0.0.1:9102". Errors name the address; see HttpServer::Start.
  // REQUIRES: SetHealth is called before, if at all.
  absl::Status Serve(const std::string& address);
  // Serves /healthz and /readyz on an address of their own, so that probes pass whatever clients
  // of the metrics do.
  absl::Status ServeProbes(const std::string& address);
  // What makes /healthz fail from now on: the text says why; empty: nothing. It must not wait.
  void SetHealth(std::function<std::string()> unhealthy);
  // Of Serve; 0 before it.
  int port() const;
  // What a scrape would read.
  std::string Text() const;

  void FactTaken(const Event& event);
  void FactRefused();
  // One cycle ended; `books` are as they stand after it.
  void CycleEnded(double seconds, const Plan& plan, const Books& books);
  void Resync(const char* why);
  void Synced(bool synced);
  // No scheduler is connected: what was last known of the cluster is taken away, so that a sum over pods counts the
  // cluster once after another scheduler took over. Counters stay.
  void Disconnected();
  void JournalGrew(std::uint64_t bytes);
  void JournalFailed();
  void ConfigRead(bool good);

 private:
  struct Families;
  std::unique_ptr<Families> families_;
  void HandleProbes(HttpServer& server);

  std::function<std::string()> unhealthy_;
  std::unique_ptr<HttpServer> server_, probes_;  // they read the rest, so they end before it
};

}  // namespace tephra
