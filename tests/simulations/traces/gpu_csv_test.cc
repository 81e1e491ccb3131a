#include "simulations/traces/gpu_csv.h"

#include "tests/simulations/traces/read_trace.h"

namespace tephra {
namespace {

TEST_CASE("Philly: a virtual cluster is a queue, and a task is a GPU") {
  const auto read = ReadTrace("id,vc,gpu,submit,dur\n0,6214e9,4,45,30\n");
  CHECK(read.form == "philly");
  CHECK(read.faults.empty());
  REQUIRE(read.jobs.size() == 1);
  const TraceJob& job = read.jobs[0];
  CHECK((job.id == "0" && job.queue == "6214e9" && job.user.empty()));
  CHECK((job.line == 2 && job.submit == 45'000 && job.run == 30'000));
  CHECK((job.tasks == 4 && job.gpus == 1 && job.cpus == 0));
  CHECK((job.requested == kNotKnown && job.memory_kib == kNotKnown));
}

TEST_CASE("Muri counts milliseconds, Tiresias seconds, and columns stand in any order") {
  const auto muri =
      ReadTrace("num_gpu,job_id,resource_time_0,submit_time,duration\r\n4,0,7,5,9\r\n");
  CHECK(muri.form == "muri");
  REQUIRE(muri.jobs.size() == 1);
  CHECK((muri.jobs[0].submit == 5 && muri.jobs[0].run == 9 && muri.jobs[0].tasks == 4));
  const auto tiresias = ReadTrace("job_id,num_gpu,submit_time,duration\n0,4,5,9\n");
  CHECK(tiresias.form == "tiresias");
  REQUIRE(tiresias.jobs.size() == 1);
  CHECK((tiresias.jobs[0].submit == 5'000 && tiresias.jobs[0].run == 9'000));
}

TEST_CASE("Philly: what a row cannot say is its fault, and the next row is read") {
  const auto read = ReadTrace(
      "id,vc,gpu,submit,dur\n0,a,0,1,1\n1,a,-2,1,1\n2,a,two,1,1\n3,,1,1,1\n4,a,1,1\n\n"
      "5,a,1,-1,1\n6,a,1,99999999999999,1\n7,a,1,1,-1\n8,a,1,2,1");
  CHECK(read.faults == Faults{"no-size:2:gpu:0", "no-size:3:gpu:-2", "no-number:4:gpu:two",
                              "bad-name:5:vc:", "missing-field:6:dur:4,a,1,1",
                              "missing-field:7:vc:", "out-of-range:8:submit:-1",
                              "out-of-range:9:submit:99999999999999", "cut:11::8,a,1,2,1"});
  REQUIRE(read.jobs.size() == 1);
  CHECK((read.jobs[0].line == 10 && read.jobs[0].run == kNotKnown));
  CHECK(read.records == 10);
}

TEST_CASE("A header that lacks a column, or is of no known form, is refused with its line") {
  TraceOptions philly;
  philly.form = TraceForm::kPhilly;
  CHECK(ReadTrace("id,vc,gpu,submit\n", philly).error.find(":1: header: \"id,vc,gpu,submit\"") ==
        0);
  CHECK(ReadTrace("id,vc,gpu,gpu,submit,dur\n").error.find("one column gpu") != std::string::npos);
  CHECK(ReadTrace("a,b\n1,2\n").error.find(":1: \"a,b\", expected the header row") == 0);
  CHECK(ReadTrace("").error.find("expected the header row") != std::string::npos);
  CHECK(ReadTrace("hello world\n").error.find(":1: \"hello world\"") == 0);
}

}  // namespace
}  // namespace tephra
