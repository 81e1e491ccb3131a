// Arbitrary bytes as the kubelet's checkpoint: read, or refused as of another shape; what was read
// is safe to be made part of a path.
#include <google/protobuf/stubs/logging.h>

#include "plugins/node/binding/nonce.h"
#include "plugins/node/kubelet/checkpoint.h"
#include "tests/fuzz/bytes.h"
#include "tests/fuzz/law.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tephra::node;
  static google::protobuf::LogHandler* const kSilence = google::protobuf::SetLogHandler(nullptr);
  (void)kSilence;
  tephra::Bytes bytes(data, size);
  const auto entries =
      ParseCheckpoint(bytes.Take(size), "t/t", {"tephra.sh/slice", "/var/lib/tephra-node/nonces"});
  if (!entries.ok()) {
    tephra::Law(absl::IsDataLoss(entries.status()), "a refusal is of the shape");
    return 0;
  }
  for (const CheckpointEntry& entry : *entries) {
    tephra::Law(IsNonce(entry.nonce), "a nonce is one");
    tephra::Law(IsPodUid(entry.pod_uid) && IsContainerName(entry.container), "names are names");
  }
  return 0;
}
