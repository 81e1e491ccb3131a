#include "simulations/report/page.h"

#include <fstream>

#include <catch2/catch.hpp>

#include "tests/support/scratch_folder.h"

namespace tephra {
namespace {

using Json = nlohmann::json;

constexpr char kJobs[] =
    "job,user,queue,state,gpus,tasks,submit_s,start_s,end_s,wait_s,run_s,jct_s,bounded_slowdown,"
    "evictions,failures,restarts,lost_gpu_s,reason\n";
constexpr char kTasks[] =
    "job,task,queue,state,arrival_s,start_s,finish_s,wait_s,node,devices,verdict,reason\n";

// A run of 100 s: job "a" on three GPUs, "b" on half of one and still running, "c" waits.
struct MadeRun {
  MadeRun() {
    Write("summary.json",
          R"({"end_s": 100, "all": {}, "by_queue": {"q": {"gpu_hours": 2}, "p": {"gpu_hours": 3}},
              "by_user": {}, "fairness": {}, "jobs_by_state": {},
              "nodes": [{"name": "n-0", "gpu_used_per_mille": [0, 0, 0, 0]},
                        {"name": "n-1", "gpu_used_per_mille": [0, 0]}]})");
    Write("jobs.csv", std::string(kJobs) +
                          "a,ann,q,finished,3,1,10.000,30.000,90.000,20.000,60,80,1.333,2,1,0,0,\n"
                          "b,bob,q,running,0.5,1,5.500,5.500,,0,,,,0,0,0,0,\n"
                          "c,ann,p,waiting,8,1,40.000,,,,,,,0,0,0,0,\"no room, none\"\n");
    Write("tasks.csv", std::string(kTasks) +
                           "b,w/0,q,running,5.500,5.500,,0,n-1,1:500m:1024Mi,start,\n"
                           "a,w/0,q,finished,10,30.000,90.000,20,n-0,0 1 3,start,\n"
                           "c,w/0,p,waiting,40,,,,,,wait,no room\n");
    Write("timeline.csv",
          "time_s,span_s,gpus,gpus_used,gpus_fragmented,jobs_running,jobs_pending\n"
          "0.000,64,6,1.5,0,1,0\n64.000,36,6,3.5,0.25,1,1\n");
    Write("queues.csv",
          "time_s,queue,gpus_used,gpus_requested,gpus_share,gpus_deserved\n"
          "0.000,p,1.5,0,3,2\n64.000,p,0,8,3,2\n64.000,q,3.5,0,3,2\n64.000,idle,0,0,3,2\n");
  }
  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(folder.path() + "/" + name) << text;
  }
  RunFiles Read() const {
    absl::StatusOr<RunFiles> run = ReadRunFiles(folder.path());
    if (!run.ok()) FAIL(run.status());
    return *std::move(run);
  }
  // Without the folder.
  std::string Error() const {
    const absl::StatusOr<RunFiles> run = ReadRunFiles(folder.path());
    return run.ok() ? "" : std::string(run.status().message()).substr(folder.path().size() + 1);
  }
  ScratchFolder folder;
};

Json DataOf(const std::vector<RunFiles>& runs, const PageLimits& limits = {}) {
  return Json::parse(PageData(runs, limits));
}

TEST_CASE("Report: tasks become bars on the rows of their GPUs") {
  const Json gantt = DataOf({MadeRun().Read()})["runs"][0]["gantt"];
  CHECK(gantt["nodes"] == Json::parse(R"([["n-0", 4], ["n-1", 2]])"));
  // Devices 0 and 1 of n-0, 3 of n-0, 1 of n-1.
  CHECK(gantt["bars"]["row"] == Json::array({0, 3, 5}));
  CHECK(gantt["bars"]["count"] == Json::array({2, 1, 1}));
  CHECK(gantt["bars"]["share"] == Json::array({1000, 1000, 500}));
  CHECK(gantt["bars"]["start_s"] == Json::array({30, 30, 5.5}));
  CHECK(gantt["bars"]["length_s"] == Json::array({60, 60, 94.5}));
  CHECK(gantt["jobs"]["name"] == Json::array({"a", "b"}));
  CHECK(gantt["bars"]["job"] == Json::array({0, 0, 1}));
  CHECK(gantt["gpu_time_kept"] == 1);
}

TEST_CASE("Report: the longest waits come first, with the reasons of pending jobs") {
  const Json data = DataOf({MadeRun().Read()});
  const Json& waited = data["runs"][0]["waited"];
  REQUIRE(waited["rows"].size() == 2);
  CHECK(waited["of"] == 2);
  CHECK(waited["rows"][0][0] == "c");
  CHECK(waited["rows"][0][6] == 60);  // from 40 s to the end of the run
  CHECK(waited["rows"][0][11] == "no room, none");
  CHECK(waited["rows"][1][0] == "a");
  CHECK(waited["rows"][1][6] == 20);
  // Waits are of jobs that started, slowdowns of finished jobs.
  CHECK(data["runs"][0]["waits"] ==
        Json::parse(R"({"of": 2, "value": [0, 20], "part": [0.5, 1.0]})"));
  CHECK(data["runs"][0]["slowdowns"]["value"] == Json::array({1.333}));
}

