#include "simulations/traces/swf.h"

#include "tests/simulations/traces/read_trace.h"

namespace tephra {
namespace {

TEST_CASE("SWF: a line gives a job, in seconds with decimals or not") {
  const auto read = ReadTrace("7 100 5 60.25 4 -1 99 8 3600 2048 1 3 12 -1 2 5 -1 -1\n");
  CHECK(read.form == "swf");
  CHECK(read.faults.empty());
  REQUIRE(read.jobs.size() == 1);
  const TraceJob& job = read.jobs[0];
  CHECK(job.id == "7");
  CHECK(job.line == 1);
  CHECK(job.submit == 100'000);
  CHECK(job.run == 60'250);
  CHECK(job.requested == 3'600'000);
  CHECK(job.tasks == 4);
  CHECK(job.cpus == 1);
  CHECK(job.gpus == 0);
  CHECK(job.memory_kib == 2048);
  CHECK(job.status == TraceStatus::kCompleted);
  CHECK((job.user == "3" && job.group == "12" && job.queue == "2" && job.partition == "5"));
}

TEST_CASE("SWF: what is -1 is not known, and is taken from the field that says nearly the same") {
  const auto read = ReadTrace("1 0 -1 -1 -1 -1 99 8 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1\n");
  REQUIRE(read.jobs.size() == 1);
  const TraceJob& job = read.jobs[0];
  CHECK(job.tasks == 8);
  CHECK(job.run == kNotKnown);
  CHECK(job.requested == kNotKnown);
  CHECK(job.memory_kib == 99);
  CHECK(job.status == TraceStatus::kNotKnown);
  CHECK((job.user + job.group + job.queue + job.partition).empty());
}

TEST_CASE("SWF: a run time of 0 is known, and a status says how a job ended") {
  const auto read = ReadTrace(
      "1 0 0 0 1 -1 -1 1 -1 -1 0 -1 -1 -1 -1 -1 -1 -1\n"
      "2 0 0 0 1 -1 -1 1 -1 -1 5 -1 -1 -1 -1 -1 -1 -1\n");
  REQUIRE(read.jobs.size() == 2);
  CHECK(read.jobs[0].run == 0);
  CHECK(read.jobs[0].status == TraceStatus::kFailed);
  CHECK(read.jobs[1].status == TraceStatus::kCancelled);
}

TEST_CASE("SWF: what a line cannot say is its fault, and the next line is read") {
  const auto read = ReadTrace(
      "1 0 0 x 1 -1 -1 1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n"
      "2 0 0 9 1 -1 -1 1 -1 -1 1 -1 -1 -1 -1 -1 -1\n"
      "3 0 0 9 1 -1 -1 1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1 -1\n"
      "4 -5 0 9 1 -1 -1 1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n"
      "5 0 0 9 0 -1 -1 -1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n"
      "6 0 0 9 -7 -1 -1 1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n"
      "7 0 0 9 1 -1 -1 1 -1 -1 3 -1 -1 -1 -1 -1 -1 -1\n"
      "8 0 0 9 1 -1 -1 1 -1 -1 9 -1 -1 -1 -1 -1 -1 -1\n"
      "9 0 0 9 1 -1 -1 1 -1 -1 1 ann -1 -1 -1 -1 -1 -1\n"
      "10 0 0 9 1 -1 -1 1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n");
  CHECK(read.records == 10);
  REQUIRE(read.jobs.size() == 1);
  CHECK(read.jobs[0].line == 10);
  CHECK(read.faults ==
        Faults{"no-number:1:run:x",
               "missing-field:2:think_time:2 0 0 9 1 -1 -1 1 -1 -1 1 -1 -1 -1 -1 -1 -1",
               "extra-field:3::3 0 0 9 1 -1 -1 1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1 -1",
               "out-of-range:4:submit:-5", "no-size:5:requested:-1", "out-of-range:6:allocated:-7",
               "part:7:status:3", "out-of-range:8:status:9", "no-number:9:user:ann"});
}

TEST_CASE("SWF: the header says how large the machine is") {
  const std::string job = "1 0 0 9 101 -1 -1 1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n";
  CHECK(ReadTrace("; MaxNodes: 50\n; MaxProcs: 100\n" + job).faults ==
        Faults{"too-large:3:size:101 CPUs"});
  CHECK(ReadTrace(";MaxNodes: 100 (90 batch, 10 login)\n; MaxProcs: -1\n" + job).faults ==
        Faults{"too-large:3:size:101 CPUs"});
  CHECK(ReadTrace("; MaxProcs: 101\n" + job).faults.empty());
  CHECK(ReadTrace("; MaxProcs: many\n" + job).faults == Faults{"no-number:1:MaxProcs:many+"});
}

}  // namespace
}  // namespace tephra
