// A kubelet of which only the registration is real: it counts, and watches when the test wants.
#include "plugins/node/kubelet/registration.h"

#include <chrono>
#include <thread>

#include <catch2/catch.hpp>
#include <grpcpp/grpcpp.h>

#include "kubelet/device_plugin.grpc.pb.h"
#include "tests/support/scratch_folder.h"

namespace tephra::node {
namespace {

class Kubelet final : public v1beta1::Registration::Service {
 public:
  explicit Kubelet(const std::string& folder) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + folder + "/kubelet.sock", grpc::InsecureServerCredentials());
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~Kubelet() override { server_->Shutdown(); }

  grpc::Status Register(grpc::ServerContext*, const v1beta1::RegisterRequest*,
                        v1beta1::Empty*) override {
    ++times;
    return grpc::Status::OK;
  }

  std::atomic<int> times = 0;

 private:
  std::unique_ptr<grpc::Server> server_;
};

// False: it did not come true within half a minute.
bool Comes(const std::function<bool()>& true_now) {
  for (int i = 0; i < 3000; ++i) {
    if (true_now()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

TEST_CASE("Registration: a kubelet that took it and does not watch is asked again until it does") {
  const ScratchFolder folder;
  Kubelet kubelet(folder.path());
  DevicePlugin plugin({.mint = nullptr,
                       .pre_start = nullptr,
                       .watch_ended = [] {},
                       .allocated = nullptr,
                       .pre_started = nullptr});
  Registration registration({folder.path(), "tephra.sh/gpu-slot", "tephra.sock"}, plugin, [] {});
  REQUIRE(Comes([&] { return kubelet.times >= 2; }));

  const auto channel = grpc::CreateChannel("unix:" + folder.path() + "/tephra.sock",
                                           grpc::InsecureChannelCredentials());
  grpc::ClientContext context;
  const auto watch = v1beta1::DevicePlugin::NewStub(channel)->ListAndWatch(&context, {});
  v1beta1::ListAndWatchResponse list;
  REQUIRE(watch->Read(&list));
  REQUIRE(plugin.watchers() == 1);
  const int watched = kubelet.times;
  std::this_thread::sleep_for(std::chrono::milliseconds(2500));
  CHECK(kubelet.times <= watched + 1);  // one may have been on its way
  context.TryCancel();
}

}  // namespace
}  // namespace tephra::node
