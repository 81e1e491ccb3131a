#include "engine/ranking.h"

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <unordered_map>

#include "topology/base/check.h"

namespace tephra {
namespace {

// A ranking of a class that was not asked about lately is dropped once all of them hold more than
// this many nodes: 8 Mi x about 22 bytes = 180 MB at the worst.
constexpr std::size_t kMostRankedNodes = 8u << 20;

constexpr MaxTree::Value kNearestDeficit = -1;
// Fits, and is not rated yet: above all ratings, so that such nodes come to the top.
constexpr MaxTree::Value kUnrated = std::numeric_limits<MaxTree::Value>::max();
static_assert(kUnrated > kMaxPoints);

Misfit MisfitOf(const Snapshot& snapshot, const TaskClass& cls, NodeId node) {
  switch (CheckNode(snapshot.hardware().spec(node), cls.pod.constraints, cls.needs_devices())) {
    case Ineligible::kNo:
      return Misfit::kFits;
    case Ineligible::kUnschedulable:
      return Misfit::kUnschedulable;
    case Ineligible::kTaint:
      return Misfit::kTaint;
    case Ineligible::kSelector:
      return Misfit::kSelector;
    case Ineligible::kModel:
      return Misfit::kModel;
  }
  return Misfit::kFits;
}

bool OnlyHostLimits(const ClassTable& classes, const TaskClass& cls) {
  return std::all_of(cls.limits.begin(), cls.limits.end(),
                     [&](LimitId limit) { return classes.topology_key(limit) == kHostnameKey; });
}

}  // namespace

void Ranking::RateNode(std::uint32_t rank) const {
  const NodeId node = ledger_->snapshot().hardware().ranked()[rank];
  tree_.Set(rank, policies_->score->Rate(ledger_->View(node), *cls_));
}

MaxTree::Value Ranking::rating(std::uint32_t rank) const {
  if (tree_.at(rank) == kUnrated) RateNode(rank);
  return tree_.at(rank);
}

void Ranking::ForgetRatings() {
  std::vector<MaxTree::Value> leaves(misfit_.size());
  for (std::size_t r = 0; r < leaves.size(); ++r) {
    leaves[r] = tree_.at(r) < 0 ? tree_.at(r) : kUnrated;
  }
  tree_.Assign(leaves);
}

std::pair<MaxTree::Value, std::size_t> Ranking::BestIn(RankSpan within) const {
  auto top = TopOf(within);
  while (top.first == kUnrated) {
    RateNode(static_cast<std::uint32_t>(top.second));
    top = TopOf(within);
  }
  return top;
}

std::pair<MaxTree::Value, std::size_t> Ranking::TopOf(RankSpan within) const {
  if (within.everywhere()) return {tree_.best(), misfit_.empty() ? 0 : tree_.first_best()};
  if (within.empty()) return {MaxTree::kLowest, 0};
  return tree_.BestIn(within.first, within.last);
}

NodeId Ranking::Best(const Snapshot& snapshot, std::uint64_t draw, RankSpan within) const {
  const auto [best, first] = BestIn(within);
  if (best < 0) return NodeId();
  const auto& ranked = snapshot.hardware().ranked();
  if (snapshot.config().ties == Ties::kFirstName) return ranked[first];
  const std::size_t last = std::min<std::size_t>(within.last, ranked.size());
  std::size_t ties = 0;
  for (std::size_t r = first; r < last; ++r) ties += tree_.at(r) == best;
  std::size_t skip = draw % ties;
  std::size_t r = first;
  while (tree_.at(r) != best || skip-- > 0) ++r;
  return ranked[r];
}

NodeId Ranking::Nearest(const Snapshot& snapshot, RankSpan within) const {
  const auto [best, first] = BestIn(within);
  if (best == MaxTree::kLowest) return NodeId();
  return snapshot.hardware().ranked()[first];
}

std::array<std::int32_t, kMisfits> Ranking::NodesByMisfit(RankSpan within) const {
  if (within.everywhere()) return by_misfit_;
  std::array<std::int32_t, kMisfits> nodes{};
  for (std::uint32_t r = within.first; r < within.last; ++r) ++nodes[static_cast<int>(misfit_[r])];
  return nodes;
}

std::int64_t Ranking::room(RankSpan within) const {
  if (within.everywhere()) return room_;
  if (within.empty()) return 0;
  if (capped_) return CappedRoom(*ledger_, *cls_, within);
  return copies_in_.SumBefore(within.last) - copies_in_.SumBefore(within.first);
}

// Nodes alike are asked about once.
Misfit Ranking::ByLikeness(const Snapshot& snapshot, const TaskClass& cls, NodeId node) {
  const std::uint32_t likeness = snapshot.hardware().likeness(node);
  if (by_likeness_.size() <= likeness) {
    by_likeness_.resize(snapshot.hardware().likenesses(), Misfit::kAbsent);
  }
  Misfit& known = by_likeness_[likeness];
  if (known == Misfit::kAbsent) known = MisfitOf(snapshot, cls, node);
  return known;
}

Misfit Ranking::Eligibility(const Ledger& ledger, const TaskClass& cls, ClassId id, NodeId node) {
  const Snapshot& snapshot = ledger.snapshot();
  const std::uint32_t rank = snapshot.hardware().rank(node);
  const std::uint32_t spec = snapshot.hardware().spec_version(node);
  if (spec_seen_[rank] != spec) {
    spec_seen_[rank] = spec;
    eligible_[rank] =
        names_hosts_ ? MisfitOf(snapshot, cls, node) : ByLikeness(snapshot, cls, node);
  }
  // A refusal may end, so it says nothing about whether the class could ever run here.
  const auto& refused = snapshot.books().refused;
  if (eligible_[rank] == Misfit::kFits && !refused.empty() &&
      ledger.basis() != Ledger::Basis::kEmpty && refused.contains(RefusalKey(id, node))) {
    return Misfit::kRefused;
  }
  // Nor does a mask.
  if (eligible_[rank] == Misfit::kFits && masked_ && ledger.basis() != Ledger::Basis::kEmpty &&
      (mask_ == nullptr || mask_->Excludes(node))) {
    return Misfit::kExcluded;
  }
  return eligible_[rank];
}

MaxTree::Value Ranking::Evaluate(const Ledger& ledger, const TaskClass& cls, ClassId id,
                                 const Policies& policies, NodeId node) {
  const std::uint32_t rank = ledger.snapshot().hardware().rank(node);
  MaxTree::Value value = MaxTree::kLowest;
  Misfit misfit = Eligibility(ledger, cls, id, node);
  if (misfit == Misfit::kFits) {
    const NodeView view = ledger.View(node);
    const std::int32_t limit_room = ledger.occupancy().LimitRoom(ledger.facts(), cls, node);
    const Fit::Answer answer = policies.fit->Check(view, cls, limit_room);
    misfit = answer.misfit;
    value = misfit == Misfit::kFits ? kUnrated : kNearestDeficit - answer.deficit;
  }
  --by_misfit_[static_cast<int>(misfit_[rank])];
  ++by_misfit_[static_cast<int>(misfit)];
  misfit_[rank] = misfit;
  return value;
}

void Ranking::Rebuild(const Ledger& ledger, const TaskClass& cls, ClassId id,
                      const Policies& policies) {
  const auto& ranked = ledger.snapshot().hardware().ranked();
  misfit_.assign(ranked.size(), Misfit::kAbsent);
  eligible_.assign(ranked.size(), Misfit::kFits);
  spec_seen_.assign(ranked.size(), 0);
  by_likeness_.clear();
  names_hosts_ = NamesHosts(cls.pod.constraints);
  by_misfit_.fill(0);
  by_misfit_[static_cast<int>(Misfit::kAbsent)] = static_cast<std::int32_t>(ranked.size());
  std::vector<MaxTree::Value> leaves(ranked.size());
  for (std::size_t r = 0; r < ranked.size(); ++r) {
    leaves[r] = Evaluate(ledger, cls, id, policies, ranked[r]);
  }
  tree_.Assign(leaves);
}

// Whether a limit wider than a node has moved, which can change any node.
bool Ranking::LimitsMoved(const Ledger& ledger, const TaskClass& cls, std::uint64_t& read) const {
  const auto& log = ledger.occupancy().limit_log();
  bool moved = !log.Covers(read);
  if (!moved && !OnlyHostLimits(ledger.snapshot().classes(), cls)) {
    log.EachSince(read, [&](LimitId limit) {
      moved = moved || std::find(cls.limits.begin(), cls.limits.end(), limit) != cls.limits.end();
    });
  }
  read = log.end();
  return moved;
}

void Ranking::Follow(const Ledger& ledger, const TaskClass& cls, ClassId id,
                     const Policies& policies) {
  ledger_ = &ledger;
  cls_ = &cls;
  policies_ = &policies;
  const Snapshot& snapshot = ledger.snapshot();
  const auto& log = ledger.occupancy().node_log();
  const std::uint64_t order = snapshot.hardware().order_version() + 1;
  masked_ = !cls.pod.constraints.mask.empty();
  mask_ = masked_ ? snapshot.books().masks.Find(cls.pod.constraints.mask) : nullptr;
  const std::uint64_t mask_serial = mask_ == nullptr ? 0 : mask_->serial();
  const bool afresh = generation_ != snapshot.classes().generation(id) || order_seen_ != order ||
                      !log.Covers(rows_seen_) || mask_serial_ != mask_serial ||
                      (mask_ != nullptr && !mask_->log().Covers(mask_seen_));
  if (generation_ != snapshot.classes().generation(id)) room_order_seen_ = 0;
  if ((!cls.limits.empty() && LimitsMoved(ledger, cls, limits_seen_)) || afresh) {
    Rebuild(ledger, cls, id, policies);
  } else {
    const auto look = [&](NodeId node) {
      if (!snapshot.hardware().present(node)) return;
      tree_.Set(snapshot.hardware().rank(node), Evaluate(ledger, cls, id, policies, node));
    };
    log.EachSince(rows_seen_, look);
    if (mask_ != nullptr) mask_->log().EachSince(mask_seen_, look);
  }
  generation_ = snapshot.classes().generation(id);
  order_seen_ = order;
  rows_seen_ = log.end();
  mask_serial_ = mask_serial;
  mask_seen_ = mask_ == nullptr ? 0 : mask_->log().end();
}

void Ranking::FollowRoom(const Ledger& ledger, const TaskClass& cls, const Policies& policies) {
  const Snapshot& snapshot = ledger.snapshot();
  const auto& ranked = snapshot.hardware().ranked();
  const auto& log = ledger.occupancy().node_log();
  const auto copies = [&](NodeId node) -> std::int32_t {
    const std::uint32_t rank = snapshot.hardware().rank(node);
    if (tree_.at(rank) < 0) return 0;
    return policies.fit->Copies(ledger.View(node), cls,
                                ledger.occupancy().LimitRoom(ledger.facts(), cls, node));
  };
  const bool limits_moved = !cls.limits.empty() && LimitsMoved(ledger, cls, room_limits_seen_);
  if (room_order_seen_ != order_seen_ || !log.Covers(room_rows_seen_) || limits_moved ||
      room_mask_serial_ != mask_serial_ ||
      (mask_ != nullptr && !mask_->log().Covers(room_mask_seen_))) {
    copies_.resize(ranked.size());
    for (std::size_t r = 0; r < ranked.size(); ++r) copies_[r] = copies(ranked[r]);
    copies_in_.Assign(copies_);
  } else {
    const auto count = [&](NodeId node) {
      if (!snapshot.hardware().present(node)) return;
      const std::uint32_t rank = snapshot.hardware().rank(node);
      const std::int32_t now = copies(node);
      copies_in_.Add(rank, now - copies_[rank]);
      copies_[rank] = now;
    };
    log.EachSince(room_rows_seen_, count);
    if (mask_ != nullptr) mask_->log().EachSince(room_mask_seen_, count);
  }
  room_order_seen_ = order_seen_;
  room_rows_seen_ = log.end();
  room_mask_serial_ = mask_serial_;
  room_mask_seen_ = mask_seen_;
  capped_ = !OnlyHostLimits(snapshot.classes(), cls);
  room_ = capped_ ? CappedRoom(ledger, cls, {}) : copies_in_.all();
}

// Copies summed by domain, each domain capped by what its limit leaves; the least over the keys.
std::int64_t Ranking::CappedRoom(const Ledger& ledger, const TaskClass& cls,
                                 RankSpan within) const {
  const Snapshot& snapshot = ledger.snapshot();
  const auto& ranked = snapshot.hardware().ranked();
  const std::size_t last = std::min<std::size_t>(within.last, ranked.size());
  std::int64_t least = copies_in_.SumBefore(last) - copies_in_.SumBefore(within.first);
  for (std::size_t i = 0; i < cls.limits.size(); ++i) {
    const std::string& key = snapshot.classes().topology_key(cls.limits[i]);
    if (key == kHostnameKey) continue;
    std::unordered_map<std::uint32_t, std::int64_t> by_domain;
    std::int64_t sum = 0;
    for (std::size_t r = within.first; r < last; ++r) {
      if (copies_[r] == 0) continue;
      const std::uint32_t domain = snapshot.hardware().domain(key, ranked[r]);
      if (domain == Hardware::kNoDomain) {
        sum += copies_[r];
        continue;
      }
      const std::int64_t left =
          ledger.occupancy().limit_count(cls.limits[i], domain).Left(cls.use(i));
      std::int64_t& so_far = by_domain[domain];
      const std::int64_t more = std::min<std::int64_t>(copies_[r], left - so_far);
      so_far += std::max<std::int64_t>(more, 0);
      sum += std::max<std::int64_t>(more, 0);
    }
    least = std::min(least, sum);
  }
  return least;
}

void Rankings::Begin(const Ledger& ledger, const Policies& policies) {
  ledger_ = &ledger;
  policies_ = &policies;
  narrowed_.clear();
  const Books& books = ledger.snapshot().books();
  const std::size_t nodes = std::max<std::size_t>(books.hardware.ranked().size(), 1);
  const std::uint64_t keep = std::max<std::uint64_t>(kMostRankedNodes / nodes, 64);
  if (config_seen_ != books.config_version) rankings_.clear();
  config_seen_ = books.config_version;
  rankings_.resize(books.classes.size());
  if (uses_ < keep) return;
  if (rankings_.size() <= keep) return;
  std::size_t held = 0;
  for (const auto& ranking : rankings_) held += ranking != nullptr;
  if (held <= keep) return;
  for (auto& ranking : rankings_) {
    if (ranking != nullptr && ranking->used_ + keep < uses_) ranking.reset();
  }
}

// Null where the class has no choice, or nothing is kept from it.
Rankings::Narrowed* Rankings::Narrow(ClassId id, KindSet without) {
  const TaskClass& cls = ledger_->snapshot().cls(id);
  if (without == 0 || !cls.needs_devices() || (cls.model_kinds & without) != 0) return nullptr;
  const auto [it, fresh] = narrowed_.try_emplace({id, without});
  if (!fresh) return &it->second;
  it->second.cls = cls;
  // Named one by one: the nodes that it may run on, are present, and are not excluded.
  const Snapshot& snapshot = ledger_->snapshot();
  const ModelKinds& counted = snapshot.books().kinds.models();
  std::set<std::string> left;
  for (const NodeId node : snapshot.hardware().ranked()) {
    for (const DeviceHardware& device : snapshot.hardware().spec(node).devices) {
      const auto kind = counted.find(device.model);
      const bool kept_off = kind != counted.end() && (without >> kind->second & 1) != 0;
      if (!kept_off && DeviceAllowed(cls.pod.constraints, device)) {
        left.insert(device.model);
      }
    }
  }
  static const std::string kNone(1, '\0');  // that no device is of: an empty list means any
  if (left.empty()) left.insert(kNone);
  it->second.cls.pod.constraints.device_models.assign(left.begin(), left.end());
  return &it->second;
}

const TaskClass& Rankings::ClassOf(ClassId cls, KindSet without) {
  const Narrowed* narrowed = Narrow(cls, without);
  return narrowed == nullptr ? ledger_->snapshot().cls(cls) : narrowed->cls;
}

void Rankings::Follow(Ranking& ranking, const TaskClass& cls, ClassId id) {
  if (ranking.ratings_seen_ != ratings_) ranking.ForgetRatings();
  ranking.ratings_seen_ = ratings_;
  ranking.Follow(*ledger_, cls, id, *policies_);
}

const Ranking& Rankings::For(ClassId cls, KindSet without) {
  if (Narrowed* narrowed = Narrow(cls, without)) {
    Follow(narrowed->ranking, narrowed->cls, cls);
    return narrowed->ranking;
  }
  auto& ranking = rankings_[cls.index()];
  if (ranking == nullptr) ranking = std::make_unique<Ranking>();
  ranking->used_ = ++uses_;
  Follow(*ranking, ledger_->snapshot().cls(cls), cls);
  return *ranking;
}

const Ranking& Rankings::WithRoom(ClassId cls, KindSet without) {
  For(cls, without);
  if (Narrowed* narrowed = Narrow(cls, without)) {
    narrowed->ranking.FollowRoom(*ledger_, narrowed->cls, *policies_);
    return narrowed->ranking;
  }
  rankings_[cls.index()]->FollowRoom(*ledger_, ledger_->snapshot().cls(cls), *policies_);
  return *rankings_[cls.index()];
}

}  // namespace tephra
