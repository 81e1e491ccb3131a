// A server of this process, on a socket in a folder that goes with it.
#pragma once

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "base/log.h"
#include "sidecar/server.h"
#include "tests/support/scratch_folder.h"

namespace tephra {

class RunningServer {
 public:
  explicit RunningServer(EngineConfig config = {}, std::optional<JournalSettings> journal = {},
                         std::string listen = "")
      : live(std::move(config), std::move(journal), metrics, 41) {
    SetUpLog({LogLevel::kError});
    auto started = Server::Start({socket(), std::move(listen)}, owner, live);
    if (!started.ok()) throw std::runtime_error(started.status().ToString());
    server = *std::move(started);
  }

  std::string socket() const { return folder.path() + "/engine.sock"; }

  ScratchFolder folder;
  Metrics metrics;
  OwnerThread owner;
  LiveEngine live;
  std::unique_ptr<Server> server;
};

}  // namespace tephra
