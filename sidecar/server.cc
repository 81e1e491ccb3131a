#include "sidecar/server.h"

#include <chrono>

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/server_posix.h>

#include "base/log.h"

namespace tephra {
namespace {

// Calls that look are over in milliseconds; the stream is cut.
constexpr std::chrono::milliseconds kGrace(200);

constexpr int kPingEveryMs = 4000;
constexpr int kPingTimeoutMs = 4000;

std::unique_ptr<grpc::Server> Build(grpc::Service& service, const std::string& address, int* port) {
  static const bool once = [] {
    grpc::EnableDefaultHealthCheckService(true);
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    return true;
  }();
  static_cast<void>(once);
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
  builder.SetMaxSendMessageSize(kMaxReplyBytes);
  // A scheduler that is paused or hangs answers no pings. Its connection is closed, so that the stream is free.
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kPingEveryMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kPingTimeoutMs);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  // Two servers must not share a port without knowing it.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  if (!address.empty()) {
    builder.AddListeningPort(address, grpc::InsecureServerCredentials(), port);
  }
  builder.RegisterService(&service);
  return builder.BuildAndStart();
}

}  // namespace

bool IsAddress(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon == 0) return false;
  const std::string port = address.substr(colon + 1);
  return !port.empty() && port.size() <= 5 &&
         port.find_first_not_of("0123456789") == std::string::npos && std::stoi(port) <= 65535;
}

bool IsLoopback(const std::string& address) {
  if (!IsAddress(address)) return false;
  const std::string host = address.substr(0, address.rfind(':'));
  return host == "127.0.0.1" || host == "[::1]" || host == "localhost";
}

Server::Server(std::unique_ptr<Socket> socket, OwnerThread& owner, LiveEngine& engine)
    : owner_(owner),
      engine_(engine),
      service_(owner, engine, [this] { SetHealth(); }),
      look_service_(owner, engine),
      socket_(std::move(socket)) {}

absl::StatusOr<std::unique_ptr<Server>> Server::Start(const ServerSettings& settings,
                                                      OwnerThread& owner, LiveEngine& engine) {
  TEPHRA_ASSIGN_OR_RETURN(std::unique_ptr<Socket> socket, Socket::Listen(settings.socket));
  std::unique_ptr<Server> server(new Server(std::move(socket), owner, engine));
  server->server_ = Build(server->service_, "", nullptr);
  if (server->server_ == nullptr) return absl::UnavailableError("gRPC: the server did not start");
  if (!settings.listen.empty()) TEPHRA_RETURN_IF_ERROR(server->StartLooking(settings.listen));
  owner.Run([&] {
    server->healthy_ = !engine.ready();
    server->SetHealth();
  });
  server->accepting_ = std::thread([to = server.get()] { to->Accept(); });
  return server;
}

absl::Status Server::StartLooking(const std::string& address) {
  if (!IsLoopback(address)) {
    return absl::InvalidArgumentError("listen: \"" + address +
                                      "\", expected 127.0.0.1:PORT or another loopback address");
  }
  look_server_ = Build(look_service_, address, &port_);
  if (look_server_ == nullptr || port_ == 0) {
    return absl::UnavailableError("listen: \"" + address + "\": cannot be listened on");
  }
  return absl::OkStatus();
}

Server::~Server() {
  socket_->Close();
  if (accepting_.joinable()) accepting_.join();
  const auto deadline = std::chrono::system_clock::now() + kGrace;
  for (grpc::Server* server : {server_.get(), look_server_.get()}) {
    if (server == nullptr) continue;
    server->Shutdown(deadline);
    server->Wait();
  }
  owner_.Run([] {});  // what the ended calls left to do
}

void Server::Accept() {
  while (true) {
    Descriptor peer = socket_->Accept();
    if (!peer.valid()) return;
    grpc::AddInsecureChannelFromFd(server_.get(), peer.Release());
  }
}

void Server::SetHealth() {
  const bool healthy = engine_.ready();
  if (healthy == healthy_) return;
  healthy_ = healthy;
  for (grpc::Server* server : {server_.get(), look_server_.get()}) {
    if (server == nullptr) continue;
    server->GetHealthCheckService()->SetServingStatus(v1::EngineService::service_full_name(),
                                                      healthy);
  }
}

}  // namespace tephra
