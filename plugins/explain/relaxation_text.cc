#include "plugins/explain/relaxations.h"

namespace tephra {
namespace {

// A longer list of nodes ends with a count.
constexpr std::size_t kMostNames = 4;

std::string Names(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t n = 0; n < names.size() && n < kMostNames; ++n) {
    text += (n == 0 ? "" : ", ") + names[n];
  }
  if (names.size() > kMostNames) text += ", " + std::to_string(names.size() - kMostNames) + " more";
  return text;
}

// "2 of the 3 cordoned or unready nodes (a, b) become schedulable".
std::string ReturnText(const Change& change) {
  const bool one = change.amount == 1;
  const std::string nodes = change.now == 1 ? "node" : "nodes";
  const std::string names = " (" + Names(change.nodes) + ")";
  std::string count;
  if (change.amount < change.now) {
    count = std::to_string(change.amount) + " of the " + std::to_string(change.now) + " ";
  } else {
    count = change.now == 1 ? "the " : "the " + std::to_string(change.amount) + " ";
  }
  switch (change.misfit) {
    case Misfit::kRefused:
      return count + nodes + " that rejected these tasks before" + names +
             (one ? " accepts them" : " accept them");
    case Misfit::kExcluded:
      return count + nodes + " that Volcano's predicates exclude" + names +
             (one ? " is allowed" : " are allowed");
    default:
      return count + "cordoned or unready " + nodes + names +
             (one ? " becomes schedulable" : " become schedulable");
  }
}

std::string MembersText(const Change& change) {
  return std::to_string(change.amount) + " of " + std::to_string(change.now) +
         (change.role.empty() ? " members" : " tasks of role " + change.role);
}

std::string MoreNodesText(const Change& change) {
  return std::to_string(change.amount) + (change.amount == 1 ? " more node" : " more nodes") +
         " like " + change.nodes[0];
}

// The condition that follows "fits if".
std::string ChangeText(const ResourceKinds& kinds, const Change& change) {
  const auto words = [&](std::int64_t amount) { return AmountText(kinds, change.kind, amount); };
  switch (change.easing) {
    case Easing::kAhead:
      return "job " + change.ahead + " is not ahead of this job";
    case Easing::kLimit:
      return "the limit of queue " + change.queue + " is " + words(change.now + change.amount) +
             " (now " + words(change.now) + ")";
    case Easing::kDeserved:
      return "queue " + change.queue + " deserves " + words(change.now + change.amount) + " (now " + words(change.now) + ")";
    case Easing::kPreemptible:
      return "the job is preemptible";
    case Easing::kLend:
      return "queue " + change.queue + " lends " + words(change.amount) + " of its guarantee";
    case Easing::kMembers:
      return "the job starts with " + MembersText(change);
    case Easing::kAsk:
      return (change.role.empty() ? "each task" : "each task of role " + change.role) +
             " requests " + words(change.amount);
    case Easing::kReturn:
      return ReturnText(change);
    case Easing::kNodes:
      return "the cluster has " + MoreNodesText(change);
    case Easing::kAdmitted:
      return "the enqueue gate admits the job";
    case Easing::kTier:
      return (change.group.empty() ? "the job" : "sub-group " + change.group) +
             (change.amount < 0
                  ? " does not have to run in one domain"
                  : " may span one domain of tier " + std::to_string(change.amount) +
                        " (now tier " + std::to_string(change.now) + ")");
  }
  return "?";
}

std::string Sentence(const ResourceKinds& kinds, const std::vector<Change>& changes) {
  const Change& only = changes.back();
  if (changes.size() == 1) {
    switch (only.easing) {
      case Easing::kAhead:
      case Easing::kAdmitted:
        return "starts now if " + ChangeText(kinds, only);
      case Easing::kMembers:
        return "fits now with " + MembersText(only);
      case Easing::kNodes:
        return "fits with " + MoreNodesText(only);
      default:
        break;
    }
  }
  std::string text;
  for (const Change& change : changes) {
    if (change.easing == Easing::kAsk && change.free > 0) {
      text += "free GPUs are fragmented (" + AmountText(kinds, change.kind, change.free) + "): ";
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
         (relaxation.smallest ? "" : "; a smaller change may be enough (not proven)");
}

}  // namespace tephra
