// Writes the journals under tests/replay/fixtures again: record_fixture events|run FILE
//
// `run` is a small run of the engine; do this when its decisions were meant to change. `events`
// shows that journals of old are still read: it is never written again, only added to under
// another name.
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

#include "sidecar/wire/journal_writer.h"
#include "tests/sidecar/any_event.h"
#include "tests/sidecar/recorded_run.h"

namespace {

// Three of each variant.
std::string Events() {
  std::ostringstream out;
  tephra::JournalWriter writer(out, "fixture");
  tephra::Dice dice(1);
  for (int i = 0; i < 3 * tephra::kEventVariants; ++i) {
    if (!writer.Record(tephra::AnyEvent(dice, i % tephra::kEventVariants)).ok()) std::abort();
  }
  if (!writer.Close().ok()) std::abort();
  return out.str();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string which = argc == 3 ? argv[1] : "";
  if (which != "events" && which != "run") {
    std::fprintf(stderr, "usage: record_fixture events|run FILE\n");
    return 2;
  }
  std::ofstream out(argv[2], std::ios::binary);
  out << (which == "events" ? Events() : tephra::RunThatPlaces().journal);
  out.close();
  return out ? 0 : 1;
}
