#include "tests/tools/fake_nvml/profiles.h"

#include <string_view>

namespace tephra::node {
namespace {

bool EndsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

unsigned AskedBy(const MigModel& model, const MigProfile& profile) {
  const unsigned compute = profile.compute_slices;
  const unsigned second = compute == 1 ? 0 : 1;  // of a 1g or a 2g
  if (EndsWith(profile.name, "+me.all")) return 0xF + second;
  if (EndsWith(profile.name, "+me")) return 7 + second;
  if (EndsWith(profile.name, "-me")) return 0xD + second;
  if (EndsWith(profile.name, "+gfx")) return 0xA + (compute == 4 ? 2 : second);
  if (compute == 1) return profile.memory_slices == 1 || model.memory_slices < 8 ? 0 : 9;
  return compute == 7 ? 4 : compute - 1;
}

unsigned IdOf(const MigModel& model, unsigned asked_by) {
  struct Pair {
    unsigned asked_by, id;
  };
  static constexpr Pair kWide[] = {{0, 19}, {7, 20}, {9, 15}, {1, 14}, {2, 9}, {3, 5}, {4, 0}};
  static constexpr Pair kNarrow[] = {{0, 14}, {7, 21}, {1, 5}, {8, 6}, {3, 0}};
  if (model.memory_slices == 8) {
    for (const Pair& pair : kWide) {
      if (pair.asked_by == asked_by) return pair.id;
    }
  } else {
    for (const Pair& pair : kNarrow) {
      if (pair.asked_by == asked_by) return pair.id;
    }
  }
  return 64 + asked_by;
}

unsigned Multiprocessors(const MigModel& model, const MigProfile& profile) {
  if (model.name.substr(0, 2) == "A1" || model.name.substr(0, 2) == "A3") {
    return 14u * profile.compute_slices;
  }
  switch (profile.compute_slices) {
    case 1:
      return profile.memory_slices == 2 ? 26 : 16;
    case 2:
      return 32;
    case 3:
      return 60;
    case 4:
      return 64;
    default:
      return 132;
  }
}

}  // namespace

FakeProfile FakeProfileOf(const MigModel& model, std::size_t index) {
  const MigProfile& profile = model.profiles[index];
  FakeProfile fake;
  fake.asked_by = AskedBy(model, profile);
  fake.id = IdOf(model, fake.asked_by);
  fake.multiprocessors = Multiprocessors(model, profile);
  for (int start = 0; start < model.memory_slices; start += profile.memory_slices) {
    fake.most += profile.starts >> start & 1;
  }
  if (profile.limit != kNoLimit) fake.most = 1;
  return fake;
}

std::optional<std::size_t> FakeProfileAskedBy(const MigModel& model, unsigned number) {
  for (std::size_t i = 0; i < model.profiles.size(); ++i) {
    if (FakeProfileOf(model, i).asked_by == number) return i;
  }
  return std::nullopt;
}

std::optional<std::size_t> FakeProfileOfId(const MigModel& model, unsigned id) {
  for (std::size_t i = 0; i < model.profiles.size(); ++i) {
    if (FakeProfileOf(model, i).id == id) return i;
  }
  return std::nullopt;
}

}  // namespace tephra::node
