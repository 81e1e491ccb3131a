#include "engine/usage.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "topology/base/check.h"

namespace tephra {
namespace {

constexpr double kLn2 = 0.69314718055994530942;

// An amount held for a second: less than that is nothing.
constexpr double kNothing = static_cast<double>(kSecondMs);

constexpr DurationMs kShortestSweepMs = 10 * kSecondMs;
constexpr DurationMs kLongestSweepMs = 600 * kSecondMs;

// 0 where `to` is the earlier one. Exact below 2^53 ms; far apart as two times may be.
double Between(TimeMs from, TimeMs to) {
  if (to <= from) return 0;
  return static_cast<double>(static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from));
}

bool Empty(const Account& account) {
  return account.holds == Resources{} && account.coming == Resources{} &&
         std::all_of(account.spent.begin(), account.spent.end(),
                     [](double spent) { return spent < kNothing; });
}

// What is held over a time t adds holds x (half-life / ln 2) x (1 - 2^(-t / half-life)): the
// integral of what each instant of it still counts for.
void Add(const Resources& held, double ms, Spent& spent) {
  for (int k = 0; k < kMaxKinds; ++k) spent[k] += static_cast<double>(held.amount[k]) * ms;
}

}  // namespace

// 2^-x for x = n + f. The lost part of f: 1 - e^-z by its series for z = f ln 2 / 32 <= 0.0217,
// where eight terms leave an error of z^8 / 9! < 2e-19 of it; then five times what is lost in twice
// the time, l (2 - l), which adds numbers of one sign only and so keeps what is exact.
Decay::Decay(double half_lives) {
  TEPHRA_CHECK(half_lives >= 0);
  if (!(half_lives < 1100)) {  // less than the smallest double
    kept = 0, lost = 1;
    return;
  }
  const double whole = std::floor(half_lives);
  const double z = (half_lives - whole) * kLn2 / 32;
  double series = 1;
  for (int term = 8; term >= 2; --term) series = 1 - z * series / term;
  double part = z * series;
  for (int i = 0; i < 5; ++i) part = part * (2 - part);
  kept = std::ldexp(1 - part, -static_cast<int>(whole));  // exact
  lost = whole == 0 ? part : 1 - kept;
}

void Usage::SetHalfLife(DurationMs half_life_ms) {
  const DurationMs set = std::max<DurationMs>(half_life_ms, 0);
  if (set == half_life_ms_) return;
  if (on()) {
    for (Row& row : rows_) {
      Settle(row.own);
      for (auto& [user, account] : row.users) Settle(account);
    }
  }
  half_life_ms_ = set;
  touched_ = on();
  swept_at_ = now_;
  if (on()) return;
  rows_.clear();
  coming_.clear();
  recalled_at_.reset();
}

double Usage::endless_ms() const { return static_cast<double>(half_life_ms_) / kLn2; }

void Usage::Settle(Account& account) const {
  if (!begun_ || now_ <= account.at) return;
  const Decay decay(Between(account.at, now_) / static_cast<double>(half_life_ms_));
  for (double& spent : account.spent) spent *= decay.kept;
  Add(account.holds, endless_ms() * decay.lost, account.spent);
  account.at = now_;
}

Usage::Row& Usage::RowAt(QueueId queue) {
  if (rows_.size() <= queue.index()) rows_.resize(queue.index() + 1);
  return rows_[queue.index()];
}

void Usage::Hold(QueueId queue, const std::string& user, const Resources& more) {
  TEPHRA_CHECK(on());
  if (more == Resources{}) return;
  Row& row = RowAt(queue);
  row.own.coming.Add(more);
  row.users[user].coming.Add(more);
  coming_.emplace_back(queue, user);
}

void Usage::Apply() {
  if (!begun_) return;
  const auto apply = [&](Account& account) {
    Settle(account);
    account.at = now_;
    account.holds.Add(account.coming);
    account.coming = {};
  };
  for (const auto& [queue, user] : coming_) {
    Row& row = rows_[queue.index()];
    apply(row.own);
    apply(row.users[user]);
    touched_ = true;
  }
  coming_.clear();
}

void Usage::Advance(TimeMs now) {
  if (!begun_) swept_at_ = now;
  now_ = begun_ ? std::max(now_, now) : now;
  begun_ = true;
  Apply();
}

bool Usage::Sweep() {
  if (!on() || !touched_) return false;
  const DurationMs every = std::clamp(half_life_ms_ / 100, kShortestSweepMs, kLongestSweepMs);
  if (Between(swept_at_, now_) < static_cast<double>(every)) return false;
  swept_at_ = now_;
  touched_ = false;
  for (Row& row : rows_) {
    Settle(row.own);
    if (Empty(row.own)) row.own.spent = {};
    touched_ = touched_ || row.own.holds != Resources{};
    for (auto& [user, account] : row.users) Settle(account);
    std::erase_if(row.users, [](const auto& entry) { return Empty(entry.second); });
  }
  return true;
}

bool Usage::BeginRecall(TimeMs at) {
  if (begun_ ? at <= now_ : recalled_at_.has_value() && at <= *recalled_at_) return false;
  for (Row& row : rows_) {
    row.own.spent = {};
    for (auto& [user, account] : row.users) account.spent = {};
  }
  if (!begun_) recalled_at_ = at;
  return true;
}

// As of when it arrives at an engine that has had a cycle: that clock is behind.
void Usage::Enter(Account& account, const Spent& spent) const {
  if (begun_) Settle(account);
  account.spent = spent;
  account.at = begun_ ? now_ : *recalled_at_;
}

void Usage::Recall(QueueId queue, const Spent& spent) { Enter(RowAt(queue).own, spent); }

void Usage::Recall(QueueId queue, const std::string& user, const Spent& spent) {
  Enter(RowAt(queue).users[user], spent);
}

void Usage::Spend(QueueId queue, const std::string& user, const Resources& held, TimeMs from) {
  TEPHRA_CHECK(on() && begun_);
  const Decay decay(Between(from, now_) / static_cast<double>(half_life_ms_));
  Row& row = RowAt(queue);
  for (Account* account : {&row.own, &row.users[user]}) {
    Settle(*account);
    account->at = now_;
    Add(held, endless_ms() * decay.lost, account->spent);
  }
}

Spent Usage::Of(QueueId queue) const {
  if (queue.index() >= rows_.size()) return {};
  Account account = rows_[queue.index()].own;
  Settle(account);
  return account.spent;
}

Spent Usage::Of(QueueId queue, const std::string& user) const {
  if (queue.index() >= rows_.size()) return {};
  const auto found = rows_[queue.index()].users.find(user);
  if (found == rows_[queue.index()].users.end()) return {};
  Account account = found->second;
  Settle(account);
  return account.spent;
}

}  // namespace tephra
