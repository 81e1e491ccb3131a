#include "topology/links.h"

#include <cctype>

#include "topology/base/check.h"

namespace tephra {
namespace {

// One NVLink, one direction, as NCCL counts it (src/graph/topo.h, SM60_NVLINK_BW to
// SM100_NVLINK_BW): 80 % to 90 % of the 14 to 50 GB/s that data sheets give.
struct Generation {
  std::int32_t mb_per_s;
  std::string_view models;  // each between spaces
};
constexpr Generation kGenerations[] = {
    {18000, " P100 "},                        // Pascal
    {20000, " V100 "},                        // Volta
    {20000, " A100 A800 A30 "},               // Ampere, SM 8.0
    {12000, " A40 A5000 A5500 A6000 3090 "},  // Ampere, SM 8.6
    {20600, " H20 H100 H200 H800 GH200 "},    // Hopper
    {40100, " B200 B300 GB200 GB300 "},       // Blackwell
};
constexpr std::int32_t kUnknownNvLink = 20000;

// By the first word of the model that the table has.
std::int32_t OneNvLink(std::string_view model) {
  std::string word = " ";
  for (std::size_t i = 0; i <= model.size(); ++i) {
    if (i < model.size() && std::isalnum(static_cast<unsigned char>(model[i])) != 0) {
      word += model[i];
      continue;
    }
    word += ' ';
    for (const Generation& generation : kGenerations) {
      const bool named = word.size() > 2 && generation.models.find(word) != std::string_view::npos;
      if (named) return generation.mb_per_s;
    }
    word.resize(1);
  }
  return kUnknownNvLink;
}

}  // namespace

Link PcieLink(LinkType type) {
  switch (type) {
    case LinkType::kSys:
      return {6000, type, 0};
    case LinkType::kNode:
      return {9900, type, 0};
    case LinkType::kPhb:
      return {10000, type, 0};
    case LinkType::kPxb:
      return {11900, type, 0};
    case LinkType::kPix:
      return {12000, type, 0};
    case LinkType::kNvLink:
      break;
  }
  TEPHRA_CHECK(type != LinkType::kNvLink);
  return {};
}

Link NvLink(int nvlinks, std::string_view model) {
  TEPHRA_CHECK_OP(nvlinks, >, 0);
  TEPHRA_CHECK_OP(nvlinks, <=, 255);
  return {nvlinks * OneNvLink(model), LinkType::kNvLink, static_cast<std::uint8_t>(nvlinks)};
}

std::string LinkName(const Link& link) {
  static constexpr const char* kNames[] = {"SYS", "NODE", "PHB", "PXB", "PIX"};
  if (link.type == LinkType::kNvLink) return "NV" + std::to_string(link.nvlinks);
  return kNames[static_cast<std::size_t>(link.type)];
}

NodeLinks::NodeLinks(int gpus) {
  TEPHRA_CHECK_OP(gpus, >=, 0);
  TEPHRA_CHECK_OP(gpus, <=, kMaxLinkedGpus);
  const auto n = static_cast<std::size_t>(gpus);
  numa_.assign(n, kNoNuma);
  links_.assign(n * n, PcieLink(LinkType::kSys));
}

std::size_t NodeLinks::Index(int a, int b) const {
  TEPHRA_CHECK_OP(a, !=, b);
  TEPHRA_CHECK(a >= 0 && b >= 0 && a < gpus() && b < gpus());
  return static_cast<std::size_t>(a) * numa_.size() + static_cast<std::size_t>(b);
}

void NodeLinks::Set(int a, int b, const Link& link) {
  links_[Index(a, b)] = link;
  links_[Index(b, a)] = link;
}

}  // namespace tephra
