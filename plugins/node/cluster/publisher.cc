#include "plugins/node/cluster/publisher.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/log.h"
#include "plugins/node/binding/nonce.h"

namespace tephra::node {
namespace {

constexpr std::chrono::milliseconds kFirstWait{500}, kLongestWait{30'000};

}  // namespace

Publisher::Publisher(ApiSettings api, std::string node)
    : node_(std::move(node)),
      client_(std::move(api)),
      writer_(client_, node_),
      thread_([this] { Run(); }) {}

Publisher::~Publisher() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  client_.Interrupt();
  wake_.notify_all();
  thread_.join();
}

void Publisher::Show(NodeFacts facts, bool again) {
  const std::lock_guard<std::mutex> lock(mutex_);
  wanted_ = std::move(facts);
  again_ |= again;
  wake_.notify_all();
}

void Publisher::Report(ClusterEvent event) {
  const std::int64_t now_ms = std::chrono::duration_cast<std::chrono::milliseconds>(
                                  std::chrono::steady_clock::now().time_since_epoch())
                                  .count();
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!budget_.Take(now_ms)) {
    LogWarning("event dropped (rate limit)", {{"event", event.message}});
    return;
  }
  events_.push_back(std::move(event));
  wake_.notify_all();
}

absl::Status Publisher::Post(const ClusterEvent& event) {
  const std::int64_t unix_s = std::chrono::duration_cast<std::chrono::seconds>(
                                  std::chrono::system_clock::now().time_since_epoch())
                                  .count();
  TEPHRA_ASSIGN_OR_RETURN(
      const ApiAnswer answer,
      client_.Post(EventPath(event), EventBody(event, node_, NewNonce().substr(0, 16), unix_s)));
  if (answer.code == 201) return absl::OkStatus();
  // Refused for good, for example because the namespace is being deleted. Other events wait.
  if (answer.code >= 400 && answer.code < 500 && answer.code != 429) {
    LogWarning(
        "an event is not taken",
        {{"event", event.message}, {"why", std::string(ApiError("event", answer).message())}});
    return absl::OkStatus();
  }
  return ApiError("event", answer);
}

std::string Publisher::fault() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return fault_;
}

void Publisher::Run() {
  std::unique_lock<std::mutex> lock(mutex_);
  auto wait = kFirstWait;
  while (true) {
    wake_.wait(lock, [this] { return stopping_ || wanted_.has_value() || !events_.empty(); });
    if (stopping_) return;
    absl::Status status;
    if (wanted_.has_value()) {
      NodeFacts facts = *std::exchange(wanted_, std::nullopt);
      if (std::exchange(again_, false)) writer_.Forget();
      lock.unlock();
      status = writer_.Write(facts);
      lock.lock();
      if (!status.ok() && !wanted_.has_value()) wanted_ = std::move(facts);
    } else {
      const ClusterEvent event = events_.front();
      lock.unlock();
      status = Post(event);
      lock.lock();
      if (status.ok()) events_.pop_front();
    }
    if (stopping_) return;
    if (status.ok()) {
      fault_.clear();
      wait = kFirstWait;
      continue;
    }
    if (const std::string why(status.message()); why != fault_) {
      LogWarning("failed to publish the GPU inventory; trying again", {{"why", why}});
      fault_ = why;
    }
    wake_.wait_for(lock, wait, [this] { return stopping_; });
    wait = std::min(2 * wait, kLongestWait);
  }
}

}  // namespace tephra::node
