#include "engine/reach.h"

namespace tephra {

bool Reach::May(const Books& books, ClassId id, NodeId node) {
  const Hardware& hardware = books.hardware;
  if (!hardware.present(node)) return false;
  if (order_ != hardware.order_version()) {
    order_ = hardware.order_version();
    classes_.clear();
  }
  if (classes_.size() <= id.index()) classes_.resize(id.index() + 1);
  const TaskClass& cls = books.classes[id];
  const NodeConstraints& rules = cls.pod.constraints;
  Known& known = classes_[id.index()];
  const std::uint32_t generation = books.classes.generation(id);
  if (known.by_likeness.empty() || known.generation != generation) {
    known = {generation, NamesHosts(rules), {}};
  }
  const auto may = [&] {
    return CheckNode(hardware.spec(node), rules, cls.needs_devices()) == Ineligible::kNo;
  };
  if (known.names_hosts) return may();
  const std::uint32_t likeness = hardware.likeness(node);
  if (known.by_likeness.size() <= likeness) known.by_likeness.resize(hardware.likenesses());
  Said& said = known.by_likeness[likeness];
  if (said == Said::kNothing) said = may() ? Said::kMay : Said::kMayNot;
  return said == Said::kMay;
}

}  // namespace tephra
