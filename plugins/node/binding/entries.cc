// How LateBinding finds out which container has which slots.
#include "plugins/node/binding/late_binding.h"
#include "plugins/node/kubelet/pod_resources.h"

namespace tephra::node {

absl::StatusOr<std::vector<CheckpointEntry>> LateBinding::Entries() const {
  return ReadCheckpoint(settings_.checkpoint, settings_.resource, files_.Marks());
}

absl::StatusOr<CheckpointEntry> LateBinding::EntryWithout(const std::vector<std::string>& slots,
                                                          const absl::Status& why) {
  if (settings_.pod_resources.empty()) return why;
  const auto with_why = [&](const absl::Status& status) {
    return absl::UnavailableError(std::string(why.message()) + "; " +
                                  std::string(status.message()));
  };
  const auto holders = ListSlotHolders(settings_.pod_resources, settings_.resource);
  if (!holders.ok()) return with_why(holders.status());
  const auto holder = HolderOf(*holders, slots);
  if (!holder.ok()) return with_why(holder.status());
  CheckpointEntry entry{"", holder->container, slots, ""};
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [nonce, holding] : books_.all()) {
      if (holding.slots != slots) continue;
      const Holder& was = holding.grant.holder;
      const bool same = was.pod_namespace == holder->pod_namespace && was.pod_name == holder->pod &&
                        was.container == holder->container;
      if (same) entry.nonce = nonce, entry.pod_uid = was.pod_uid;
    }
  }
  // A container that was bound starts again as it was, unless its slots were allocated again.
  {
    const std::lock_guard lock(minted_mutex_);
    const auto fresh = minted_.find(slots);
    if (fresh != minted_.end() && fresh->second != entry.nonce) {
      entry.nonce = fresh->second;
      entry.pod_uid.clear();
    }
  }
  if (entry.nonce.empty()) {
    return with_why(absl::UnavailableError(
        "these device IDs were allocated before this process began, and their container is not "
        "known"));
  }
  if (entry.pod_uid.empty()) {
    const auto pod = pods_.Named(holder->pod_namespace, holder->pod);
    if (!pod.ok()) return with_why(pod.status());
    entry.pod_uid = pod->uid;
  }
  return entry;
}

}  // namespace tephra::node
