#include "plugins/node/cards.h"

#include <algorithm>
#include <iterator>

namespace tephra::node {
namespace {

constexpr CardKind kCards[] = {
    {0x1DB1, "Tesla V100-SXM2-16GB", "", 16384, 7, 0},
    {0x1EB8, "Tesla T4", "", 15360, 7, 5},
    {0x26B9, "NVIDIA L40S", "", 46068, 8, 9},
    {0x20B0, "NVIDIA A100-SXM4-40GB", "A100-40GB", 40960, 8, 0},
    {0x20B1, "NVIDIA A100-PCIE-40GB", "A100-40GB", 40960, 8, 0},
    {0x20F1, "NVIDIA A100-PCIE-40GB", "A100-40GB", 40960, 8, 0},
    {0x20F6, "NVIDIA A800-SXM4-40GB", "A100-40GB", 40960, 8, 0},
    {0x20B2, "NVIDIA A100-SXM4-80GB", "A100-80GB", 81920, 8, 0},
    {0x20B5, "NVIDIA A100 80GB PCIe", "A100-80GB", 81920, 8, 0},
    {0x20F3, "NVIDIA A800-SXM4-80GB", "A100-80GB", 81920, 8, 0},
    {0x20F5, "NVIDIA A800 80GB PCIe", "A100-80GB", 81920, 8, 0},
    {0x20B7, "NVIDIA A30", "A30-24GB", 24576, 8, 0},
    {0x2330, "NVIDIA H100 80GB HBM3", "H100-80GB", 81559, 9, 0},
    {0x2331, "NVIDIA H100 PCIe", "H100-80GB", 81559, 9, 0},
    {0x2322, "NVIDIA H800 PCIe", "H100-80GB", 81559, 9, 0},
    {0x2324, "NVIDIA H800", "H100-80GB", 81559, 9, 0},
    {0x2321, "NVIDIA H100 NVL", "H100-NVL-94GB", 95830, 9, 0},
    {0x233A, "NVIDIA H800 NVL", "H100-NVL-94GB", 95830, 9, 0},
    {0x2342, "NVIDIA GH200 480GB", "H100-96GB", 97871, 9, 0},
    {0x233D, "NVIDIA H100 96GB HBM3", "H100-96GB", 97871, 9, 0},
    {0x2329, "NVIDIA H20", "H100-96GB", 97871, 9, 0},
    {0x2335, "NVIDIA H200", "H200-141GB", 143771, 9, 0},
    {0x233B, "NVIDIA H200 NVL", "H200-141GB", 143771, 9, 0},
    {0x2348, "NVIDIA GH200 144G HBM3e", "GH200-144GB", 147456, 9, 0},
    {0x2901, "NVIDIA B200", "B200-180GB", 183359, 10, 0},
    {0x2941, "NVIDIA GB200", "GB200-186GB", 189471, 10, 0},
    {0x3182, "NVIDIA B300", "B300-269GB", 275040, 10, 3},
    {0x31C2, "NVIDIA GB300", "GB300", 284208, 10, 3},
    {0x2BB5, "NVIDIA RTX PRO 6000 Blackwell Server Edition", "RTX-PRO-6000-96GB", 97887, 12, 0},
};

template <class Test>
const CardKind* First(const Test& test) {
  const auto* found = std::find_if(std::begin(kCards), std::end(kCards), test);
  return found == std::end(kCards) ? nullptr : found;
}

}  // namespace

const CardKind* FindCard(std::uint16_t pci_device_id) {
  return First([&](const CardKind& card) { return card.pci_device_id == pci_device_id; });
}

const CardKind* FindCardByName(std::string_view name) {
  return First([&](const CardKind& card) { return card.mig_model == name || card.model == name; });
}

std::string_view CardFamily(int cuda_major, int cuda_minor) {
  switch (cuda_major) {
    case 6:
      return "pascal";
    case 7:
      return cuda_minor < 5 ? "volta" : "turing";
    case 8:
      return cuda_minor < 9 ? "ampere" : "ada-lovelace";
    case 9:
      return "hopper";
    case 10:
    case 12:
      return "blackwell";
    default:
      return "";
  }
}

}  // namespace tephra::node
