#include "sidecar/client/engine_client.h"

#include <chrono>
#include <filesystem>

#include <CLI/CLI.hpp>
#include <grpcpp/grpcpp.h>

#include "tephra/v1/service.grpc.pb.h"

namespace tephra {
namespace {

constexpr char kDefaultSocket[] = "/run/tephra/engine.sock";
// An engine answers between two cycles, and a cycle takes less than a second.
constexpr std::chrono::seconds kPatience(10);

std::string Shown(const EngineAddress& engine) {
  return engine.address.empty() ? engine.socket : engine.address;
}

std::shared_ptr<grpc::Channel> Connect(const EngineAddress& engine) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);  // a large cluster is a large answer
  // A proxy of the environment is for the world outside.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  const std::string target = engine.address.empty()
                                 ? "unix:" + std::filesystem::absolute(engine.socket).string()
                                 : engine.address;
  return grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(), arguments);
}

}  // namespace

struct EngineClient::Connection {
  EngineAddress engine;
  std::unique_ptr<v1::EngineService::Stub> stub;

  template <class Call>
  absl::Status Ask(Call call) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kPatience);
    const grpc::Status status = call(context);
    if (status.ok()) return absl::OkStatus();
    const auto code = static_cast<absl::StatusCode>(status.error_code());
    if (code != absl::StatusCode::kUnavailable) return absl::Status(code, status.error_message());
    return absl::UnavailableError(
        "no engine answers at " + Shown(engine) + " (" + status.error_message() +
        "). Is tephra-engine running? --socket or $TEPHRA_SOCKET sets the path of its socket, which "
        "only the engine's user may open. --address sets its port, if the engine was started with "
        "--listen. In a cluster, use kubectl exec into its pod");
  }
};

void AddEngineOptions(CLI::App& command, EngineAddress& engine) {
  engine.socket = kDefaultSocket;
  CLI::Option* socket = command.add_option("--socket", engine.socket, "socket of the engine")
                            ->envname("TEPHRA_SOCKET")
                            ->capture_default_str();
  command
      .add_option("--address", engine.address,
                  "HOST:PORT of an engine that was started with --listen, instead of a socket")
      ->excludes(socket);
}

EngineClient::EngineClient(const EngineAddress& engine)
    : connection_(new Connection{engine, v1::EngineService::NewStub(Connect(engine))}) {}

EngineClient::~EngineClient() = default;

absl::Status EngineClient::Explain(const std::string& job, v1::ExplainReply* out) {
  v1::ExplainRequest request;
  request.set_job(job);
  return connection_->Ask([&](grpc::ClientContext& context) {
    return connection_->stub->Explain(&context, request, out);
  });
}

absl::Status EngineClient::GetState(bool everything, v1::GetStateReply* out) {
  v1::GetStateRequest request;
  request.set_everything(everything);
  return connection_->Ask([&](grpc::ClientContext& context) {
    return connection_->stub->GetState(&context, request, out);
  });
}

}  // namespace tephra
