#include "simulations/traces/trace_reader.h"

#include "simulations/traces/percentiles.h"
#include "simulations/traces/trace_row.h"
#include "simulations/traces/trace_summary.h"
#include "tests/simulations/traces/read_trace.h"

namespace tephra {
namespace {

const std::string kHeader = "id,vc,gpu,submit,dur\n";

TraceOptions Sorted(std::size_t window) {
  TraceOptions options;
  options.sort_window = window;
  return options;
}

std::string Ids(const ReadOutcome& read) {
  std::string ids;
  for (const TraceJob& job : read.jobs) ids += job.id;
  return ids;
}

TEST_CASE("TraceReader: a job that goes back in time is skipped, or sorted within the window") {
  const std::string text = kHeader + "a,q,1,10,1\nb,q,1,30,1\nc,q,1,20,1\nd,q,1,5,1\ne,q,1,30,1\n";
  const auto plain = ReadTrace(text);
  CHECK(Ids(plain) == "abe");
  CHECK(plain.faults == Faults{"back-in-time:4:submit:20 s", "back-in-time:5:submit:5 s"});
  const auto one = ReadTrace(text, Sorted(1));
  CHECK(Ids(one) == "acbe");
  CHECK(one.faults == Faults{"back-in-time:4:submit:20 s+", "back-in-time:5:submit:5 s"});
  const auto all = ReadTrace(text, Sorted(3));
  CHECK(Ids(all) == "dacbe");
  CHECK(all.faults == Faults{"back-in-time:4:submit:20 s+", "back-in-time:5:submit:5 s+"});
}

TEST_CASE("TraceReader: jobs beyond the given machine and queues are faults") {
  TraceOptions options;
  options.machine.parts = {{"", kNotKnown, kNotKnown, 8}};
  options.queues = {"q"};
  const auto read = ReadTrace(kHeader + "a,q,8,1,1\nb,q,9,1,1\nc,r,1,1,1\n", options);
  CHECK(Ids(read) == "a");
  CHECK(read.faults == Faults{"too-large:3:size:9 GPUs", "unknown-queue:4:queue:r"});
}

TEST_CASE("TraceReader: a job that ran longer than requested is reported and used") {
  const auto read = ReadTrace("1 0 0 61.5 1 -1 -1 1 60 -1 1 -1 -1 -1 -1 -1 -1 -1\n");
  CHECK(read.jobs.size() == 1);
  CHECK(read.faults == Faults{"over-requested:1:run:61.5 s+"});
}

TEST_CASE("TraceReader: strict, the first line that would be skipped is an error") {
  TraceOptions strict;
  strict.strict = true;
  const auto read = ReadTrace(kHeader + "a,q,1,2,1\nb,q,0,2,1\nc,q,1,2,1\n", strict);
  CHECK(Ids(read) == "a");
  CHECK(read.error == ":3: gpu: \"0\", expected at least 1 GPU");
  strict.sort_window = 1;
  const auto sorted = ReadTrace(kHeader + "a,q,1,2,1\nb,q,1,1,1\n", strict);
  CHECK(Ids(sorted) == "ba");
  CHECK(sorted.error.empty());
}

TEST_CASE("TraceReader: a given format is not detected") {
  TraceOptions options;
  options.form = TraceForm::kMuri;
  const auto read = ReadTrace("job_id,num_gpu,submit_time,duration\n0,4,5,9\n", options);
  CHECK(read.form == "muri");
  CHECK(read.jobs.at(0).run == 9);
}

TEST_CASE("TraceRow: times have decimals or not, as far as a millisecond reaches") {
  TraceRow row({"t"}, ' ');
  const auto time = [&](const std::string& text, DurationMs unit) -> TimeMs {
    TimeMs out = 0;
    return row.Cut(text, 1) && row.Time(0, unit, true, out) ? out : -9;
  };
  CHECK(time("0", 1000) == 0);
  CHECK(time("-0", 1000) == 0);
  CHECK(time("1.5", 1000) == 1500);
  CHECK(time("1.0009", 1000) == 1000);
  CHECK(time("7.9", 1) == 7);
  CHECK(time("-1", 1000) == kNotKnown);
  CHECK(time("-1.00", 1000) == kNotKnown);
  for (const char* bad : {"-1.5", "-2", "1e3", ".5", "5.", "-", "+1", "1,5", "nan", "0x1",
                          "99999999999999999999999999"}) {
    CHECK(time(bad, 1000) == -9);
  }
}

TEST_CASE("Percentiles: exact when small, within 0.1 % when large, and always one that came") {
  Percentiles small, large;
  for (int i = 1; i <= 1000; ++i) small.Add(i);
  CHECK((small.At(1) == 10 && small.At(50) == 500 && small.At(99) == 990 && small.At(100) == 1000));
  for (std::int64_t i = 1; i <= 1000; ++i) large.Add(i * 1'000'003);
  for (const int percent : {1, 10, 50, 90, 99, 100}) {
    const std::int64_t exact = percent * 10 * std::int64_t{1'000'003};
    CHECK(large.At(percent) >= exact);
    CHECK(large.At(percent) <= exact + exact / 1000);
    CHECK(large.At(percent) % 1'000'003 == 0);
  }
  CHECK((large.least() == 1'000'003 && large.most() == 1'000'003'000));
  CHECK(Percentiles().At(50) == 0);
  Percentiles widest;
  widest.Add(std::int64_t{0x7fffffffffffffff});
  CHECK(widest.At(50) == 0x7fffffffffffffff);
}

TEST_CASE("TraceSummary: the offered load is the work over the machine in the time of submission") {
  const ScratchFile file(kHeader + "a,q,2,0,50\nb,r,1,100,100\nc,q,0,1,1\n");
  TraceOptions options;
  options.machine.parts = {{"", kNotKnown, kNotKnown, 4}};
  auto reader = TraceReader::Open(file.path(), options);
  REQUIRE(reader.ok());
  TraceSummary summary;
  REQUIRE(Summarize(*reader, summary).ok());
  CHECK(summary.GpuLoad() == 0.5);
  CHECK(summary.CpuLoad() < 0);
  CHECK((summary.records == 3 && summary.all.jobs == 2 && summary.faults.skipped() == 1));
  CHECK((summary.queues.at("q").jobs == 1 && summary.queues.at("r").gpu_ms == 100'000));
  CHECK(summary.faults.of(TraceFaultKind::kNoSize).first.line == 4);
}

}  // namespace
}  // namespace tephra
