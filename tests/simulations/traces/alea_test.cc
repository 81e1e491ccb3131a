#include "simulations/traces/alea.h"

#include <fstream>

#include "tests/simulations/traces/read_trace.h"

namespace tephra {
namespace {

// A trace and a table beside it.
class Beside {
 public:
  Beside(const ScratchFile& trace, const std::string& suffix, const std::string& text)
      : path_(trace.path() + suffix) {
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~Beside() { std::remove(path_.c_str()); }
  Beside(const Beside&) = delete;

 private:
  std::string path_;
};

std::string Line(const std::string& nodes, const std::string& queue, const std::string& gpus,
                 const std::string& property) {
  return "1 5 0 60 " + nodes + " 60 1 " + nodes + " 600 2048 1 0 1 -1 " + queue + " -1 -1 -1 " +
         gpus + " 60 " + property + "\n";
}

TEST_CASE("Alea: tasks are nodes, with their part of the GPUs, on clusters of a property") {
  const auto read = ReadTrace(Line("4", "1", "16", "normal") + Line("1", "0", "0", "all"));
  CHECK(read.form == "alea");
  CHECK(read.faults.empty());
  REQUIRE(read.jobs.size() == 2);
  const TraceJob& job = read.jobs[0];
  CHECK((job.tasks == 4 && job.cpus == 1 && job.gpus == 4 && job.memory_kib == 2048));
  CHECK((job.user == "0" && job.group == "1" && job.queue == "1" && job.partition == "normal"));
  CHECK((job.run == 60'000 && job.requested == 600'000));
  CHECK((read.jobs[1].partition.empty() && read.jobs[1].gpus == 0));
}

TEST_CASE("Alea: the tables beside a trace give names, quotas and the machine") {
  const ScratchFile trace(Line("4", "1", "16", "normal") + Line("5", "1", "0", "normal") +
                          Line("5", "1", "0", "all") + Line("4", "2", "16", "normal") +
                          Line("4", "1", "20", "all") + Line("4", "1", "6", "all") +
                          Line("1", "1", "0", "big"));
  const Beside queues(trace, ".queues", "; id name\n0\tfast \t 9 \t 50\n1\tslow\t8\t20\n");
  const Beside users(trace, ".users", "0\tann\t2\t96\n");
  const Beside machines(trace, ".machines", "0 one 4 1 1 256 normal 4\n1 two 8 1 1 256 other 0\n");
  const auto read = ReadTraceFile(trace.path(), {});
  CHECK(read.faults == Faults{"too-large:2:size:5 nodes, 5 CPUs, 0 GPUs", "unknown-queue:4:queue:2",
                              "too-large:5:size:4 nodes, 4 CPUs, 20 GPUs", "out-of-range:6:gpus:6",
                              "unknown-partition:7:partition:big"});
  REQUIRE(read.jobs.size() == 2);
  CHECK((read.jobs[0].queue == "slow" && read.jobs[0].user == "ann" && read.jobs[0].group == "1"));
  CHECK(read.jobs[1].line == 3);
  const auto tables = ReadAleaTables(trace.path());
  REQUIRE(tables.ok());
  CHECK((tables->queues.at(0).cpu_quota == 9 && tables->queues.at(0).priority == 50));
  CHECK((tables->users.at(0).shares == 2 && tables->users.at(0).cpu_quota == 96));
  CHECK((tables->machine.Cpus() == 12 && tables->machine.Gpus() == 16));
}

TEST_CASE("Alea: a table that is wrong is refused with its line") {
  const ScratchFile trace(Line("1", "0", "0", "all"));
  const auto error = [&](const std::string& suffix, const std::string& text) {
    const Beside beside(trace, suffix, text);
    return ReadTraceFile(trace.path(), {}).error;
  };
  CHECK(error(".queues", ";\n0 a 1\n").find(".queues:2: priority: ") == 0);
  CHECK(error(".queues", "0 a 1 1\n0 b 1 1\n").find(".queues:2: id: \"0\"") == 0);
  CHECK(error(".users", "0 a x 1\n").find(".users:1: shares: \"x\"") == 0);
  CHECK(error(".machines", "0 a -1 1 1 1 p 1\n").find(".machines:1: nodes: \"-1\"") == 0);
}

}  // namespace
}  // namespace tephra
