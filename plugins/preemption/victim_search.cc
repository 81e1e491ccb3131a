#include "plugins/preemption/victim_search.h"

#include <algorithm>
#include <utility>

namespace tephra {

VictimSearch::VictimSearch(Ledger& ledger, const VictimBook& book, Rules rules,
                           std::vector<VictimRef> takeable, std::function<Fits()> fits,
                           std::int32_t step_cost, std::int32_t budget)
    : ledger_(ledger),
      book_(book),
      rules_(std::move(rules)),
      fits_(std::move(fits)),
      step_cost_(step_cost),
      budget_(budget) {
  std::sort(takeable.begin(), takeable.end());
  for (const VictimRef ref : takeable) {
    if (jobs_.empty() || jobs_.back().candidate != ref.candidate) {
      jobs_.push_back({ref.candidate, {}, {}, false});
    }
    jobs_.back().victims.push_back(ref);
  }
  for (Job& job : jobs_) {
    const Candidate& candidate = book.of(job.victims.front());
    job.toll = candidate.toll();
    job.whole = candidate.whole && job.victims.size() == candidate.left;
    std::stable_sort(job.victims.begin(), job.victims.end(),
                     [&](VictimRef a, VictimRef b) { return book.at(a).cost > book.at(b).cost; });
  }
  std::stable_sort(jobs_.begin(), jobs_.end(),
                   [](const Job& a, const Job& b) { return a.toll > b.toll; });
}

bool VictimSearch::Try() {
  steps_ += step_cost_;
  const Fits fits = fits_();
  unsure_ = unsure_ || fits == Fits::kUnknown;
  return fits == Fits::kYes;
}

void VictimSearch::GiveBack(VictimRef ref) {
  const TaskRow& task = ledger_.snapshot().task(book_.at(ref).task);
  ledger_.Charge(task.cls, ledger_.snapshot().job(task.job).queue,
                 {book_.at(ref).task, task.node, task.slices});
}

VictimSearch::Answer VictimSearch::Run(Answer known) {
  best_ = std::move(known);
  if (!best_.found) best_.toll = Toll::Most();
  {
    Attempt attempt(ledger_);
    for (const Job& job : jobs_) {
      for (const VictimRef ref : job.victims) ledger_.Free(book_.at(ref).task);
    }
    if (Try()) Decide(0, Toll{});
  }
  best_.exact = !Ended() && !unsure_;
  best_.steps = steps_;
  std::sort(best_.victims.begin(), best_.victims.end());
  return best_;
}

void VictimSearch::Decide(std::size_t j, const Toll& toll) {
  if (toll >= best_.toll || Ended()) return;
  if (j == jobs_.size()) {
    if (!rules_.covers(gone_)) return;
    best_.found = true;
    best_.toll = toll;
    best_.victims = gone_;
    return;
  }
  const Job& job = jobs_[j];
  {
    Attempt attempt(ledger_);
    for (const VictimRef ref : job.victims) GiveBack(ref);
    if (Try()) Decide(j + 1, toll);
  }
  if (book_.of(job.victims.front()).surplus > 0) DecideTasks(j, 0, 0, toll);
  if (!job.whole || !book_.Breaks(job.victims)) return;
  const std::size_t before = gone_.size();
  gone_.insert(gone_.end(), job.victims.begin(), job.victims.end());
  if (rules_.may_all_go(gone_)) Decide(j + 1, toll + job.toll);
  gone_.resize(before);
}

// Some of the job's tasks, one by one, so that it lives on.
void VictimSearch::DecideTasks(std::size_t j, std::size_t v, std::size_t gone, const Toll& toll) {
  if (toll >= best_.toll || Ended()) return;
  const Job& job = jobs_[j];
  if (v == job.victims.size()) {
    if (gone > 0) Decide(j + 1, toll);
    return;
  }
  {
    Attempt attempt(ledger_);
    GiveBack(job.victims[v]);
    if (Try()) DecideTasks(j, v + 1, gone, toll);
  }
  gone_.push_back(job.victims[v]);
  const std::span<const VictimRef> of_job(gone_.end() - static_cast<std::ptrdiff_t>(gone) - 1,
                                          gone_.end());
  if (!book_.Breaks(of_job) && rules_.may_all_go(gone_)) {
    DecideTasks(j, v + 1, gone + 1, toll + Toll{0, 1, book_.at(job.victims[v]).cost});
  }
  gone_.pop_back();
}

}  // namespace tephra
