#include "plugins/preemption/victim_search.h"

#include <algorithm>
#include <utility>

namespace tephra {

VictimSearch::VictimSearch(Ledger& ledger, const VictimBook& book, Rules rules,
                           std::vector<VictimRef> allowed, std::function<Fits()> fits,
                           std::int32_t step_cost, std::int32_t budget)
    : ledger_(ledger),
      book_(book),
      rules_(std::move(rules)),
      fits_(std::move(fits)),
      step_cost_(step_cost),
      budget_(budget) {
  std::sort(allowed.begin(), allowed.end());
  for (const VictimRef ref : allowed) {
    if (jobs_.empty() || jobs_.back().candidate != ref.candidate) {
      jobs_.push_back({ref.candidate, {}, {}, false});
    }
    jobs_.back().victims.push_back(ref);
  }
  for (Job& job : jobs_) {
    const Candidate& candidate = book.of(job.victims.front());
    job.cost = candidate.cost();
    job.whole = candidate.whole && job.victims.size() == candidate.left;
    std::stable_sort(job.victims.begin(), job.victims.end(),
                     [&](VictimRef a, VictimRef b) { return book.at(a).cost > book.at(b).cost; });
  }
  std::stable_sort(jobs_.begin(), jobs_.end(),
                   [](const Job& a, const Job& b) { return a.cost > b.cost; });
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
  if (!best_.found) best_.cost = EvictionCost::Most();
  {
    Attempt attempt(ledger_);
    for (const Job& job : jobs_) {
      for (const VictimRef ref : job.victims) ledger_.Free(book_.at(ref).task);
    }
    if (Try()) Decide(0, EvictionCost{});
  }
  best_.exact = !Ended() && !unsure_;
  best_.steps = steps_;
  std::sort(best_.victims.begin(), best_.victims.end());
  return best_;
}

void VictimSearch::Decide(std::size_t j, const EvictionCost& cost) {
  if (cost >= best_.cost || Ended()) return;
  if (j == jobs_.size()) {
    if (!rules_.covers(chosen_)) return;
    best_.found = true;
    best_.cost = cost;
    best_.victims = chosen_;
    return;
  }
  const Job& job = jobs_[j];
  {
    Attempt attempt(ledger_);
    for (const VictimRef ref : job.victims) GiveBack(ref);
    if (Try()) Decide(j + 1, cost);
  }
  const bool alone = book_.of(job.victims.front()).alone;
  if (alone || book_.of(job.victims.front()).surplus > 0) DecideTasks(j, 0, 0, cost, cost);
  if (alone || !job.whole || !book_.Breaks(job.victims)) return;
  const std::size_t before = chosen_.size();
  chosen_.insert(chosen_.end(), job.victims.begin(), job.victims.end());
  if (rules_.may_evict_all(chosen_)) Decide(j + 1, cost + job.cost);
  chosen_.resize(before);
}

// Evicts some tasks of the job, one by one, and keeps the job running, or lets the other tasks wait.
// `before` is the cost without the job.
void VictimSearch::DecideTasks(std::size_t j, std::size_t v, std::size_t chosen,
                               const EvictionCost& before, const EvictionCost& cost) {
  if (cost >= best_.cost || Ended()) return;
  const Job& job = jobs_[j];
  if (v == job.victims.size()) {
    if (chosen > 0) Decide(j + 1, cost);
    return;
  }
  {
    Attempt attempt(ledger_);
    GiveBack(job.victims[v]);
    if (Try()) DecideTasks(j, v + 1, chosen, before, cost);
  }
  chosen_.push_back(job.victims[v]);
  const std::span<const VictimRef> of_job(chosen_.end() - static_cast<std::ptrdiff_t>(chosen) - 1,
                                          chosen_.end());
  const bool may = book_.of(job.victims[v]).alone || !book_.Breaks(of_job);
  if (may && rules_.may_evict_all(chosen_)) {
    DecideTasks(j, v + 1, chosen + 1, before, before + book_.CostOf(of_job));
  }
  chosen_.pop_back();
}

}  // namespace tephra
