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
  if (job.broken || job.quarantined || job.made_room_at != 0) return false;
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
  Add(question, (job.evicts ? 1 : 0) | (job.preemptible ? 2 : 0) | (job.pods_exist ? 4 : 0));
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
    Add(question, static_cast<std::int64_t>(group.roles.size()));
  }
  return question;
}

const std::vector<LineId>& WaitingLines::Of(QueueId queue) const {
  static const std::vector<LineId> none;
  return SlotOf(queue) < by_queue_.size() ? by_queue_[SlotOf(queue)] : none;
}

JobId WaitingLines::FirstOf(QueueId queue) const {
  const LinePlace* first = nullptr;
  for (const LineId id : Of(queue)) {
    const LinePlace* place = line(id).First();
    if (first == nullptr || *place < *first) first = place;
  }
  return first == nullptr ? JobId() : first->job;
}

std::vector<LineId> WaitingLines::All() const {
  std::vector<LineId> all;
  all.reserve(by_question_.size());
  for (const std::vector<LineId>& lines : by_queue_) {
    all.insert(all.end(), lines.begin(), lines.end());
  }
  return all;
}

LineId WaitingLines::LineFor(QueueId queue, Question question) {
  const auto [known, fresh] = by_question_.try_emplace(question);
  if (!fresh) return known->second;
  if (unused_.empty()) {
    unused_.push_back(LineId(lines_.size()));
    lines_.emplace_back();
  }
  const LineId id = unused_.back();
  unused_.pop_back();
  known->second = id;
  if (by_queue_.size() <= SlotOf(queue)) by_queue_.resize(SlotOf(queue) + 1);
  std::vector<LineId>& here = by_queue_[SlotOf(queue)];
  lines_[id.index()] = {};
  lines_[id.index()].question = std::move(question);
  lines_[id.index()].queue = queue;
  lines_[id.index()].shape = ShapeFor(lines_[id.index()].question);
  lines_[id.index()].at_in_queue = static_cast<std::uint32_t>(here.size());
  here.push_back(id);
  return id;
}

ShapeId WaitingLines::ShapeFor(const Question& question) {
  Question key(question.begin() + kBeforeShape, question.end());
  const auto [known, fresh] = by_shape_.try_emplace(key);
  if (!fresh) return known->second;
  if (unused_shapes_.empty()) {
    unused_shapes_.push_back(ShapeId(shapes_.size()));
    shapes_.emplace_back();
  }
  const ShapeId id = unused_shapes_.back();
  unused_shapes_.pop_back();
  known->second = id;
  shapes_[id.index()] = {};
  shapes_[id.index()].question = std::move(key);
  return id;
}

void WaitingLines::SetRun(LineId id, DurationMs before) {
  const Line& line = lines_[id.index()];
  const DurationMs now = line.jobs.ShortestRun();
  if (now == before) return;
  auto& runs = shapes_[line.shape.index()].runs;
  runs.erase({before, id});
  if (now != WaitingLine::kAnyRun) runs.emplace(now, id);
}

void WaitingLines::Enter(LineId id, LinePlace place, DurationMs run, Known& known) {
  WaitingLine& jobs = lines_[id.index()].jobs;
  const DurationMs before = jobs.ShortestRun();
  jobs.Insert(place, run);
  SetRun(id, before);
  known.line = id;
  known.place = std::move(place);
  known.run = run;
}

void WaitingLines::Leave(Known& known) {
  if (known.line.valid()) {
    Line& line = lines_[known.line.index()];
    const DurationMs before = line.jobs.ShortestRun();
    line.jobs.Erase(known.place);
    SetRun(known.line, before);
    if (line.jobs.empty()) {
      if (Shape& shape = shapes_[line.shape.index()]; shape.runs.empty()) {
        by_shape_.erase(shape.question);
        unused_shapes_.push_back(line.shape);
      }
      std::vector<LineId>& here = by_queue_[SlotOf(line.queue)];
      here[line.at_in_queue] = here.back();
      lines_[here.back().index()].at_in_queue = line.at_in_queue;
      here.pop_back();
      by_question_.erase(line.question);
      unused_.push_back(known.line);
    }
    known.line = LineId();
    known.place = {};
  }
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
  LinePlace place{order_->KeyOf(books, job), job.created, job.uid, id};
  const DurationMs run = WaitingLine::RunOf(job.estimated_runtime_ms);
  Question question = QuestionOf(books, id);
  if (known.line.valid() && known.place == place && known.run == run &&
      lines_[known.line.index()].question == question) {
    return;
  }
  Leave(known);
  Enter(LineFor(job.queue, std::move(question)), std::move(place), run, known);
  if (!job.due) WaitsForMore(id);
}

void WaitingLines::Asks(const std::vector<LineId>& lines) {
  ++cycles_;
  for (const LineId id : lines) {
    lines_[id.index()].waits_for_room_alone = true;
    lines_[id.index()].asked = cycles_;
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
  if (!IsRoomAlone(said.reason)) shape.waits_more = cycles_;
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
  const DurationMs run = places_[job.index()].run;
  const Standing* const own = line.said.Of(run);
  const Standing* const of_shape =
      Shares(line) ? shapes_[line.shape.index()].said.Of(run) : nullptr;
  if (own == nullptr || of_shape == nullptr) return own != nullptr ? own : of_shape;
  return own->plan < of_shape->plan ? of_shape : own;
}

bool WaitingLines::WaitsForRoomAlone(LineId id) const {
  const Line& line = lines_[id.index()];
  const bool shares_more = Shares(line) && shapes_[line.shape.index()].waits_more >= line.asked;
  return line.waits_for_room_alone && !shares_more;
}

const Standing& StandingOf(const Books& books, JobId job) {
  const Standing& own = books.jobs[job.index()].standing;
  const Standing* of_line = books.lines.AnswerOf(job);
  return of_line != nullptr && (!own.asked || of_line->plan > own.plan) ? *of_line : own;
}

void WaitingLines::WaitsForMore(JobId job) {
  if (const LineId id = LineOf(job); id.valid()) lines_[id.index()].waits_for_room_alone = false;
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
  for (const LineId id : All()) here += line(id).size();
  for (std::size_t j = 0; j < books.jobs.size(); ++j) {
    const LineId mine = LineOf(JobId(j)), other = fresh.LineOf(JobId(j));
    if (other.valid()) ++there;
    if (!mine.valid() && !other.valid()) continue;
    const bool same = mine.valid() && other.valid() &&
                      lines_[mine.index()].question == fresh.lines_[other.index()].question &&
                      places_[j].place == fresh.places_[j].place &&
                      places_[j].run == fresh.places_[j].run;
    if (!same) return "waiting lines: job \"" + books.jobs[j].name + "\" stands elsewhere";
  }
  return here == there ? "" : "waiting lines: jobs stand in them that do not wait";
}

}  // namespace tephra
