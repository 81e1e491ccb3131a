#include "engine/waiting_lines.h"

#include <algorithm>
#include <utility>

#include "engine/policy.h"

namespace tephra {
namespace {

// Whether pending jobs keep their order by themselves, and no job reports what is ahead of it.
bool Keeps(const EngineConfig& config, const Order* order) {
  return order != nullptr && order->HasKeys(config) && !config.report_job_ahead &&
         config.enqueue_gate == EnqueueGate::kNone;
}

bool StandsInLine(const Books& books, const JobRow& job) {
  return books.queues.InOrder(job.queue) && job.counted() == 0 && !job.keeps_room() &&
         !job.satisfied();
}

}  // namespace

const WaitingLines::Line* WaitingLines::Of(QueueId queue) const {
  if (queue.index() >= lines_.size() || lines_[queue.index()].empty()) return nullptr;
  return &lines_[queue.index()];
}

std::vector<JobId> WaitingLines::Askable() const {
  std::vector<JobId> askable = loose_;
  for (const Line& line : lines_) {
    if (!line.empty()) askable.push_back(line.begin()->job);
  }
  return askable;
}

void WaitingLines::Leave(Known& known) {
  if (known.place.has_value()) lines_[known.queue.index()].erase(*known.place);
  known.place.reset();
  if (known.loose_at == kNotLoose) return;
  const JobId last = loose_.back();
  loose_[known.loose_at] = last;
  places_[last.index()].loose_at = known.loose_at;
  loose_.pop_back();
  known.loose_at = kNotLoose;
}

void WaitingLines::Follow(const Books& books, JobId id) {
  if (!on_) return;
  if (places_.size() <= id.index()) places_.resize(books.jobs.size());
  Known& known = places_[id.index()];
  const JobRow& job = books.jobs[id.index()];
  const bool waits = job.live && job.waiting_at != JobRow::kNotWaiting;
  if (!waits || !StandsInLine(books, job)) {
    if (waits && known.loose_at != kNotLoose) return;
    Leave(known);
    if (!waits) return;
    known.loose_at = static_cast<std::uint32_t>(loose_.size());
    loose_.push_back(id);
    return;
  }
  Place place{order_->KeyOf(books, job), job.created, job.uid, id};
  if (known.place == place && known.queue == job.queue) return;
  Leave(known);
  if (lines_.size() <= job.queue.index()) lines_.resize(job.queue.index() + 1);
  known.queue = job.queue;
  lines_[job.queue.index()].insert(place);
  known.place = std::move(place);
}

void WaitingLines::Use(const Books& books, std::shared_ptr<const Order> order) {
  const bool other = (order_ == nullptr) != (order == nullptr);
  order_ = std::move(order);
  if (other) Rebuild(books);
}

void WaitingLines::Rebuild(const Books& books) {
  std::shared_ptr<const Order> order = std::move(order_);
  *this = WaitingLines();
  order_ = std::move(order);
  on_ = Keeps(books.config, order_.get());
  if (!on_) return;
  for (std::size_t j = 0; j < books.jobs.size(); ++j) Follow(books, JobId(j));
}

std::string WaitingLines::Check(const Books& books) const {
  WaitingLines fresh;
  fresh.Use(books, order_);
  if (fresh.on_ != on_) return "waiting lines: kept, or not, against the configuration";
  std::vector<JobId> loose = loose_, fresh_loose = fresh.loose_;
  std::sort(loose.begin(), loose.end());
  std::sort(fresh_loose.begin(), fresh_loose.end());
  if (loose != fresh_loose) return "waiting lines: the loose jobs are not the pending ones";
  const std::size_t queues = std::max(lines_.size(), fresh.lines_.size());
  for (std::size_t q = 0; q < queues; ++q) {
    const Line* here = Of(QueueId(q));
    const Line* there = fresh.Of(QueueId(q));
    if ((here == nullptr) != (there == nullptr) || (here != nullptr && *here != *there)) {
      return "waiting lines: queue \"" + books.queues.spec(QueueId(q)).name +
             "\" has another line than its jobs";
    }
  }
  return "";
}

}  // namespace tephra
