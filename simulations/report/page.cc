#include "simulations/report/page.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <utility>

#include "simulations/report/page_text.h"

namespace tephra {
namespace {

using Json = nlohmann::ordered_json;

// Whole numbers without ".0", which is a fifth of the page.
Json Number(double value) {
  constexpr double kExact = 1e15;
  if (std::abs(value) < kExact && value == std::trunc(value)) {
    return static_cast<std::int64_t>(value);
  }
  return value;
}

Json NumberIfAny(const std::optional<double>& value) { return value ? Number(*value) : Json(); }

Json Numbers(const std::vector<double>& values) {
  Json list = Json::array();
  for (const double value : values) list.push_back(Number(value));
  return list;
}

// The cumulative distribution of the values, with a limited number of points, including the
// smallest and the largest value.
Json Distribution(std::vector<double> values, std::size_t points) {
  std::sort(values.begin(), values.end());
  const std::size_t count = std::min(values.size(), points);
  Json value = Json::array(), part = Json::array();
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t place = count == 1 ? 0 : i * (values.size() - 1) / (count - 1);
    value.push_back(Number(values[place]));
    part.push_back(static_cast<double>(place + 1) / static_cast<double>(values.size()));
  }
  return {{"of", values.size()}, {"value", value}, {"part", part}};
}

// The entries with the most GPU hours, by name among equals.
Json MostUsed(const Json& by_name, std::size_t limit) {
  const auto hours = [](const Json& entry) {
    return entry.is_object() ? entry.value("gpu_hours", 0.0) : 0.0;
  };
  std::vector<std::pair<double, std::string>> order;
  for (const auto& [name, entry] : by_name.items()) order.emplace_back(-hours(entry), name);
  std::sort(order.begin(), order.end());
  const std::size_t count = std::min(order.size(), limit);
  Json list = Json::array();
  for (std::size_t i = 0; i < count; ++i) {
    list.push_back({{"name", order[i].second}, {"sums", by_name[order[i].second]}});
  }
  return {{"of", order.size()}, {"list", list}};
}

Json StepColumns(const RunFiles::Steps& steps) {
  return {{"time_s", Numbers(steps.time_s)},
          {"span_s", Numbers(steps.span_s)},
          {"gpus", Numbers(steps.gpus)},
          {"used", Numbers(steps.used)},
          {"fragmented", Numbers(steps.fragmented)},
          {"running", Numbers(steps.running)},
          {"pending", Numbers(steps.waiting)}};
}

// The queues with any use, highest use first.
Json QueueColumns(const RunFiles& run, std::size_t limit) {
  std::vector<std::pair<double, std::size_t>> order;  // negative use, and index
  for (std::size_t q = 0; q < run.queues.size(); ++q) {
    double used = 0, asked = 0;
    for (std::size_t i = 0; i < run.steps.span_s.size(); ++i) {
      used += run.queues[q].used[i] * run.steps.span_s[i];
      asked += run.queues[q].asked[i];
    }
    if (used > 0 || asked > 0) order.emplace_back(-used, q);
  }
  std::sort(order.begin(), order.end());
  Json list = Json::array();
  for (std::size_t i = 0; i < std::min(order.size(), limit); ++i) {
    const RunFiles::Queue& queue = run.queues[order[i].second];
    list.push_back({{"name", queue.name},
                    {"used", Numbers(queue.used)},
                    {"share", Numbers(queue.share)},
                    {"deserved", Numbers(queue.deserved)}});
  }
  return {{"of", order.size()}, {"list", list}};
}

// The jobs with the longest waits, one row each.
Json Waited(const RunFiles& run, std::size_t limit) {
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t j = 0; j < run.jobs.size(); ++j) {
    const double waited = run.jobs[j].WaitedS(run.end_s);
    if (waited > 0) order.emplace_back(-waited, j);
  }
  const std::size_t count = std::min(order.size(), limit);
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end());
  Json rows = Json::array();
  for (std::size_t i = 0; i < count; ++i) {
    const RunFiles::Job& job = run.jobs[order[i].second];
    rows.push_back({job.name, job.user, job.queue, job.state, Number(job.gpus),
                    Number(job.submit_s), Number(-order[i].first), job.start_s.has_value(),
                    NumberIfAny(job.bounded_slowdown), job.evictions, job.failures, job.reason});
  }
  return {{"of", order.size()},
          {"columns",
           {"job", "user", "queue", "state", "gpus", "submit_s", "waited_s", "started",
            "bounded_slowdown", "evictions", "failures", "reason"}},
          {"rows", rows}};
}

