// Arbitrary bytes as a simulation file: refused with a message that names the file, or read, and
// then the engine accepts all of it and what happens in it.
#include <algorithm>
#include <cctype>

#include "base/text_file.h"
#include "plugins/registry.h"
#include "simulations/workload/simulation_file.h"
#include "simulations/world.h"
#include "tests/fuzz/law.h"

namespace tephra {
namespace {

// Names of other files are not followed, and a file may well ask for a million nodes: neither
// tells anything new.
bool LeadsAfar(const std::string& text) {
  for (const char* word : {"openb", "csv"}) {
    if (text.find(word) != std::string::npos) return true;
  }
  int digits = 0;
  for (unsigned char c : text) {
    digits = std::isdigit(c) != 0 ? digits + 1 : 0;
    if (digits > 3) return true;
  }
  return false;
}

void TellAll(const Simulation& simulation, Engine& engine) {
  const auto tell = [&](const Event& event) {
    const absl::Status status = engine.Apply(event);
    Law(status.ok(), "what was read is accepted: " + std::string(status.message()));
  };
  tell(KindsDeclared{simulation.extended_kinds});
  tell(ConfigChanged{simulation.config});
  for (const QueueSpec& queue : simulation.queues) tell(QueueUpserted{queue, 1});
  for (const NodeSpec& node : simulation.nodes) tell(NodeUpserted{node, 1});
  for (const Arrival& arrival : simulation.jobs) tell(JobUpserted{arrival.job, 1});
}

// The first instants of it.
void Run(Simulation simulation) {
  constexpr int kMostBatches = 50;
  Engine engine(DefaultAssembly());
  simulation.config.search_budget = std::min(simulation.config.search_budget, 1000);
  auto arrivals = TakeArrivals(simulation);
  Law(arrivals.ok(), "the jobs of a file are there");
  World world(std::move(simulation), *std::move(arrivals), engine.state());
  for (int i = 0; i < kMostBatches; ++i) {
    const auto batch = world.Next();
    if (!batch.has_value()) break;
    for (const Event& event : batch->events) {
      const absl::Status status = engine.Apply(event);
      Law(status.ok(), "what happens is accepted: " + std::string(status.message()));
    }
    world.Execute(engine.Tick(batch->time));
    const std::string fault = engine.state().CheckBooks();
    Law(fault.empty(), "the books add up: " + fault);
  }
}

}  // namespace
}  // namespace tephra

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tephra;
  const std::string text(reinterpret_cast<const char*>(data), size);
  // As the file reader would refuse it.
  if (FirstInvalidUtf8(text) != std::string::npos || LeadsAfar(text)) return 0;
  absl::StatusOr<Simulation> simulation = ParseSimulation("fuzz.yaml", text, {"why", "expect"});
  if (!simulation.ok()) {
    Law(simulation.status().message().find("fuzz.yaml") == 0, "a refusal begins with the file");
    return 0;
  }
  Engine engine(DefaultAssembly());
  TellAll(*simulation, engine);
  Run(*std::move(simulation));
  return 0;
}