TEST_CASE("Report: queues have a value for each step, and unused queues are left out") {
  const Json queues = DataOf({MadeRun().Read()})["runs"][0]["queues"];
  REQUIRE(queues["list"].size() == 2);
  CHECK(queues["list"][0]["name"] == "q");  // 3.5 GPU for 36 s, p 1.5 for 64 s
  CHECK(queues["list"][0]["used"] == Json::array({0, 3.5}));
  CHECK(queues["list"][1]["used"] == Json::array({1.5, 0}));
}

TEST_CASE("Report: what is more than a page holds is left out, the smallest first, and counted") {
  PageLimits limits;
  limits.bars = 1;
  limits.jobs = 1;
  limits.queues = 1;
  limits.names = 1;
  const Json run = DataOf({MadeRun().Read()}, limits)["runs"][0];
  CHECK(run["gantt"]["bars"]["row"] == Json::array({0}));
  CHECK(run["gantt"]["bars_of"] == 3);
  // 120 of 120 + 60 + 47.25 GPU seconds.
  CHECK(run["gantt"]["gpu_time_kept"].get<double>() == Approx(120 / 227.25));
  CHECK(run["waited"]["rows"].size() == 1);
  CHECK(run["queues"]["of"] == 2);
  CHECK(run["by_queue"]["of"] == 2);
  CHECK(run["by_queue"]["list"][0]["name"] == "p");
}

TEST_CASE("Report: two runs are compared job by job, largest change of wait first") {
  const MadeRun one, other;
  other.Write("jobs.csv", std::string(kJobs) +
                              "a,ann,q,finished,3,1,10,15,75,5,60,65,1.083,0,0,0,0,\n"
                              "c,ann,p,running,8,1,40,42,,2,,,,0,0,0,0,\n"
                              "d,ann,p,running,8,1,40,42,,2,,,,0,0,0,0,\n");
  other.Write("tasks.csv", kTasks);
  const Json changes = DataOf({one.Read(), other.Read()})["changes"];
  CHECK(changes["both"] == 2);
  CHECK(changes["shorter"] == 2);
  CHECK(changes["only_a"] == 1);
  CHECK(changes["only_b"] == 1);
  CHECK(changes["rows"][0] == Json::parse(R"(["c","ann","p",8,60,2,-58,null,null])"));
  CHECK(changes["rows"][1] == Json::parse(R"(["a","ann","q",3,20,5,-15,1.333,1.083])"));
}

TEST_CASE("Report: a name never ends the script that it stands in") {
  const MadeRun made;
  const std::string name = "</script><script>alert(1)</script><!--";
  made.Write("jobs.csv", std::string(kJobs) + name + ",u,q,waiting,1,1,1,,,,,,,0,0,0,0,<b>\n");
  made.Write("tasks.csv", kTasks);
  const std::string page = PageHtml(PageData({made.Read()}));
  CHECK(page.find("<script>alert") == std::string::npos);
  const std::string open = "<script type=\"application/json\" id=\"figures\">";
  const std::size_t begin = page.find(open) + open.size();
  const Json data = Json::parse(page.substr(begin, page.find("</script>", begin) - begin));
  CHECK(data["runs"][0]["waited"]["rows"][0][0] == name);
  CHECK(data["runs"][0]["waited"]["rows"][0][11] == "<b>");
}

TEST_CASE("Report: without tasks.csv there are no bars, and all else") {
  const MadeRun made;
  std::remove((made.folder.path() + "/tasks.csv").c_str());
  const Json run = DataOf({made.Read()})["runs"][0];
  CHECK(run["gantt"].is_null());
  CHECK(run["steps"]["used"] == Json::array({1.5, 3.5}));
}

TEST_CASE("Report: an error in a file names line, column, value and expectation") {
  const auto error = [&](const std::string& file, const std::string& text) {
    const MadeRun fresh;
    fresh.Write(file, text);
    return fresh.Error();
  };
  const std::string row = "a,u,q,finished,1,1,10,5,9,0,1,1,1,0,0,0,0,\n";
  CHECK(error("jobs.csv", kJobs + row) ==
        "jobs.csv:2: start_s: \"5\", expected a time of at least submit_s, 10");
  CHECK(error("jobs.csv", std::string(kJobs) + "a,u,q,finished,-1,1,1,5,9,0,1,1,1,0,0,0,0,\n") ==
        "jobs.csv:2: gpus: \"-1\", expected a number of at least 0");
  CHECK(error("tasks.csv", std::string(kTasks) + "z,w/0,q,finished,0,1,2,0,n-0,0,start,\n") ==
        "tasks.csv:2: job: \"z\", expected the name of a job in jobs.csv");
  CHECK(error("tasks.csv", std::string(kTasks) + "a,w/0,q,finished,0,1,2,0,n-0,0:x,start,\n") ==
        "tasks.csv:2: devices: \"0:x\", expected devices such as \"0 1\" or \"3:500m:10240Mi\"");
  CHECK(error("queues.csv",
              "time_s,queue,gpus_used,gpus_requested,gpus_share,gpus_deserved\n7,q,0,0,0,0\n") ==
        "queues.csv:2: time_s: \"7\", expected a value of time_s in timeline.csv");
  CHECK(error("summary.json", "{\"all\": 3}") ==
        "summary.json: all: \"3\", expected an object, as written by tephra simulate --out");
  CHECK(error("summary.json", "{").starts_with("summary.json: \"\", expected JSON: "));
}

}  // namespace
}  // namespace tephra
