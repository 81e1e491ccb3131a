// Arbitrary bytes as a simulation file: refused with a message that names the file, or read, and
// then the engine accepts all of it.
#include <cctype>

#include "plugins/registry.h"
#include "simulations/text_file.h"
#include "simulations/workload/simulation_file.h"
#include "tests/fuzz/law.h"

namespace tephra {
namespace {

// Names of other files are not followed, and a file may well ask for a million nodes: neither
// tells anything new.
bool LeadsAfar(const std::string& text) {
  for (const char* word : {"openb", "csv", "/"}) {
    if (text.find(word) != std::string::npos) return true;
  }
  int digits = 0;
  for (unsigned char c : text) {
    digits = std::isdigit(c) != 0 ? digits + 1 : 0;
    if (digits > 3) return true;
  }
  return false;
}

void Tell(Engine& engine, const Event& event) {
  const absl::Status status = engine.Apply(event);
  Law(status.ok(), "what was read is accepted: " + std::string(status.message()));
}

void TellAll(const Simulation& simulation) {
  Engine engine(DefaultAssembly());
  Tell(engine, KindsDeclared{simulation.extended_kinds});
  Tell(engine, ConfigChanged{simulation.config});
  for (const QueueSpec& queue : simulation.queues) Tell(engine, QueueUpserted{queue, 1});
  for (const NodeSpec& node : simulation.nodes) Tell(engine, NodeUpserted{node, 1});
  for (const Arrival& arrival : simulation.jobs) Tell(engine, JobUpserted{arrival.job, 1});
}

}  // namespace
}  // namespace tephra

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tephra;
  const std::string text(reinterpret_cast<const char*>(data), size);
  // As the file reader would refuse it.
  if (FirstInvalidUtf8(text) != std::string::npos || LeadsAfar(text)) return 0;
  const absl::StatusOr<Simulation> simulation = ParseSimulation("fuzz.yaml", text);
  if (!simulation.ok()) {
    Law(simulation.status().message().find("fuzz.yaml") == 0, "a refusal begins with the file");
    return 0;
  }
  TellAll(*simulation);
  return 0;
}
