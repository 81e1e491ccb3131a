#include "engine/waiting_lines.h"

#include <algorithm>
#include <utility>

#include "engine/policy.h"

namespace tephra {
namespace {

// Whether pending jobs keep their order by themselves.
bool Keeps(const EngineConfig& config, const Order* order) {
  return order != nullptr && order->HasKeys(config) && config.enqueue_gate == EnqueueGate::kNone;
}

// Whether all of the job waits, and nothing but its question and its turn says what becomes of it.
bool StandsInLine(const Books& books, const JobRow& job) {
  if (job.counted() > 0 || job.keeps_room() || job.satisfied()) return false;
  if (books.queues.InOrder(job.queue)) return !books.config.report_job_ahead;
  if (job.broken || job.quarantined) return false;
  return std::all_of(job.roles.begin(), job.roles.end(), [](const RoleRow& role) {
    return role.pending == static_cast<std::int32_t>(role.tasks.size());
  });
}

void Add(std::vector<std::uint32_t>& to, std::int64_t number) {
  to.push_back(static_cast<std::uint32_t>(number));
}

void Add(std::vector<std::uint32_t>& to, const Locality& locality) {
  Add(to, static_cast<std::int64_t>(locality.mode));
  Add(to, locality.highest_tier);
  Add(to, static_cast<std::int64_t>(locality.highest_tier_name.size()));
  for (const char c : locality.highest_tier_name) Add(to, c);
}

}  // namespace

WaitingLines::Question WaitingLines::QuestionOf(const Books& books, JobId id) {
  const JobRow& job = books.jobs[id.index()];
  Question question;
  question.reserve(12 + 6 * job.roles.size());
  Add(question, job.queue.value);
  Add(question, job.priority);
  Add(question, (job.may_evict() ? 1 : 0) | (job.preemptible ? 2 : 0) | (job.pods_exist ? 4 : 0) |
                    (job.is_protected() ? 8 : 0));
  Add(question, job.min_member);
  Add(question, job.locality);
  Add(question, static_cast<std::int64_t>(job.roles.size()));
  for (const RoleRow& role : job.roles) {
    Add(question, role.cls.value);
    Add(question, role.min);
    Add(question, role.group);
    Add(question, static_cast<std::int64_t>(role.tasks.size()));
    Add(question, role.pending);
  }
  for (const GroupRow& group : job.groups) {
    Add(question, group.spec.min_member);
    Add(question, group.spec.elastic ? 1 : 0);
    Add(question, group.spec.locality);
    Add(question, group.parent);
    Add(question, static_cast<std::int64_t>(group.roles.size()));
  }
  return question;
}

const WaitingLines::Lines& WaitingLines::Of(QueueId queue) const {
  static const Lines none;
  return SlotOf(queue) < by_queue_.size() ? by_queue_[SlotOf(queue)] : none;
}

JobId WaitingLines::FirstOf(QueueId queue) const {
  const Lines& lines = Of(queue);
  return lines.empty() ? JobId() : lines.begin()->first->job;
}

void WaitingLines::AddAll(std::vector<LineId>& to) const {
  to.reserve(to.size() + by_question_.size());
  for (const Lines& lines : by_queue_) {
    for (const InTurn& one : lines) to.push_back(one.line);
  }
}

void WaitingLines::AddOf(ShapeId shape, std::vector<LineId>& to) const {
  for (const auto& [run, line] : shapes_[shape.index()].runs) to.push_back(line);
}

void WaitingLines::AddAwaiting(Awaits least, std::vector<LineId>& to) const {
  const auto add = [&](const Awaiting& awaiting) {
    for (const LineId line : awaiting.lines) {
      if (AwaitsOf(line) >= least) to.push_back(line);
    }
    for (const ShapeId shape : awaiting.shapes) {
      for (const auto& [run, line] : shapes_[shape.index()].runs) {
        if (AwaitsOf(line) >= least) to.push_back(line);
      }
    }
  };
  add(any_change_);
  if (least <= Awaits::kReservations) add(reservations_);
}

LineId WaitingLines::LineFor(const Books& books, const JobRow& job, Question question) {
  const auto [known, fresh] = by_question_.try_emplace(question);
  if (!fresh) return known->second;
  if (unused_.empty()) {
    unused_.push_back(LineId(lines_.size()));
    lines_.emplace_back();
  }
  const LineId id = unused_.back();
  unused_.pop_back();
  known->second = id;
  if (by_queue_.size() <= SlotOf(job.queue)) by_queue_.resize(SlotOf(job.queue) + 1);
  lines_[id.index()] = {};
  lines_[id.index()].question = std::move(question);
  lines_[id.index()].queue = job.queue;
  lines_[id.index()].shape = ShapeFor(books, job, lines_[id.index()].question);
  return id;
}

ShapeId WaitingLines::ShapeFor(const Books& books, const JobRow& job, const Question& question) {
  Question key(question.begin() + kBeforeShape, question.end());
  const auto [known, fresh] = by_shape_.try_emplace(key);
  if (!fresh) return known->second;
  if (unused_shapes_.empty()) {
    unused_shapes_.push_back(ShapeId(shapes_.size()));
    shapes_.emplace_back();
    needs_.emplace_back();
  }
  const ShapeId id = unused_shapes_.back();
  unused_shapes_.pop_back();
  known->second = id;
  shapes_[id.index()] = {};
  shapes_[id.index()].question = std::move(key);
  needs_[id.index()] = NeedOf(books, job);
  return id;
}

TaskNeed WaitingLines::NeedOf(const Books& books, const JobRow& job) {
  TaskNeed need;
  bool first = true;
  std::int32_t least = 0;
  for (const RoleRow& role : job.roles) {
    least += role.min;
    if (role.tasks.empty()) continue;
    const TaskClass& cls = books.classes[role.cls];
    if (!cls.limits.empty()) return {};
    for (std::size_t k = 0; k < TaskNeed::kKinds.size(); ++k) {
      const std::int64_t asked = cls.demand[TaskNeed::kKinds[k]];
      const std::int64_t amount = asked > 0 ? asked : TaskNeed::kNone;
      need.amount[k] = first ? amount : std::min(need.amount[k], amount);
    }
    first = false;
  }
  need.tasks = std::max({least, job.min_member, 1});
  return need;
}

template <class Change>
void WaitingLines::Alter(LineId id, Change change) {
  Line& line = lines_[id.index()];
  Lines& here = by_queue_[SlotOf(line.queue)];
  const DurationMs run = line.jobs.ShortestRun();
  const LinePlace* const first = line.jobs.First();
  // The first job changes if another one comes before it, or it leaves.
  if (first != nullptr) here.erase({first, id});
  change(line.jobs);
  if (const LinePlace* const now = line.jobs.First()) here.insert({now, id});
  const DurationMs shortest = line.jobs.ShortestRun();
  if (shortest == run) return;
  auto& runs = shapes_[line.shape.index()].runs;
  if (run != WaitingLine::kAnyRun) runs.erase({run, id});
  if (shortest != WaitingLine::kAnyRun) runs.emplace(shortest, id);
}

void WaitingLines::Enter(LineId id, const LinePlace& place, DurationMs run, Known& known) {
  Alter(id, [&](WaitingLine& jobs) { known.entry = jobs.Insert(place, run); });
  known.line = id;
}

void WaitingLines::Leave(Known& known) {
  if (known.line.valid()) {
    Alter(known.line, [place = known.entry->first](WaitingLine& jobs) { jobs.Erase(place); });
    if (line(known.line).empty()) DropLine(known.line);
    known.line = LineId();
    known.entry = nullptr;
  }
  if (known.loose_at == kNotLoose) return;
  const JobId last = loose_.back();
  loose_[known.loose_at] = last;
  places_[last.index()].loose_at = known.loose_at;
  loose_.pop_back();
  known.loose_at = kNotLoose;
}

void WaitingLines::DropLine(LineId id) {
  const Line& line = lines_[id.index()];
  if (Shape& shape = shapes_[line.shape.index()]; shape.runs.empty()) {
    by_shape_.erase(shape.question);
    unused_shapes_.push_back(line.shape);
    reservations_.shapes.erase(line.shape);
    any_change_.shapes.erase(line.shape);
  }
  reservations_.lines.erase(id);
  any_change_.lines.erase(id);
  by_question_.erase(line.question);
  unused_.push_back(id);
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
  const LinePlace place{order_->KeyOf(books, job), job.created, job.uid, id};
  const DurationMs run = WaitingLine::RunOf(job.estimated_runtime_ms);
  Question question = QuestionOf(books, id);
  if (known.line.valid() && *known.entry == WaitingLine::Entry(place, run) &&
      lines_[known.line.index()].question == question) {
    return;
  }
  Leave(known);
  Enter(LineFor(books, job, std::move(question)), place, run, known);
  if (!job.due) Await(id, Awaits::kAnyChange);
}

void WaitingLines::Asks(const std::vector<LineId>& lines) {
  ++cycles_;
  for (const LineId id : lines) {
    Line& line = lines_[id.index()];
    if (line.awaits != Awaits::kRoom) {
      reservations_.lines.erase(id);
      any_change_.lines.erase(id);
    }
    line.awaits = Awaits::kRoom;
    line.asked = cycles_;
  }
  for (const LineId id : lines) Prune(lines_[id.index()].shape);
}

// Forgets what the shape awaited once all of its lines are asked again.
void WaitingLines::Prune(ShapeId id) {
  Shape& shape = shapes_[id.index()];
  if (std::exchange(shape.pruned, cycles_) == cycles_) return;
  for (const Awaits awaits : {Awaits::kReservations, Awaits::kAnyChange}) {
    const auto a = static_cast<std::size_t>(awaits);
    if (!shape.listed[a]) continue;
    shape.listed[a] = std::any_of(shape.runs.begin(), shape.runs.end(), [&](const auto& one) {
      return shape.awaited[a] >= lines_[one.second.index()].asked;
    });
    if (!shape.listed[a]) AwaitingOf(awaits).shapes.erase(id);
  }
}

void WaitingLines::Tell(JobId job, DurationMs from, bool every_queue, const Standing& said) {
  const LineId id = LineOf(job);
  if (!id.valid()) return;
  Line& line = lines_[id.index()];
  line.said = {said, from};
  line.answered = cycles_;
  if (!every_queue) return;
  Shape& shape = shapes_[line.shape.index()];
  Await(line.shape, tephra::AwaitsOf(said.reason));
  shape.answered = cycles_;
  shape.said = line.said;
}

// Of a later cycle, too, that did not ask the line: had the line had an answer of its own, it would
// have kept that.
bool WaitingLines::Shares(const Line& line) const {
  const Shape& shape = shapes_[line.shape.index()];
  return shape.answered == line.asked ||
         (shape.answered > line.asked && line.answered < line.asked);
}

const Standing* WaitingLines::AnswerOf(JobId job) const {
  const LineId id = LineOf(job);
  if (!id.valid()) return nullptr;
  const Line& line = lines_[id.index()];
  const DurationMs run = RunOf(job);
  const Standing* const own = line.said.Of(run);
  const Standing* const of_shape =
      Shares(line) ? shapes_[line.shape.index()].said.Of(run) : nullptr;
  if (own == nullptr || of_shape == nullptr) return own != nullptr ? own : of_shape;
  return own->plan < of_shape->plan ? of_shape : own;
}

Awaits WaitingLines::AwaitsOf(LineId id) const {
  const Line& line = lines_[id.index()];
  const Shape& shape = shapes_[line.shape.index()];
  const auto since = [&](Awaits awaits) {
    return shape.awaited[static_cast<std::size_t>(awaits)] >= line.asked;
  };
  if (since(Awaits::kAnyChange)) return Awaits::kAnyChange;
  return since(Awaits::kReservations) ? std::max(line.awaits, Awaits::kReservations) : line.awaits;
}

bool WaitingLines::MayBeReserved(LineId id) const {
  const Standing* const said = AnswerOf(lines_[id.index()].jobs.First()->job);
  return said == nullptr || said->verdict != Verdict::kInfeasible;
}

const Standing& StandingOf(const Books& books, JobId job) {
  const Standing& own = books.jobs[job.index()].standing;
  const Standing* of_line = books.lines.AnswerOf(job);
  return of_line != nullptr && (!own.asked || of_line->plan > own.plan) ? *of_line : own;
}

void WaitingLines::Await(JobId job, Awaits awaits) {
  const LineId id = LineOf(job);
  if (!id.valid()) return;
  Awaits& so_far = lines_[id.index()].awaits;
  if (awaits <= so_far) return;
  so_far = awaits;
  AwaitingOf(awaits).lines.insert(id);
}

void WaitingLines::Await(ShapeId id, Awaits awaits) {
  Shape& shape = shapes_[id.index()];
  if (awaits == Awaits::kRoom || shape.runs.empty()) return;
  const auto a = static_cast<std::size_t>(awaits);
  shape.awaited[a] = cycles_;
  if (!std::exchange(shape.listed[a], true)) AwaitingOf(awaits).shapes.insert(id);
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
  std::size_t here = 0, there = 0;
  std::vector<LineId> all;
  AddAll(all);
  for (const LineId id : all) here += line(id).size();
  for (std::size_t j = 0; j < books.jobs.size(); ++j) {
    const LineId mine = LineOf(JobId(j)), other = fresh.LineOf(JobId(j));
    if (other.valid()) ++there;
    if (!mine.valid() && !other.valid()) continue;
    const bool same = mine.valid() && other.valid() &&
                      lines_[mine.index()].question == fresh.lines_[other.index()].question &&
                      *places_[j].entry == *fresh.places_[j].entry;
    if (!same) return "waiting lines: job \"" + books.jobs[j].name + "\" stands elsewhere";
  }
  return here == there ? "" : "waiting lines: jobs stand in them that do not wait";
}

}  // namespace tephra
