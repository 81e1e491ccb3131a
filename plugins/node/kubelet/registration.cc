#include "plugins/node/kubelet/registration.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include <grpcpp/grpcpp.h>
#include <grpcpp/server_posix.h>

#include "base/log.h"
#include "kubelet/device_plugin.grpc.pb.h"

namespace tephra::node {
namespace {

constexpr const char* kKubeletSocket = "kubelet.sock";
constexpr const char* kCheckpointFile = "kubelet_internal_checkpoint";
constexpr std::chrono::seconds kCallOneself(5);
// The kubelet dials back for up to 10 s within the call.
constexpr std::chrono::seconds kRegister(15);
// A kubelet that starts fails pods that it admits before we are back, some 100 ms after it made its
// socket.
constexpr int kFirstWaitMs = 25, kLongestWaitMs = 5000;
// So that a start-up of the kubelet, which removes sockets and makes its own, is one event.
constexpr int kGatherMs = 20;
constexpr int kUnwatchedMs = 1000;  // that the kubelet may take to watch once it has registered us

std::shared_ptr<grpc::Channel> Dial(const std::string& path) {
  grpc::ChannelArguments arguments;
  // Not shared: a shared channel waits longer after each failure of any caller.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel("unix:" + path, grpc::InsecureChannelCredentials(), arguments);
}

absl::Status Said(const char* server, const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  return absl::UnavailableError(std::string(server) + ": " + status.error_message());
}

}  // namespace

Registration::Registration(RegistrationSettings settings, DevicePlugin& plugin,
                           std::function<void()> checkpoint_changed)
    : settings_(std::move(settings)),
      plugin_(plugin),
      checkpoint_changed_(std::move(checkpoint_changed)),
      events_(inotify_init1(IN_NONBLOCK | IN_CLOEXEC)),
      wake_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  grpc::ServerBuilder builder;
  builder.RegisterService(&plugin_.service());
  // Few messages, and memory matters more.
  builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MAX_POLLERS, 1);
  server_ = builder.BuildAndStart();
  thread_ = std::thread([this] { Run(); });
}

Registration::~Registration() {
  stopping_ = true;
  Again();
  thread_.join();
  CloseSocket();
  plugin_.Stop();
  server_->Shutdown(std::chrono::system_clock::now() + kCallOneself);
  server_->Wait();
}

void Registration::Again() {
  again_ = true;
  const std::uint64_t one = 1;
  static_cast<void>(!write(wake_.get(), &one, sizeof one));
}

void Registration::CloseSocket() {
  if (socket_ == nullptr) return;
  socket_->Close();
  accepting_.join();
  socket_ = nullptr;
}

void Registration::Accept(Socket& socket) {
  while (true) {
    Descriptor peer = socket.Accept();
    if (!peer.valid()) return;
    grpc::AddInsecureChannelFromFd(server_.get(), peer.Release());
  }
}

absl::Status Registration::Listen() {
  const std::string path = settings_.folder + "/" + settings_.socket;
  CloseSocket();
  TEPHRA_ASSIGN_OR_RETURN(socket_, Socket::Listen(path));
  accepting_ = std::thread([this, socket = socket_.get()] { Accept(*socket); });
  return absl::OkStatus();
}

absl::Status Registration::CallOneself() const {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kCallOneself);
  context.set_wait_for_ready(true);
  v1beta1::DevicePluginOptions options;
  return Said("own socket",
              v1beta1::DevicePlugin::NewStub(Dial(settings_.folder + "/" + settings_.socket))
                  ->GetDevicePluginOptions(&context, {}, &options));
}

absl::Status Registration::Register() const {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kRegister);
  v1beta1::RegisterRequest request;
  request.set_version("v1beta1");
  request.set_endpoint(settings_.socket);
  request.set_resource_name(settings_.resource);
  request.mutable_options()->set_pre_start_required(true);
  request.mutable_options()->set_get_preferred_allocation_available(true);
  v1beta1::Empty answer;
  return Said("kubelet",
              v1beta1::Registration::NewStub(Dial(settings_.folder + "/" + kKubeletSocket))
                  ->Register(&context, request, &answer));
}

