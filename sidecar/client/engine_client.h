// EngineClient reads the state of a running tephra-engine. Any thread.
#pragma once

#include <memory>
#include <string>

#include "topology/base/status.h"

namespace CLI {
class App;
}

namespace tephra {

namespace v1 {
class ExplainReply;
class GetStateReply;
}  // namespace v1

// Where an engine is: a loopback address if there is one, else a socket.
struct EngineAddress {
  std::string socket;
  std::string address;
};

// Adds --socket (by default $TEPHRA_SOCKET, else /run/tephra/engine.sock) and --address.
void AddEngineOptions(CLI::App& command, EngineAddress& engine);

class EngineClient {
 public:
  explicit EngineClient(const EngineAddress& engine);
  ~EngineClient();

  // UNAVAILABLE: no engine is there; the message says what to try. Other errors come from the
  // engine.
  absl::Status Explain(const std::string& job, v1::ExplainReply* out);
  absl::Status GetState(bool everything, v1::GetStateReply* out);

 private:
  struct Connection;
  std::unique_ptr<Connection> connection_;
};

}  // namespace tephra
