#include "plugins/node/cluster/publisher.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "sidecar/log.h"

namespace tephra::node {
namespace {

constexpr std::chrono::milliseconds kFirstWait{500}, kLongestWait{30'000};

}  // namespace

Publisher::Publisher(ApiSettings api, std::string node)
    : writer_(std::move(api), std::move(node)), thread_([this] { Run(); }) {}

Publisher::~Publisher() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  writer_.Interrupt();
  wake_.notify_all();
  thread_.join();
}

void Publisher::Show(NodeFacts facts, bool anew) {
  const std::lock_guard<std::mutex> lock(mutex_);
  wanted_ = std::move(facts);
  anew_ |= anew;
  wake_.notify_all();
}

std::string Publisher::fault() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return fault_;
}

void Publisher::Run() {
  std::unique_lock<std::mutex> lock(mutex_);
  auto wait = kFirstWait;
  while (true) {
    wake_.wait(lock, [this] { return stopping_ || wanted_.has_value(); });
    if (stopping_) return;
    NodeFacts facts = *std::exchange(wanted_, std::nullopt);
    if (std::exchange(anew_, false)) writer_.Forget();
    lock.unlock();
    const absl::Status status = writer_.Write(facts);
    lock.lock();
    if (stopping_) return;
    if (status.ok()) {
      fault_.clear();
      wait = kFirstWait;
      continue;
    }
    if (const std::string why(status.message()); why != fault_) {
      LogWarning("the cluster is not told yet of this node's GPUs", {{"why", why}});
      fault_ = why;
    }
    if (!wanted_.has_value()) wanted_ = std::move(facts);
    wake_.wait_for(lock, wait, [this] { return stopping_; });
    wait = std::min(2 * wait, kLongestWait);
  }
}

}  // namespace tephra::node