absl::Status Registration::Try() {
  TEPHRA_RETURN_IF_ERROR(Listen());
  TEPHRA_RETURN_IF_ERROR(CallOneself());
  return Register();
}

bool Registration::Watch() {
  constexpr std::uint32_t kChanges =
      IN_CREATE | IN_MOVED_TO | IN_CLOSE_WRITE | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF;
  watched_ = inotify_add_watch(events_.get(), settings_.folder.c_str(), kChanges) >= 0;
  return watched_;
}

bool Registration::ReadEvents() {
  bool again = false, checkpoint = false;
  alignas(inotify_event) char buffer[8192];
  ssize_t got = 0;
  while ((got = read(events_.get(), buffer, sizeof buffer)) > 0) {
    for (ssize_t at = 0; at < got;) {
      inotify_event event;
      std::memcpy(&event, buffer + at, sizeof event);
      const char* const name = event.len > 0 ? buffer + at + sizeof event : "";
      at += static_cast<ssize_t>(sizeof event + event.len);
      const bool appeared = (event.mask & (IN_CREATE | IN_MOVED_TO)) != 0;
      if (appeared && std::strcmp(name, kKubeletSocket) == 0) again = true;
      if ((event.mask & IN_DELETE) != 0 && settings_.socket == name && registered_) again = true;
      if ((event.mask & (IN_CLOSE_WRITE | IN_MOVED_TO)) != 0 &&
          std::strcmp(name, kCheckpointFile) == 0) {
        checkpoint = true;
      }
      if ((event.mask & (IN_Q_OVERFLOW | IN_IGNORED)) != 0) again = checkpoint = true;
      if ((event.mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED)) != 0) watched_ = false;
    }
  }
  if (checkpoint) checkpoint_changed_();
  return again;
}

void Registration::Run() {
  int wait_ms = kFirstWaitMs;
  std::string last_fault;
  while (!stopping_) {
    if (!watched_ && !Watch()) again_ = true;
    if (again_.exchange(false)) {
      registered_ = false;
      const absl::Status tried = Try();
      // What our own new socket made of events is no news; a kubelet that has begun since is.
      const bool since = ReadEvents();
      if (since) again_ = true;
      if (tried.ok()) {
        registered_ = true;
        ++times_;
        wait_ms = kFirstWaitMs;
        last_fault.clear();
        LogInfo("registered with the kubelet", {{"resource", settings_.resource}});
        continue;
      }
      const std::string why(tried.message());
      if (why != last_fault) {
        LogWarning("not registered with the kubelet, trying again",
                   {{"resource", settings_.resource}, {"why", why}});
      }
      last_fault = why;
      if (since) {
        wait_ms = kFirstWaitMs;
        continue;
      }
    }
    pollfd waits[] = {{events_.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
    const bool unwatched = registered_ && plugin_.watchers() == 0;
    const int ready = poll(waits, 2, unwatched ? kUnwatchedMs : registered_ ? -1 : wait_ms);
    if (ready == 0 && unwatched) {
      // A kubelet that is still parting from the plugin before may close the new one's connection
      // between Register and ListAndWatch, and never tells.
      if (plugin_.watchers() > 0) continue;
      LogWarning("registered, but the kubelet does not watch; registering again",
                 {{"resource", settings_.resource}});
      again_ = true;
      continue;
    }
    if (ready == 0) {
      wait_ms = std::min(2 * wait_ms, kLongestWaitMs);
      again_ = true;
      continue;
    }
    if ((waits[1].revents & POLLIN) != 0) {
      std::uint64_t count = 0;
      static_cast<void>(!read(wake_.get(), &count, sizeof count));
    }
    if ((waits[0].revents & POLLIN) != 0) {
      poll(nullptr, 0, kGatherMs);
      if (ReadEvents()) {
        again_ = true;
        wait_ms = kFirstWaitMs;
      }
    }
  }
}

}  // namespace tephra::node
