#include "sidecar/live_engine.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/log.h"
#include "plugins/registry.h"
#include "sidecar/reply_split.h"
#include "sidecar/wire/event_codec.h"
#include "sidecar/wire/note.h"
#include "sidecar/wire/plan_codec.h"
#include "sidecar/wire/views.h"
#include "topology/base/check.h"

namespace tephra {
namespace {

// The first and the longest pause after a failed journal. Each retry needs a full sync, and the
// cause (a full disk) seldom goes away by itself.
constexpr DurationMs kFirstJournalPauseMs = 60 * kSecondMs;
constexpr DurationMs kLastJournalPauseMs = 3600 * kSecondMs;

// A client that sends bad facts must not fill the log.
constexpr int kRefusalsLogged = 20;
// Nor may it fill the memory with replies that it does not read.
constexpr int kRefusalsSent = 100'000;

bool Begins(v1::SyncMark mark) {
  return mark == v1::SYNC_MARK_BEGIN || mark == v1::SYNC_MARK_WHOLE;
}
bool Ends(v1::SyncMark mark) { return mark == v1::SYNC_MARK_END || mark == v1::SYNC_MARK_WHOLE; }

std::string Text(const absl::Status& status) { return std::string(status.message()); }

absl::Status NotSynced() {
  return absl::FailedPreconditionError(
      "the engine knows no cluster yet: no scheduler has sent a full sync");
}

}  // namespace

FactsMessage Decode(const v1::Facts& in) {
  FactsMessage out{in.epoch(), in.sequence(), in.sync(), {}};
  out.events.reserve(static_cast<std::size_t>(in.events_size()));
  for (const v1::Event& event : in.events()) out.events.push_back(DecodeEvent(event));
  return out;
}

LiveEngine::Life::Life(std::unique_ptr<JournalWriter> segment)
    : engine(DefaultAssembly()), journal(std::move(segment)), journaled(engine, journal.get()) {}

LiveEngine::LiveEngine(EngineConfig config, std::optional<JournalSettings> journal,
                       Metrics& metrics, std::uint64_t first_epoch)
    : config_(std::move(config)),
      journal_pause_(kFirstJournalPauseMs),
      metrics_(metrics),
      epoch_(first_epoch) {
  if (journal.has_value()) segments_.emplace(*std::move(journal));
}

LiveEngine::~LiveEngine() { CloseJournal(); }

// --- the stream ------------------------------------------------------------------------------

absl::Status LiveEngine::Speaks(const v1::Hello& hello) {
  if (hello.protocol_version() == kProtocolVersion) return absl::OkStatus();
  return absl::FailedPreconditionError("protocol_version: " +
                                       std::to_string(hello.protocol_version()) +
                                       ", this engine (tephra-engine " TEPHRA_VERSION ") speaks " +
                                       std::to_string(kProtocolVersion));
}

void LiveEngine::Begin(const v1::Hello& hello, Send send) {
  send_ = std::move(send);
  ++epoch_;
  if (epoch_ == 0) ++epoch_;
  sequence_ = 0;
  SetPhase(Phase::kAwaitingSync);
  LogInfo("scheduler connected", {{"client", hello.client()}, {"lease_term", hello.lease_term()}, {"epoch", epoch_}});
  v1::ScheduleReply reply;
  v1::Welcome* welcome = reply.mutable_welcome();
  welcome->set_protocol_version(kProtocolVersion);
  welcome->set_epoch(epoch_);
  welcome->set_engine("tephra-engine " TEPHRA_VERSION);
  send_(std::move(reply));
}

void LiveEngine::End() {
  if (phase_ == Phase::kNoStream) return;
  LogInfo("scheduler disconnected", {{"epoch", epoch_}});
  send_ = nullptr;
  inbox_.Clear();
  CloseJournal();
  next_ = nullptr;
  SetPhase(Phase::kNoStream);
  metrics_.Disconnected();
}

// What is wrong with a message of this place in the conversation, if anything is.
std::optional<LiveEngine::Why> LiveEngine::WhyNot(std::uint64_t epoch,
                                                  std::uint64_t sequence) const {
  if (epoch != epoch_) {
    return Why{"epoch", "epoch " + std::to_string(epoch) + ", expected " + std::to_string(epoch_)};
  }
  if (sequence != sequence_) {
    return Why{"sequence",
               "sequence " + std::to_string(sequence) + ", expected " + std::to_string(sequence_)};
  }
  return std::nullopt;
}

void LiveEngine::Take(FactsMessage facts) {
  if (phase_ == Phase::kNoStream) return;
  // Sent before the client heard of the new epoch.
  if (phase_ == Phase::kAwaitingSync && facts.epoch != epoch_) return;
  ++sequence_;
  if (const auto why = WhyNot(facts.epoch, facts.sequence)) return AskForSync(*why);
  if (!v1::SyncMark_IsValid(facts.sync)) {
    return AskForSync({"sync", "sync mark " + std::to_string(facts.sync) + ", expected 0 to 3"});
  }
  if (Begins(facts.sync)) {
    BeginSync();
  } else if (phase_ == Phase::kAwaitingSync || (Ends(facts.sync) && phase_ != Phase::kSyncing)) {
    return AskForSync({"sync", "sequence " + std::to_string(facts.sequence) +
                                   ": expected a message that begins a sync"});
  }
  for (std::size_t i = 0; i < facts.events.size(); ++i) {
    Received fact{{}, facts.sequence, static_cast<std::uint32_t>(i)};
    absl::StatusOr<Event>& event = facts.events[i];
    if (!event.ok()) {
      Refuse(fact, event.status());
      continue;
    }
    fact.event = *std::move(event);
    if (std::holds_alternative<ConfigChanged>(fact.event)) {
      Refuse(fact, absl::InvalidArgumentError(
                       "config_changed: the engine takes its configuration from its own file"));
    } else if (phase_ == Phase::kSyncing) {
      Apply(*next_, std::move(fact));
    } else {
      inbox_.Add(std::move(fact));
    }
  }
  if (inbox_.full()) {
    return AskForSync({"inbox", std::to_string(Inbox::kMostFacts) + " facts without a cycle"});
  }
  if (Ends(facts.sync)) EndSync();
}

void LiveEngine::Cycle(const v1::CycleRequest& request) {
  if (phase_ == Phase::kNoStream) return;
  if (phase_ == Phase::kAwaitingSync && request.epoch() != epoch_) return;
  if (phase_ != Phase::kSynced) {
    return AskForSync({"sync", "a cycle was requested before the end of a sync"});
  }
  if (const auto why = WhyNot(request.epoch(), request.sequence())) return AskForSync(*why);
  ApplyInbox();
  // A clock that was set back must not bring back assumptions that expired.
  now_ = std::max(now_, request.now_ms());
  if (JournalWantsSync()) return;

  Life& life = *shown_;
  life.now = now_;
  const auto began = std::chrono::steady_clock::now();
  const Plan plan = life.journaled.Tick(now_);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  const Books& books = life.engine.state().books();

  v1::CycleReply reply;
  reply.set_epoch(epoch_);
  reply.set_sequence(sequence_);
  EncodePlan(plan, books, reply.mutable_plan());
  std::size_t placements = 0;
  for (const Decision& decision : plan.decisions) {
    placements += decision.placements.size();
    if (decision.reason->obstacle != Obstacle::kNone) {
      FillNote(decision, books, reply.add_notes());
    }
  }
  for (v1::CycleReply& part : SplitReply(std::move(reply))) {
    v1::ScheduleReply message;
    *message.mutable_cycle() = std::move(part);
    send_(std::move(message));
  }

  refusals_to_log_ = kRefusalsLogged;
  refusals_to_send_ = kRefusalsSent;
  metrics_.CycleEnded(took.count(), plan, books);
  WatchJournal(life);
  const auto ms = took.count() * 1000;
  Log(plan.decisions.empty() && plan.dropped.empty() ? LogLevel::kDebug : LogLevel::kInfo, "plan",
      {{"version", plan.version},
       {"decisions", plan.decisions.size()},
       {"placements", placements},
       {"dropped", plan.dropped.size()},
       {"pending", books.waiting.size()},
       {"took_ms", ms}});
}

// --- syncs -----------------------------------------------------------------------------------

void LiveEngine::AskForSync(const Why& why) {
  ++epoch_;
  if (epoch_ == 0) ++epoch_;
  sequence_ = 0;
  inbox_.Clear();
  CloseJournal();
  next_ = nullptr;
  SetPhase(Phase::kAwaitingSync);
  metrics_.Resync(why.word);
  LogWarning("asking for a full sync", {{"why", why.text}, {"epoch", epoch_}});
  v1::ScheduleReply reply;
  reply.mutable_resync()->set_epoch(epoch_);
  reply.mutable_resync()->set_why(why.text);
  send_(std::move(reply));
}

void LiveEngine::BeginSync() {
  inbox_.Clear();
  CloseJournal();
  refusals_to_log_ = kRefusalsLogged;
  refusals_to_send_ = kRefusalsSent;
  std::unique_ptr<JournalWriter> journal;
  if (segments_.has_value()) {
    auto segment = segments_->Begin();
    if (segment.ok()) {
      journal = *std::move(segment);
      journal_failed_ = false;
      LogInfo("opened a journal segment", {{"file", journal->name()}});
    } else {
      JournalFailed(segment.status());
    }
  }
  next_ = std::make_unique<Life>(std::move(journal));
  next_->epoch = epoch_;
  TEPHRA_CHECK(next_->journaled.Apply(ConfigChanged{config_}).ok());
  // The past usage that this process knows is newer than any saved copy.
  if (shown_ != nullptr && shown_->engine.state().books().usage.on() &&
      shown_->engine.state().books().usage.begun()) {
    const MemoryRestored own{shown_->engine.state().Remember()};
    if (const absl::Status status = next_->journaled.Apply(own); !status.ok()) {
      LogWarning("cannot keep past usage across this sync", {{"why", Text(status)}});
    }
  }
  SetPhase(Phase::kSyncing);
}

void LiveEngine::EndSync() {
  next_->sequence = sequence_;
  WatchJournal(*next_);
  shown_ = std::move(next_);
  now_ = 0;  // a new engine has no assumptions that an earlier time could bring back
  SetPhase(Phase::kSynced);
  const Books& books = shown_->engine.state().books();
  LogInfo("synced", {{"epoch", epoch_},
                     {"messages", sequence_},
                     {"nodes", books.hardware.slots()},
                     {"jobs", books.jobs.size()},
                     {"tasks", books.tasks.size()}});
}

void LiveEngine::SetPhase(Phase phase) {
  phase_ = phase;
  metrics_.Synced(ready());
}

// --- facts -----------------------------------------------------------------------------------

void LiveEngine::Apply(Life& life, Received fact) {
  if (const absl::Status status = life.journaled.Apply(fact.event); !status.ok()) {
    return Refuse(fact, status);
  }
  metrics_.FactTaken(fact.event);
}

void LiveEngine::Refuse(const Received& where, const absl::Status& why) {
  metrics_.FactRefused();
  if (refusals_to_log_ > 0) {
    LogWarning("fact refused",
               {{"sequence", where.sequence}, {"index", where.index}, {"why", Text(why)}});
    if (--refusals_to_log_ == 0)
      LogWarning("further refused facts are not logged until the next cycle");
  }
  if (refusals_to_send_ <= 0) return;
  --refusals_to_send_;
  v1::ScheduleReply reply;
  v1::FactRefused* refused = reply.mutable_refused();
  refused->set_sequence(where.sequence);
  refused->set_index(where.index);
  refused->set_code(static_cast<std::int32_t>(why.code()));
  refused->set_message(Text(why));
  send_(std::move(reply));
}

void LiveEngine::ApplyInbox() {
  for (Received& fact : inbox_.Take()) Apply(*shown_, std::move(fact));
  shown_->sequence = sequence_;
}

void LiveEngine::ChangeConfig(const EngineConfig& config) {
  config_ = config;
  for (Life* life : {shown_.get(), next_.get()}) {
    if (life != nullptr) TEPHRA_CHECK(life->journaled.Apply(ConfigChanged{config}).ok());
  }
}

// --- the journal -----------------------------------------------------------------------------

// A new segment needs a sync, so that it can be replayed by itself.
bool LiveEngine::JournalWantsSync() {
  if (!segments_.has_value()) return false;
  const JournalWriter* journal = shown_->journal.get();
  if (journal != nullptr && journal->status().ok()) {
    if (!segments_->Full(*journal)) return false;
    AskForSync({"journal", "the journal segment is full"});
    return true;
  }
  journal_failed_at_ = std::min(journal_failed_at_, now_);  // the clock was set back
  if (now_ - journal_failed_at_ < journal_pause_ || !segments_->RoomAgain()) return false;
  AskForSync({"journal", "the journal can be written again"});
  return true;
}

void LiveEngine::WatchJournal(Life& life) {
  if (life.journal == nullptr || journal_failed_) return;
  if (const absl::Status& status = life.journal->status(); !status.ok()) {
    return JournalFailed(status);
  }
  metrics_.JournalGrew(life.journal->bytes() - life.journal_counted);
  life.journal_counted = life.journal->bytes();
}

void LiveEngine::JournalFailed(const absl::Status& why) {
  // The first failure after a good segment starts a new pause; a further failure doubles it.
  journal_pause_ = journal_failed_before_ ? std::min(2 * journal_pause_, kLastJournalPauseMs)
                                          : kFirstJournalPauseMs;
  journal_failed_ = journal_failed_before_ = true;
  journal_failed_at_ = now_;
  metrics_.JournalFailed();
  LogError("cannot write the journal; scheduling continues without it", {{"why", Text(why)}});
}

void LiveEngine::CloseJournal() {
  for (Life* life : {shown_.get(), next_.get()}) {
    if (life == nullptr || life->journal == nullptr) continue;
    WatchJournal(*life);
    if (life->journal->status().ok() && life->journal->Close().ok()) journal_failed_before_ = false;
    life->journaled.EndJournal();
    life->journal = nullptr;
  }
}

// --- looking ---------------------------------------------------------------------------------

absl::Status LiveEngine::Explain(const std::string& job, v1::ExplainReply* out) const {
  if (shown_ == nullptr) return NotSynced();
  const Books& books = shown_->engine.state().books();
  const JobId id = FindJob(books, job);
  if (!id.valid()) return absl::NotFoundError("job \"" + job + "\": the engine knows none");
  FillExplain(shown_->engine.state(), id, shown_->now, out);
  return absl::OkStatus();
}

absl::Status LiveEngine::GetState(bool everything, v1::GetStateReply* out) const {
  if (shown_ == nullptr) return NotSynced();
  out->set_epoch(shown_->epoch);
  out->set_sequence(shown_->sequence);
  out->set_now_ms(shown_->now);
  FillState(shown_->engine.state().books(), everything, out);
  return absl::OkStatus();
}

}  // namespace tephra
