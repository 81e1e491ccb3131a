#include "tests/sidecar/scheduler_client.h"

#include <stdexcept>

#include "sidecar/wire/event_codec.h"

namespace tephra {

std::shared_ptr<grpc::Channel> ConnectTo(const std::string& socket) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetMaxSendMessageSize(-1);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel("unix:" + socket, grpc::InsecureChannelCredentials(), arguments);
}

v1::Facts FactsOf(const std::vector<Event>& events) {
  v1::Facts facts;
  for (const Event& event : events) {
    if (!EncodeEvent(event, facts.add_events()).ok()) throw std::runtime_error("cannot encode");
  }
  return facts;
}

SchedulerClient::SchedulerClient(std::shared_ptr<grpc::Channel> channel,
                                 std::uint32_t protocol_version, std::uint64_t lease_term)
    : stub_(v1::EngineService::NewStub(channel)) {
  stream_ = stub_->Schedule(&context_);
  v1::ScheduleRequest hello;
  hello.mutable_hello()->set_protocol_version(protocol_version);
  hello.mutable_hello()->set_client("test");
  hello.mutable_hello()->set_lease_term(lease_term);
  stream_->Write(hello);
  const auto reply = Read();
  connected_ = reply.has_value() && reply->has_welcome();
  if (connected_) epoch = reply->welcome().epoch();
}

SchedulerClient::~SchedulerClient() {
  if (status_.has_value()) return;
  context_.TryCancel();
  status();
}

grpc::Status SchedulerClient::status() {
  if (!status_.has_value()) status_ = stream_->Finish();
  return *status_;
}

void SchedulerClient::WriteFacts(v1::Facts facts) {
  facts.set_epoch(epoch);
  facts.set_sequence(++sequence);
  v1::ScheduleRequest request;
  *request.mutable_facts() = std::move(facts);
  Write(request);
}

void SchedulerClient::Sync(const std::vector<Event>& events, std::size_t messages) {
  const std::size_t each = (events.size() + messages - 1) / messages;
  for (std::size_t i = 0; i < messages; ++i) {
    const std::size_t begin = std::min(i * each, events.size());
    const std::size_t end = std::min(begin + each, events.size());
    v1::Facts facts = FactsOf({events.begin() + static_cast<std::ptrdiff_t>(begin),
                               events.begin() + static_cast<std::ptrdiff_t>(end)});
    facts.set_sync(messages == 1       ? v1::SYNC_MARK_WHOLE
                   : i == 0            ? v1::SYNC_MARK_BEGIN
                   : i + 1 == messages ? v1::SYNC_MARK_END
                                       : v1::SYNC_MARK_UNSPECIFIED);
    WriteFacts(std::move(facts));
  }
}

void SchedulerClient::Delta(const std::vector<Event>& events) { WriteFacts(FactsOf(events)); }

std::optional<v1::ScheduleReply> SchedulerClient::Read() {
  v1::ScheduleReply reply;
  if (!stream_->Read(&reply)) return std::nullopt;
  return reply;
}

v1::ScheduleReply SchedulerClient::Cycle(TimeMs now) {
  v1::ScheduleRequest request;
  request.mutable_cycle()->set_epoch(epoch);
  request.mutable_cycle()->set_sequence(sequence);
  request.mutable_cycle()->set_now_ms(now);
  Write(request);
  while (true) {
    auto reply = Read();
    if (!reply.has_value()) {
      throw std::runtime_error("the stream ended: " + status().error_message());
    }
    if (reply->has_refused()) {
      refused.push_back(reply->refused());
      continue;
    }
    if (reply->has_resync()) {
      epoch = reply->resync().epoch();
      sequence = 0;
    }
    return *reply;
  }
}

v1::GetStateReply StateOf(const std::shared_ptr<grpc::Channel>& channel, bool everything) {
  grpc::ClientContext context;
  v1::GetStateRequest request;
  request.set_everything(everything);
  v1::GetStateReply reply;
  const grpc::Status status =
      v1::EngineService::NewStub(channel)->GetState(&context, request, &reply);
  if (!status.ok()) throw std::runtime_error(status.error_message());
  return reply;
}

}  // namespace tephra
