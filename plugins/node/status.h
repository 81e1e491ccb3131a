// Status: what a running tephra-node says of itself on a Unix socket, one JSON object for each that
// connects, and the command that shows it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "plugins/node/binding/late_binding.h"
#include "sidecar/socket.h"
#include "topology/base/status.h"

namespace tephra::node {

struct StatusFacts {
  bool registered = false;
  int registrations = 0, watchers = 0;
  std::size_t pods = 0;
  int lists = 0;
  std::string api_fault;
  CallFigures calls;
  Gpus gpus;
  std::map<std::string, Holding> holdings;
  std::set<std::string> orphans;  // nonces of those whose pod is known to be over
  WaitFigures waits;
};

std::string FormatStatus(const StatusFacts& facts);
// The same for people: a line for each GPU, and below it who holds what of it.
absl::StatusOr<std::string> StatusText(const std::string& json);

class StatusServer {
 public:
  // Listens at the path, for processes of its own user.
  static absl::StatusOr<std::unique_ptr<StatusServer>> Start(const std::string& path,
                                                             std::function<std::string()> say);
  ~StatusServer();

 private:
  StatusServer(std::unique_ptr<Socket> socket, std::function<std::string()> say);

  std::unique_ptr<Socket> socket_;
  std::thread thread_;
};

// What the one that listens at the path says. UNAVAILABLE: nobody does.
absl::StatusOr<std::string> AskStatus(const std::string& path);

}  // namespace tephra::node
