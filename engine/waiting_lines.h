// WaitingLines: the jobs that wait in queues that are first in, first out, each queue's in the
// order of their turns, so that a cycle asks the first of them and looks at no job behind.
//
// They are kept where the Order gives keys, there is no enqueue gate, and no job reports again which
// job is ahead of it (EngineConfig::report_job_ahead); else all is empty. In a line stand jobs of
// which nothing runs; other pending jobs are loose. One owner thread.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "topology/base/ids.h"
#include "topology/base/time.h"

namespace tephra {

struct Books;
class Order;

// The lower key goes first (Order::KeyOf).
struct OrderKey {
  std::int64_t first = 0, second = 0;

  auto operator<=>(const OrderKey&) const = default;
};

class WaitingLines {
 public:
  // Order::Before, as long as none of it runs.
  struct Place {
    OrderKey key;
    TimeMs created = 0;
    std::string uid;
    JobId job;

    auto operator<=>(const Place&) const = default;
  };
  using Line = std::set<Place>;

  bool on() const { return on_; }
  // By QueueId; null: no job stands in one.
  const Line* Of(QueueId queue) const;
  const std::vector<JobId>& loose() const { return loose_; }  // in no order
  bool lined(JobId job) const {
    return job.index() < places_.size() && places_[job.index()].place.has_value();
  }
  // The first of each line, and all that are loose: the jobs that a cycle may find an answer for.
  std::vector<JobId> Askable() const;

  // The jobs go by this order from now on; null: by none that is known.
  void Use(const Books& books, std::shared_ptr<const Order> order);
  // Something of the job changed, or it is gone.
  void Follow(const Books& books, JobId job);
  // Something changed that concerns many.
  void Rebuild(const Books& books);
  // Empty, or what is wrong.
  std::string Check(const Books& books) const;

 private:
  static constexpr std::uint32_t kNotLoose = 0xffffffffu;
  struct Known {
    std::optional<Place> place;  // in the line of `queue`
    QueueId queue;
    std::uint32_t loose_at = kNotLoose;  // in loose_

    bool operator==(const Known&) const = default;
  };
  void Leave(Known& known);

  std::shared_ptr<const Order> order_;
  bool on_ = false;
  std::vector<Known> places_;  // by JobId
  std::vector<Line> lines_;    // by QueueId
  std::vector<JobId> loose_;
};

}  // namespace tephra