// Bars by row and start; a row is a GPU, those of the first node first. Of more bars than the
// limit the bars with the most GPU time are kept.
Json Gantt(const RunFiles& run, std::size_t limit) {
  std::vector<std::int64_t> first_row;
  std::int64_t rows = 0;
  Json nodes = Json::array();
  for (const RunFiles::Node& node : run.nodes) {
    first_row.push_back(rows);
    rows += node.gpus;
    if (node.gpus > 0) nodes.push_back({node.name, node.gpus});
  }
  double all = 0, kept = 0;
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t b = 0; b < run.bars.size(); ++b) {
    order.emplace_back(-run.bars[b].GpuSeconds(), b);
    all += run.bars[b].GpuSeconds();
  }
  std::sort(order.begin(), order.end());
  order.resize(std::min(order.size(), limit));
  std::vector<RunFiles::Bar> bars;
  for (const auto& [time, b] : order) bars.push_back(run.bars[b]), kept -= time;
  const auto row = [&](const RunFiles::Bar& bar) { return first_row[bar.node] + bar.first; };
  std::stable_sort(bars.begin(), bars.end(), [&](const auto& a, const auto& b) {
    return std::pair(row(a), a.start_s) < std::pair(row(b), b.start_s);
  });

  constexpr std::uint32_t kNone = ~0U;
  std::vector<std::uint32_t> place(run.jobs.size(), kNone);
  Json name, queue, user, state, gpus, submit, wait, evictions;
  for (Json* column : {&name, &queue, &user, &state, &gpus, &submit, &wait, &evictions}) {
    *column = Json::array();
  }
  Json of_job = Json::array(), at = Json::array(), count = Json::array(), share = Json::array(),
       start = Json::array(), length = Json::array(), reason = Json::object();
  bool parts = false;
  for (const RunFiles::Bar& bar : bars) {
    std::uint32_t& job = place[bar.job];
    if (job == kNone) {
      const RunFiles::Job& whose = run.jobs[bar.job];
      job = static_cast<std::uint32_t>(name.size());
      name.push_back(whose.name);
      queue.push_back(whose.queue);
      user.push_back(whose.user);
      state.push_back(whose.state);
      gpus.push_back(Number(whose.gpus));
      submit.push_back(Number(whose.submit_s));
      wait.push_back(Number(whose.WaitedS(run.end_s)));
      evictions.push_back(whose.evictions);
      if (!whose.reason.empty()) reason[std::to_string(job)] = whose.reason;
    }
    of_job.push_back(job);
    at.push_back(row(bar));
    count.push_back(bar.count);
    share.push_back(bar.share);
    parts = parts || bar.share != 1000;
    start.push_back(Number(bar.start_s));
    length.push_back(Number(bar.length_s));
  }
  if (!parts) share = Json();  // all bars are whole GPUs
  return {{"nodes", nodes},
          {"bars_of", run.bars.size()},
          {"gpu_time_kept", all > 0 ? kept / all : 1},
          {"jobs",
           {{"name", name},
            {"queue", queue},
            {"user", user},
            {"state", state},
            {"gpus", gpus},
            {"submit_s", submit},
            {"waited_s", wait},
            {"evictions", evictions},
            {"reason", reason}}},
          {"bars",
           {{"job", of_job},
            {"row", at},
            {"count", count},
            {"share", share},
            {"start_s", start},
            {"length_s", length}}}};
}

