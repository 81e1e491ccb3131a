#include "plugins/explain/relaxations.h"

namespace tephra {
namespace {

// Beyond these a list of nodes is only counted.
constexpr std::size_t kMostNames = 4;

std::string Names(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t n = 0; n < names.size() && n < kMostNames; ++n) {
    text += (n == 0 ? "" : ", ") + names[n];
  }
  if (names.size() > kMostNames) text += ", " + std::to_string(names.size() - kMostNames) + " more";
  return text;
}

// "the 3 cordoned nodes (a, b, c) came back".
std::string ReturnText(const Change& change) {
  const bool one = change.amount == 1;
  const std::string count = std::to_string(change.amount);
  std::string which, then;
  switch (change.misfit) {
    case Misfit::kRefused:
      which = one ? "node that refused its tasks before" : "nodes that refused its tasks before";
      then = " took them now";
      break;
    case Misfit::kExcluded:
      which = one ? "node that the scheduler's own checks exclude"
                  : "nodes that the scheduler's own checks exclude";
      then = one ? " was open to it" : " were open to it";
      break;
    default:
      which = one ? "cordoned or unready node" : "cordoned or unready nodes";
      then = " came back";
  }
  const std::string text =
      change.amount == change.now
          ? (one ? "the " : "the " + count + " ") + which
          : count + " of the " + std::to_string(change.now) + " " + (one ? which + "s" : which);
  return text + " (" + Names(change.nodes) + ")" + then;
}

std::string MembersText(const Change& change) {
  return std::to_string(change.amount) + " of " + std::to_string(change.now) +
         (change.role.empty() ? " members" : " tasks of role " + change.role);
}

// What would be different, to stand behind "fits if".
std::string ChangeText(const ResourceKinds& kinds, const Change& change) {
  const auto words = [&](std::int64_t amount) { return AmountText(kinds, change.kind, amount); };
  switch (change.easing) {
    case Easing::kAhead:
      return "it were not behind job " + change.ahead;
    case Easing::kLimit:
      return "queue " + change.queue + "'s limit were +" + words(change.amount) + " (" +
             words(change.now + change.amount) + ")";
    case Easing::kLend:
      return words(change.amount) + " kept for queue " + change.queue + " were lent";
    case Easing::kMembers:
      return "it started with " + MembersText(change);
    case Easing::kAsk:
      return (change.role.empty() ? "tasks" : "tasks of role " + change.role) + " asked for " +
             words(change.amount) + " each";
    case Easing::kReturn:
      return ReturnText(change);
    case Easing::kNodes:
      return "there " + std::string(change.amount == 1 ? "was 1 more node" : "were ") +
             (change.amount == 1 ? "" : std::to_string(change.amount) + " more nodes") + " like " +
             change.nodes[0];
    case Easing::kLetIn:
      return "the enqueue gate let it in";
    case Easing::kTier:
      return (change.group.empty() ? "it" : "sub-group " + change.group) +
             (change.amount < 0
                  ? " did not have to be in one domain"
                  : " might be in one domain of tier " + std::to_string(change.amount) +
                        ", instead of " + std::to_string(change.now));
  }
  return "?";
}

std::string Sentence(const ResourceKinds& kinds, const std::vector<Change>& changes) {
  const Change& only = changes.back();
  if (changes.size() == 1) {
    switch (only.easing) {
      case Easing::kAhead:
        return "would start now if it were not behind job " + only.ahead;
      case Easing::kMembers:
        return "fits now with " + MembersText(only);
      case Easing::kNodes:
        return "fits with " + std::to_string(only.amount) +
               (only.amount == 1 ? " more node" : " more nodes") + " like " + only.nodes[0];
      case Easing::kLetIn:
        return "would start now if " + ChangeText(kinds, only);
      default:
        break;
    }
  }
  std::string text;
  for (const Change& change : changes) {
    if (change.easing == Easing::kAsk && change.free > 0) {
      text += AmountText(kinds, change.kind, change.free) + " are free, but in pieces: ";
    }
  }
  text += "fits if ";
  for (std::size_t i = 0; i < changes.size(); ++i) {
    text += (i == 0 ? "" : " and ") + ChangeText(kinds, changes[i]);
  }
  return text;
}

}  // namespace

std::string RelaxationText(const ResourceKinds& kinds, const Relaxation& relaxation) {
  return Sentence(kinds, relaxation.changes) +
         (relaxation.smallest ? "" : "; whether less would do was not proven");
}

}  // namespace tephra
