#include "engine/proofs.h"

namespace tephra {
namespace {

// A new shape each cycle that never fits is not remembered forever.
constexpr std::size_t kMostProofs = 1 << 16;

}  // namespace

// Each list has its length in front of it and every part has a fixed size, so that two asks have
// one shape only if they ask the same.
Proofs::Shape Proofs::ShapeOf(const GangAsk& ask) {
  Shape shape;
  shape.reserve(3 * ask.roles.size() + 7 * ask.groups.size() + 10);
  const auto add_span = [&](const RankSpan& span) {
    shape.push_back(span.first);
    shape.push_back(span.last);
  };
  const auto add_nearness = [&](const Nearness& nearness) {
    shape.push_back(static_cast<std::uint32_t>(nearness.highest_tier));
    add_span(nearness.tied() ? nearness.around : RankSpan{0, 0});
  };
  shape.push_back(static_cast<std::uint32_t>(ask.roles.size()));
  for (const RoleAsk& role : ask.roles) {
    shape.push_back(role.cls.value);
    shape.push_back(static_cast<std::uint32_t>(role.least));
    shape.push_back(static_cast<std::uint32_t>(role.tasks.size()));
  }
  shape.push_back(static_cast<std::uint32_t>(ask.least));
  shape.push_back(ask.without);
  add_span(ask.within);
  add_nearness(ask);
  for (const GroupAsk& group : ask.groups) {
    shape.push_back(static_cast<std::uint32_t>(group.first_role));
    shape.push_back(static_cast<std::uint32_t>(group.end_role));
    shape.push_back(static_cast<std::uint32_t>(group.end_group));
    shape.push_back(static_cast<std::uint32_t>(group.least));
    add_nearness(group);
  }
  return shape;
}

void Proofs::Begin(const Snapshot& snapshot) {
  const Books& books = snapshot.books();
  // A class id that was given to another class makes every shape that names it a lie.
  const std::uint64_t classes = books.classes.generations();
  now.clear();
  selections.clear();
  if (hardware_ != books.hardware.version() || config_ != books.config_version ||
      classes_ != classes || empty.size() > kMostProofs) {
    empty.clear();
  }
  hardware_ = books.hardware.version();
  config_ = books.config_version;
  classes_ = classes;
}

}  // namespace tephra
