// Registration keeps a DevicePlugin registered with the kubelet. It listens in the kubelet's folder,
// calls its own socket, and only then registers, because the kubelet calls back before it answers.
// It does all of this again when kubelet.sock is created again (a kubelet that starts removes every
// socket of the folder), when its own socket is removed, and when the kubelet closes ListAndWatch or
// does not open it.
//
// A thread of its own; any thread may call.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "base/socket.h"
#include "plugins/node/kubelet/device_plugin.h"

namespace grpc {
class Server;
}

namespace tephra::node {

struct RegistrationSettings {
  std::string folder = "/var/lib/kubelet/device-plugins";
  std::string resource;
  std::string socket = "tephra.sock";  // in the folder
};

class Registration {
 public:
  // `checkpoint_changed` is called on the thread of the registration after the kubelet wrote its
  // checkpoint.
  Registration(RegistrationSettings settings, DevicePlugin& plugin,
               std::function<void()> checkpoint_changed);
  // Closes the socket, then waits for the calls that are being answered.
  ~Registration();
  Registration(const Registration&) = delete;

  // Registers once more: the kubelet has closed its stream.
  void Again();
  bool registered() const { return registered_; }
  int times() const { return times_; }  // that the kubelet took it

 private:
  void Run();
  void Accept(Socket& socket);
  void CloseSocket();
  absl::Status Listen();
  absl::Status CallOneself() const;
  absl::Status Register() const;
  absl::Status Try();
  // Whether the folder is watched now.
  bool Watch();
  // What happened in the folder since: whether to register again.
  bool ReadEvents();

  const RegistrationSettings settings_;
  DevicePlugin& plugin_;
  const std::function<void()> checkpoint_changed_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<Socket> socket_;
  std::thread accepting_;
  Descriptor events_, wake_;
  bool watched_ = false;
  std::atomic<bool> stopping_ = false, again_ = true, registered_ = false;
  std::atomic<int> times_ = 0;
  std::thread thread_;
};

}  // namespace tephra::node