Json RunData(const RunFiles& run, const PageLimits& limits, std::size_t bars) {
  std::vector<double> waits, slowdowns;
  for (const RunFiles::Job& job : run.jobs) {
    if (job.start_s) waits.push_back(*job.start_s - job.submit_s);
    if (job.bounded_slowdown) slowdowns.push_back(*job.bounded_slowdown);
  }
  const Json& summary = run.summary;
  Json data = {{"folder", run.folder}};
  for (const char* key :
       {"name", "file", "end_s", "interrupted", "jobs_by_state", "all", "fairness"}) {
    if (summary.contains(key)) data[key] = summary[key];
  }
  data["by_queue"] = MostUsed(summary["by_queue"], limits.names);
  data["by_user"] = MostUsed(summary["by_user"], limits.names);
  data["words"] = run.words.words();
  data["steps"] = StepColumns(run.steps);
  data["queues"] = QueueColumns(run, limits.queues);
  data["waits"] = Distribution(std::move(waits), limits.points);
  data["slowdowns"] = Distribution(std::move(slowdowns), limits.points);
  data["waited"] = Waited(run, limits.jobs);
  data["gantt"] = run.has_tasks ? Gantt(run, bars) : Json();
  return data;
}

// Jobs of the same name in both runs, largest change of wait first.
Json Changes(const RunFiles& a, const RunFiles& b, std::size_t limit) {
  std::unordered_map<std::string, std::size_t> in_b;
  for (std::size_t j = 0; j < b.jobs.size(); ++j) in_b.emplace(b.jobs[j].name, j);
  struct Pair {
    const RunFiles::Job *a, *b;
    double change_s;  // of the wait
  };
  std::vector<Pair> pairs;
  std::size_t shorter = 0, longer = 0;
  for (const RunFiles::Job& job : a.jobs) {
    const auto other = in_b.find(job.name);
    if (other == in_b.end()) continue;
    const RunFiles::Job& same = b.jobs[other->second];
    const double change = same.WaitedS(b.end_s) - job.WaitedS(a.end_s);
    pairs.push_back({&job, &same, change});
    shorter += change < 0;
    longer += change > 0;
  }
  const std::size_t both = pairs.size();
  std::stable_sort(pairs.begin(), pairs.end(), [](const Pair& x, const Pair& y) {
    return std::abs(x.change_s) > std::abs(y.change_s);
  });
  std::erase_if(pairs, [](const Pair& pair) { return pair.change_s == 0; });
  pairs.resize(std::min(pairs.size(), limit));
  Json rows = Json::array();
  for (const Pair& pair : pairs) {
    rows.push_back({pair.a->name, a.words.words()[pair.a->user], a.words.words()[pair.a->queue],
                    Number(pair.a->gpus), Number(pair.a->WaitedS(a.end_s)),
                    Number(pair.b->WaitedS(b.end_s)), Number(pair.change_s),
                    NumberIfAny(pair.a->bounded_slowdown), NumberIfAny(pair.b->bounded_slowdown)});
  }
  return {{"both", both},
          {"shorter", shorter},
          {"longer", longer},
          {"only_a", a.jobs.size() - both},
          {"only_b", b.jobs.size() - both},
          {"columns",
           {"job", "user", "queue", "gpus", "waited_a_s", "waited_b_s", "change_s", "slowdown_a",
            "slowdown_b"}},
          {"rows", rows}};
}

}  // namespace

std::string PageData(const std::vector<RunFiles>& runs, const PageLimits& limits) {
  Json data = {{"runs", Json::array()}};
  for (const RunFiles& run : runs) {
    data["runs"].push_back(RunData(run, limits, limits.bars / runs.size()));
  }
  if (runs.size() == 2) data["changes"] = Changes(runs[0], runs[1], limits.jobs);
  return data.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Names are untrusted text: without "<" none of them ends the script element that the figures
// stand in (HTML, section 4.12.1.3), and the page never reads them as HTML.
std::string PageHtml(const std::string& data) {
  std::string html(kPageHead);
  html.reserve(kPageHead.size() + data.size() + kPageTail.size());
  for (const char c : data) {
    if (c == '<') {
      html += "\\u003c";
    } else {
      html += c;
    }
  }
  html += kPageTail;
  return html;
}

}  // namespace tephra
