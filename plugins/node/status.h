// Status: what a running tephra-node reports about itself, as one JSON object for each connection to
// its Unix socket, and the command `tephra-node status` that shows it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "base/socket.h"
#include "plugins/node/binding/late_binding.h"
#include "plugins/node/problems.h"
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
  std::set<std::string> orphans;  // nonces of containers that have outlived their pods
  WaitFigures waits;
  std::vector<Problem> problems;
};

std::string FormatStatus(const StatusFacts& facts);
// The same as text for people: a line for each GPU, and below it a line for each slice.
absl::StatusOr<std::string> StatusText(const std::string& json);

class StatusServer {
 public:
  // Listens at the path, for processes of the same user.
  static absl::StatusOr<std::unique_ptr<StatusServer>> Start(const std::string& path,
                                                             std::function<std::string()> say);
  ~StatusServer();

 private:
  StatusServer(std::unique_ptr<Socket> socket, std::function<std::string()> say);

  std::unique_ptr<Socket> socket_;
  std::thread thread_;
};

// Asks the process that listens at the path. UNAVAILABLE: there is none.
absl::StatusOr<std::string> ReadStatus(const std::string& path);

}  // namespace tephra::node
