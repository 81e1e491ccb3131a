// LiveEngine: one side of the conversation that service.proto describes, with the Engine behind
// it: epochs, sequences, syncs, cycles, and answers to Explain and GetState.
//
// No thread, socket or clock of its own but for measuring how long a cycle took. One owner thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/config.h"
#include "sidecar/inbox.h"
#include "sidecar/journal_segments.h"
#include "sidecar/metrics.h"
#include "sidecar/wire/journaled_engine.h"
#include "tephra/v1/service.pb.h"
#include "topology/base/status.h"

namespace tephra {

constexpr std::uint32_t kProtocolVersion = 1;

// A Facts message whose events are decoded; that needs no engine, and so may be any thread's work.
struct FactsMessage {
  std::uint64_t epoch = 0;
  std::uint64_t sequence = 0;
  v1::SyncMark sync = v1::SYNC_MARK_UNSPECIFIED;
  std::vector<absl::StatusOr<Event>> events;
};
FactsMessage Decode(const v1::Facts& in);

class LiveEngine {
 public:
  using Send = std::function<void(v1::ScheduleReply)>;

  // REQUIRES: the config is valid. `first_epoch` is the one before the first, best something that
  // no earlier process used. The metrics must outlive it.
  LiveEngine(EngineConfig config, std::optional<JournalSettings> journal, Metrics& metrics,
             std::uint64_t first_epoch);
  ~LiveEngine();

  // --- the stream: one at a time
  // FAILED_PRECONDITION, with both versions, for a protocol that this engine does not speak.
  static absl::Status Speaks(const v1::Hello& hello);
  // REQUIRES: it speaks the client's protocol.
  void Begin(const v1::Hello& hello, Send send);
  void Take(FactsMessage facts);
  void Cycle(const v1::CycleRequest& request);
  void End();

  // --- looking, at any time: as of the last cycle or, if later, the last sync
  absl::Status Explain(const std::string& job, v1::ExplainReply* out) const;
  absl::Status GetState(bool everything, v1::GetStateReply* out) const;

  // What is decided from now on follows it. REQUIRES: it is valid.
  void ChangeConfig(const EngineConfig& config);
  // A scheduler is connected, and what it knows is known here.
  bool ready() const { return phase_ == Phase::kSynced; }
  // The engines of now take no more facts; what is recorded of them is marked as whole.
  void CloseJournal();

 private:
  // One engine from its sync on, and what is recorded of it.
  struct Life {
    Engine engine;
    std::unique_ptr<JournalWriter> journal;  // null: none is asked for, or it failed
    JournaledEngine journaled;
    std::uint64_t journal_counted = 0;  // bytes, in metrics
    std::uint64_t epoch = 0;
    std::uint64_t sequence = 0;  // of the last facts in it
    TimeMs now = 0;              // of the last cycle

    explicit Life(std::unique_ptr<JournalWriter> segment);
  };
  enum class Phase { kNoStream, kAwaitingSync, kSyncing, kSynced };
  // `word` is for metrics; the client and the log get `text`.
  struct Why {
    const char* word;
    std::string text;
  };

  std::optional<Why> WhyNot(std::uint64_t epoch, std::uint64_t sequence) const;
  void AskForSync(const Why& why);
  void BeginSync();
  void EndSync();
  void Apply(Life& life, Received fact);
  void Refuse(const Received& where, const absl::Status& why);
  void ApplyInbox();
  bool JournalWantsSync();
  void WatchJournal(Life& life);
  void JournalFailed(const absl::Status& why);
  void SetPhase(Phase phase);

  EngineConfig config_;
  std::optional<JournalSegments> segments_;
  bool journal_failed_ = false;         // the current segment
  bool journal_failed_before_ = false;  // and no whole one was written since
  TimeMs journal_failed_at_ = 0;
  DurationMs journal_pause_;  // before it is tried again; doubles with each failure
  int refusals_to_log_ = 0;   // before the next cycle
  int refusals_to_send_ = 0;  // the same
  Metrics& metrics_;

  Send send_;
  Phase phase_ = Phase::kNoStream;
  std::uint64_t epoch_;
  std::uint64_t sequence_ = 0;  // of the last message of this epoch
  TimeMs now_ = 0;              // of shown_; never goes back before the next sync
  Inbox inbox_;
  std::unique_ptr<Life> shown_;  // the last one whose sync ended
  std::unique_ptr<Life> next_;   // the one whose sync is under way
};

}  // namespace tephra
