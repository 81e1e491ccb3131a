// A scheduler's end of the conversation, over a real socket: what tests of the server speak with.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <grpcpp/grpcpp.h>

#include "engine/event.h"
#include "tephra/v1/service.grpc.pb.h"

namespace tephra {

std::shared_ptr<grpc::Channel> ConnectTo(const std::string& socket);

v1::Facts FactsOf(const std::vector<Event>& events);

class SchedulerClient {
 public:
  explicit SchedulerClient(std::shared_ptr<grpc::Channel> channel,
                           std::uint32_t protocol_version = 1, std::uint64_t lease_term = 0);
  ~SchedulerClient();

  // False where the stream was refused; then status() says why.
  bool connected() const { return connected_; }
  grpc::Status status();

  // Each gives the message the epoch and the next sequence.
  void Sync(const std::vector<Event>& events, std::size_t messages = 1);
  void Delta(const std::vector<Event>& events);
  // The next reply of any kind; nothing where the stream has ended.
  std::optional<v1::ScheduleReply> Read();
  // Asks, and reads up to the answer: a plan, or a Resync, whose epoch is then taken over.
  v1::ScheduleReply Cycle(TimeMs now);

  void Write(const v1::ScheduleRequest& request) { stream_->Write(request); }
  void WriteFacts(v1::Facts facts);

  std::uint64_t epoch = 0;
  std::uint64_t sequence = 0;
  std::vector<v1::FactRefused> refused;  // seen while waiting for something else

 private:
  std::unique_ptr<v1::EngineService::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::ScheduleRequest, v1::ScheduleReply>> stream_;
  bool connected_ = false;
  std::optional<grpc::Status> status_;
};

// Answers of the looking calls; an error is a failed test's message.
v1::GetStateReply StateOf(const std::shared_ptr<grpc::Channel>& channel, bool everything = true);

}  // namespace tephra
