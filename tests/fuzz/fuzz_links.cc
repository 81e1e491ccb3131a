// Arbitrary bytes as what `nvidia-smi topo -m` prints: read, or refused with the line. What was
// read is symmetric, is the same when printed and read again, and GPU sets are chosen from it.
#include <bit>

#include "tests/fuzz/bytes.h"
#include "tests/fuzz/law.h"
#include "topology/gpu_sets.h"
#include "topology/links_text.h"

namespace tephra {
namespace {

std::string Printed(const NodeLinks& links) {
  std::string text;
  for (int a = 0; a < links.gpus(); ++a) text += "\tGPU" + std::to_string(a);
  text += "\tNUMA Affinity\n";
  for (int a = 0; a < links.gpus(); ++a) {
    text += "GPU" + std::to_string(a);
    for (int b = 0; b < links.gpus(); ++b) text += '\t' + (a == b ? "X" : LinkName(links.at(a, b)));
    const std::int16_t numa = links.numa(a);
    text += '\t' + (numa == NodeLinks::kNoNuma ? "N/A" : std::to_string(numa)) + '\n';
  }
  return text;
}

void TryText(const std::string& text, const std::string& model) {
  const absl::StatusOr<NodeLinks> links = ParseLinks(text, model);
  if (!links.ok()) {
    const absl::string_view message = links.status().message();
    Law(message.find("line ") != absl::string_view::npos, "a refusal tells the line");
    return;
  }
  Law(links->gpus() > 0 && links->gpus() <= kMaxLinkedGpus, "a node has 1 to 16 GPUs");
  for (int a = 0; a < links->gpus(); ++a) {
    for (int b = 0; b < a; ++b) {
      Law(links->at(a, b) == links->at(b, a), "a link is the same from both ends");
    }
  }
  const absl::StatusOr<NodeLinks> again = ParseLinks(Printed(*links), model);
  Law(again.ok() && *again == *links, "what was read is the same when printed and read again");
  const GpuSets sets(*links);
  const auto all = static_cast<GpuMask>((1u << links->gpus()) - 1);
  const int k = (links->gpus() + 1) / 2;
  Law(std::popcount(sets.Best(all, k)) == k, "half of the GPUs are chosen");
}

}  // namespace
}  // namespace tephra

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tephra::Bytes bytes(data, size);
  const std::string model = bytes.Pick(std::vector<std::string>{"", "V100", "NVIDIA H100 NVL"});
  tephra::TryText(bytes.Take(size), model);
  return 0;
}
