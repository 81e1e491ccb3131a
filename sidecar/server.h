// Server: the engine's service on its Unix socket, and, where asked for, its looking half on a
// loopback port. Both have gRPC health and reflection.
//
// Health of "" is that of the process. Health of "tephra.v1.EngineService" is SERVING while a
// scheduler is connected and its full sync has ended. One owner thread.
#pragma once

#include <memory>
#include <string>
#include <thread>

#include "base/socket.h"
#include "sidecar/service.h"

namespace grpc {
class Server;
}

namespace tephra {

// The most that the engine reads in one message; a client sends a larger sync in several.
constexpr int kMaxMessageBytes = 64 << 20;
// The most that it writes in one. It cuts a plan between two decisions (reply_split.h), so one decision of
// kMaxTasks placements has to fit.
constexpr int kMaxReplyBytes = 256 << 20;

struct ServerSettings {
  std::string socket;  // path
  std::string listen;  // "127.0.0.1:9101", empty for none

  bool operator==(const ServerSettings&) const = default;
};

class Server {
 public:
  // Both must outlive it. Errors are those of Socket::Listen; INVALID_ARGUMENT for an address that
  // is not of the loopback, UNAVAILABLE where it cannot be listened on.
  static absl::StatusOr<std::unique_ptr<Server>> Start(const ServerSettings& settings,
                                                       OwnerThread& owner, LiveEngine& engine);
  // Ends all calls, then returns.
  ~Server();

  // The port of `listen`; 0 where there is none.
  int port() const { return port_; }

 private:
  Server(std::unique_ptr<Socket> socket, OwnerThread& owner, LiveEngine& engine);
  absl::Status StartLooking(const std::string& address);
  void Accept();
  void SetHealth();

  OwnerThread& owner_;
  LiveEngine& engine_;
  EngineService service_;
  LookService look_service_;
  std::unique_ptr<Socket> socket_;
  std::unique_ptr<grpc::Server> server_, look_server_;
  int port_ = 0;
  bool healthy_ = false;  // as last set; the owner thread's
  std::thread accepting_;
};

// Whether it is "HOST:PORT"; and whether with a HOST that only this machine can reach.
bool IsAddress(const std::string& address);
bool IsLoopback(const std::string& address);

}  // namespace tephra
