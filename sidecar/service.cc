#include "sidecar/service.h"

#include <deque>
#include <mutex>
#include <utility>

namespace tephra {
namespace {

using StreamReactor = grpc::ServerBidiReactor<v1::ScheduleRequest, v1::ScheduleReply>;

// Messages read ahead of the engine: enough that one is decoded while another is applied, and no
// more, so that a client that outruns the engine is slowed down.
constexpr int kReadAhead = 4;

grpc::Status ToGrpc(const absl::Status& status) {
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message()));
}

// A stream that is refused as soon as it comes.
class Refusal final : public StreamReactor {
 public:
  explicit Refusal(const absl::Status& why) { Finish(ToGrpc(why)); }
  void OnDone() override { delete this; }
};

}  // namespace

// --- looking ---------------------------------------------------------------------------------

StreamReactor* LookService::Schedule(grpc::CallbackServerContext*) {
  return new Refusal(absl::PermissionDeniedError(
      "Schedule: this listener is for looking only; a scheduler connects to the Unix socket"));
}

grpc::ServerUnaryReactor* LookService::Explain(grpc::CallbackServerContext* context,
                                               const v1::ExplainRequest* request,
                                               v1::ExplainReply* reply) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  owner_.Post([=, this] { reactor->Finish(ToGrpc(engine_.Explain(request->job(), reply))); });
  return reactor;
}

grpc::ServerUnaryReactor* LookService::GetState(grpc::CallbackServerContext* context,
                                                const v1::GetStateRequest* request,
                                                v1::GetStateReply* reply) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  owner_.Post(
      [=, this] { reactor->Finish(ToGrpc(engine_.GetState(request->everything(), reply))); });
  return reactor;
}

// --- the stream ------------------------------------------------------------------------------

// Reads on gRPC's threads, acts on the owner thread, and is deleted there when all is over.
class EngineService::Stream final : public StreamReactor {
 public:
  explicit Stream(EngineService& service) : service_(service) { StartRead(&request_); }

  void OnReadDone(bool ok) override {
    if (!ok) return service_.owner_.Post([this] { End(absl::OkStatus()); });
    switch (request_.content_case()) {
      case v1::ScheduleRequest::kHello:
        return Act([this, hello = std::move(*request_.mutable_hello())] { Greet(hello); });
      case v1::ScheduleRequest::kFacts:
        return Act([this, facts = std::make_shared<FactsMessage>(Decode(request_.facts()))] {
          if (Greeted()) service_.engine_.Take(std::move(*facts));
        });
      case v1::ScheduleRequest::kCycle:
        return Act([this, cycle = request_.cycle()] {
          if (Greeted()) service_.engine_.Cycle(cycle);
        });
      case v1::ScheduleRequest::CONTENT_NOT_SET:
        break;
    }
    Act([this] {
      End(
          absl::InvalidArgumentError("content: missing, or one that this version does not know; "
                                     "expected hello, facts or cycle"));
    });
  }

  void OnWriteDone(bool ok) override {
    const std::lock_guard lock(mutex_);
    replies_.pop_front();
    if (!ok) replies_.clear();  // the client is gone; OnReadDone reports that too
    WriteOrFinish();
  }

  void OnDone() override {
    service_.owner_.Post([this] { delete this; });
  }

 private:
  // --- on the owner thread
  void Greet(const v1::Hello& hello) {
    if (ended_) return;
    if (greeted_) return End(absl::InvalidArgumentError("hello: sent twice"));
    const absl::Status speaks = LiveEngine::Speaks(hello);
    if (!speaks.ok()) return End(speaks);
    lease_term_ = hello.lease_term();
    if (Stream* holder = service_.holder_; holder != nullptr) {
      if (lease_term_ <= holder->lease_term_) {
        return End(absl::AlreadyExistsError(
            "Schedule: scheduler \"" + holder->client_ + "\" holds the stream with lease term " +
            std::to_string(holder->lease_term_) + ", this scheduler has lease term " +
            std::to_string(lease_term_) + "; only a newer lease takes the stream over"));
      }
      holder->End(absl::AbortedError("Schedule: scheduler \"" + hello.client() +
                                     "\" has taken the stream over with a newer lease, term " +
                                     std::to_string(lease_term_)));
    }
    service_.engine_.Begin(hello, [this](v1::ScheduleReply reply) { Send(std::move(reply)); });
    greeted_ = true;
    client_ = hello.client();
    service_.holder_ = this;
  }

  bool Greeted() {
    if (!greeted_) End(absl::InvalidArgumentError("hello: expected before anything else"));
    return greeted_ && !ended_;
  }

  // What was sent before is still written. The next stream may come from here on.
  void End(const absl::Status& status) {
    if (std::exchange(ended_, true)) return;
    if (service_.holder_ == this) {
      service_.holder_ = nullptr;
      service_.engine_.End();
    }
    service_.on_change_();
    const std::lock_guard lock(mutex_);
    end_ = ToGrpc(status);
    if (replies_.empty()) Finish(*end_);
  }

  void Send(v1::ScheduleReply reply) {
    const std::lock_guard lock(mutex_);
    replies_.push_back(std::move(reply));
    if (replies_.size() == 1) StartWrite(&replies_.front());
  }

  // --- on any thread
  void Act(std::function<void()> act) {
    service_.owner_.Post([this, act = std::move(act)] {
      act();
      if (!ended_) service_.on_change_();
      if (ahead_-- == kReadAhead) ReadOn();
    });
    // Counted once it is posted: the owner reads on when it has done with one of as many as may be,
    // and the next one must not be posted before this.
    if (++ahead_ < kReadAhead) ReadOn();
  }

  void ReadOn() {
    const std::lock_guard lock(mutex_);
    if (!end_.has_value()) StartRead(&request_);
  }

  // REQUIRES: no write is under way; the lock is held.
  void WriteOrFinish() {
    if (!replies_.empty()) {
      StartWrite(&replies_.front());
    } else if (end_.has_value()) {
      Finish(*end_);
    }
  }

  EngineService& service_;
  v1::ScheduleRequest request_;
  std::atomic<int> ahead_ = 0;  // messages posted that the owner thread has not finished
  bool greeted_ = false;        // the owner thread's, as the next
  bool ended_ = false;
  std::string client_;
  std::uint64_t lease_term_ = 0;

  std::mutex mutex_;
  std::deque<v1::ScheduleReply> replies_;  // the first is being written
  std::optional<grpc::Status> end_;        // nothing is read, or put into replies_, once it is set
};

StreamReactor* EngineService::Schedule(grpc::CallbackServerContext*) { return new Stream(*this); }

}  // namespace tephra
