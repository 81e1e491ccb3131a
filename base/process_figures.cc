#include "base/process_figures.h"

#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <fstream>

namespace tephra {
namespace {

prometheus::MetricFamily Figure(const char* name, const char* help, prometheus::MetricType type,
                                double value) {
  prometheus::MetricFamily family;
  family.name = name;
  family.help = help;
  family.type = type;
  prometheus::ClientMetric& metric = family.metric.emplace_back();
  metric.gauge.value = value;
  metric.counter.value = value;
  return family;
}

double ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  double size = 0, resident = 0;
  statm >> size >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

}  // namespace

ProcessFigures::ProcessFigures()
    : began_(std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch())
                 .count()) {}

std::vector<prometheus::MetricFamily> ProcessFigures::Collect() const {
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return {Figure("process_resident_memory_bytes", "Memory in use, in bytes.",
                 prometheus::MetricType::Gauge, ResidentBytes()),
          Figure("process_cpu_seconds_total", "User and system CPU time, in seconds.",
                 prometheus::MetricType::Counter, seconds(use.ru_utime) + seconds(use.ru_stime)),
          Figure("process_start_time_seconds", "When the process began, in Unix seconds.",
                 prometheus::MetricType::Gauge, began_)};
}

}  // namespace tephra
