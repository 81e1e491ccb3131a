#include "plugins/node/health.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace tephra::node {
namespace {

constexpr std::uint64_t kOfPrograms[] = {13, 31, 43, 45, 68, 109};

// Those for which NVIDIA's catalog of Xids has the immediate action RESET_GPU (46, 62, 64, 95, 109,
// 110, 119, 120, 136, 140, 143, 155, 156, 158) or RESTART_BM (79), and the two, 48 double bit error
// and 74 NVLink, whose workflows end in a reset unless another Xid says more. As of 2025-10:
// docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html. 109 does not count unless asked
// for.
constexpr std::array<std::uint64_t, 17> kOfReset = {46,  48,  62,  64,  74,  79,  95,  109, 110,
                                                    119, 120, 136, 140, 143, 155, 156, 158};

// Reads a list by commas; returns whether one of its entries is a word for all.
absl::StatusOr<bool> ReadList(std::string_view name, std::string_view text,
                              std::set<std::uint64_t>& xids) {
  bool all = false;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    std::string_view entry = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    while (!entry.empty() && entry.front() == ' ') entry.remove_prefix(1);
    while (!entry.empty() && entry.back() == ' ') entry.remove_suffix(1);
    if (entry.empty()) continue;
    if (entry == "all" || entry == "xids") {
      all = true;
      continue;
    }
    std::uint64_t xid = 0;
    const auto [end, error] = std::from_chars(entry.data(), entry.data() + entry.size(), xid);
    if (error != std::errc() || end != entry.data() + entry.size()) {
      return absl::InvalidArgumentError(std::string(name) + ": \"" + std::string(entry) +
                                        "\", expected an Xid, \"xids\" or \"all\"");
    }
    xids.insert(xid);
  }
  return all;
}

}  // namespace

XidPolicy::XidPolicy() : disabled_(std::begin(kOfPrograms), std::end(kOfPrograms)) {}

absl::StatusOr<XidPolicy> XidPolicy::Parse(std::string_view disable, std::string_view enable) {
  XidPolicy policy;
  TEPHRA_ASSIGN_OR_RETURN(policy.all_disabled_,
                          ReadList("DP_DISABLE_HEALTHCHECKS", disable, policy.disabled_));
  TEPHRA_ASSIGN_OR_RETURN(policy.all_enabled_,
                          ReadList("DP_ENABLE_HEALTHCHECKS", enable, policy.enabled_));
  return policy;
}

bool XidPolicy::Counts(std::uint64_t xid) const {
  if (all_enabled_ || enabled_.count(xid) > 0) return true;
  return !all_disabled_ && disabled_.count(xid) == 0;
}

bool XidTakesReset(std::uint64_t xid) {
  return std::find(kOfReset.begin(), kOfReset.end(), xid) != kOfReset.end();
}

void Health::Sicken(const std::string& uuid, std::string why, bool needs_reset,
                    std::optional<unsigned> gpu_instance, std::int64_t now_ms) {
  Card& card = cards_[uuid];
  card.last_ms = now_ms;
  card.needs_reset |= needs_reset;
  if (card.why == why) return;
  card.why = std::move(why);
  changes_.push_back({uuid, false, card.why, gpu_instance});
}

void Health::OnXid(const std::string& uuid, std::uint64_t xid, std::optional<unsigned> gpu_instance,
                   std::int64_t now_ms) {
  ++xids_[uuid][xid];
  if (!options_.xids.Counts(xid)) return;
  std::string why = "Xid " + std::to_string(xid);
  if (gpu_instance) why += " in GPU instance " + std::to_string(*gpu_instance);
  Sicken(uuid, std::move(why), XidTakesReset(xid), gpu_instance, now_ms);
}

void Health::OnEccError(const std::string& uuid, std::int64_t now_ms) {
  Sicken(uuid, "a memory error that could not be corrected", true, std::nullopt, now_ms);
}

void Health::OnProbe(const std::string& uuid, const absl::Status& answer,
                     std::optional<std::int64_t> ecc_errors, std::int64_t now_ms) {
  if (!answer.ok()) {
    Sicken(uuid, "it does not answer: " + std::string(answer.message()), false, std::nullopt,
           now_ms);
    // Any other error may be of the call alone; only what was gone and is back was reset.
    cards_[uuid].lost |= absl::IsDataLoss(answer) || absl::IsNotFound(answer);
    return;
  }
  Card& card = cards_[uuid];
  // A reset takes the card from the driver for a while, and its counters start again.
  const bool was_reset =
      card.lost || (ecc_errors && card.ecc_errors && *ecc_errors < *card.ecc_errors);
  const bool more = ecc_errors && card.ecc_errors && *ecc_errors > *card.ecc_errors;
  if (card.lost) card.last_ms = now_ms;
  card.lost = false;
  if (ecc_errors) card.ecc_errors = ecc_errors;
  if (was_reset) card.needs_reset = false;
  if (more) OnEccError(uuid, now_ms);
  const bool quiet = now_ms - card.last_ms >= options_.quiet_ms;
  if (card.why.empty() || card.needs_reset || !(quiet || was_reset)) return;
  card.why.clear();
  changes_.push_back({uuid, true, "", std::nullopt});
}

std::vector<HealthChange> Health::TakeChanges() { return std::exchange(changes_, {}); }

bool Health::healthy(const std::string& uuid) const {
  const auto card = cards_.find(uuid);
  return card == cards_.end() || card->second.why.empty();
}

void Health::Apply(Gpus& gpus) const {
  for (Gpu& gpu : gpus.devices) {
    const auto card = cards_.find(gpu.hardware.uuid);
    if (card == cards_.end() || card->second.why.empty()) continue;
    gpu.hardware.healthy = false;
    gpu.unhealthy = card->second.why;
  }
}

}  // namespace tephra::node
