// The gRPC services: they translate between calls and the owner thread, and know nothing else.
#pragma once

#include "sidecar/live_engine.h"
#include "sidecar/owner_thread.h"
#include "tephra/v1/service.grpc.pb.h"

namespace tephra {

// Answers Explain and GetState; refuses the stream. Calls may come at any time and from any thread.
class LookService : public v1::EngineService::CallbackService {
 public:
  // Both must outlive it.
  LookService(OwnerThread& owner, LiveEngine& engine) : owner_(owner), engine_(engine) {}

  grpc::ServerBidiReactor<v1::ScheduleRequest, v1::ScheduleReply>* Schedule(
      grpc::CallbackServerContext* context) override;
  grpc::ServerUnaryReactor* Explain(grpc::CallbackServerContext* context,
                                    const v1::ExplainRequest* request,
                                    v1::ExplainReply* reply) override;
  grpc::ServerUnaryReactor* GetState(grpc::CallbackServerContext* context,
                                     const v1::GetStateRequest* request,
                                     v1::GetStateReply* reply) override;

 protected:
  OwnerThread& owner_;
  LiveEngine& engine_;
};

// It also takes schedulers' streams, of which the engine follows one at a time: the stream with the newest lease.
class EngineService final : public LookService {
 public:
  // Called on the owner thread, each time when the engine may have become ready or not so.
  using OnChange = std::function<void()>;
  EngineService(OwnerThread& owner, LiveEngine& engine, OnChange on_change)
      : LookService(owner, engine), on_change_(std::move(on_change)) {}

  grpc::ServerBidiReactor<v1::ScheduleRequest, v1::ScheduleReply>* Schedule(
      grpc::CallbackServerContext* context) override;

 private:
  class Stream;

  OnChange on_change_;
  Stream* holder_ = nullptr;  // the stream that the engine follows; the owner thread's
};

}  // namespace tephra
