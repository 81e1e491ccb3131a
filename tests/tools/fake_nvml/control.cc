#include "tests/tools/fake_nvml/control.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>

#include <nlohmann/json.hpp>

namespace tephra::node {
namespace {

using ControlJson = nlohmann::json;

std::optional<unsigned> Id(const ControlJson& json, const char* name) {
  if (!json.contains(name)) return std::nullopt;
  return json[name].get<unsigned>();
}

std::size_t GpuIndex(const ControlJson& json) {
  return std::min<std::size_t>(json.at("gpu").get<std::size_t>(), kMostFakeGpus - 1);
}

FakeControl ReadControl(const ControlJson& json) {
  FakeControl control;
  const ControlJson gpus = json.value("gpus", ControlJson::object());
  for (const auto& [index, gpu] : gpus.items()) {
    control.gpus.at(std::stoul(index)) = {gpu.value("lost", false),
                                          gpu.value("busy", false),
                                          gpu.value("resets", 0u),
                                          gpu.value("eccErrors", std::int64_t{0}),
                                          gpu.value("usedMiB", std::int64_t{0}),
                                          gpu.value("computePercent", 0u)};
  }
  for (const ControlJson& process : json.value("processes", ControlJson::array())) {
    control.processes.push_back({GpuIndex(process), process.at("pid").get<unsigned>(),
                                 process.value("memoryMiB", std::int64_t{0}), Id(process, "gi"),
                                 Id(process, "ci"), process.value("computePercent", 0u)});
  }
  for (const ControlJson& event : json.value("events", ControlJson::array())) {
    control.events.push_back(
        {GpuIndex(event), event.value("xid", 0ULL), Id(event, "gi"), Id(event, "ci")});
  }
  for (const ControlJson& fault : json.value("faults", ControlJson::array())) {
    if (control.faults.size() == kMostFakeFaults) break;
    control.faults.push_back({fault.at("function").get<std::string>(), fault.value("call", 1u),
                              fault.value("error", 999), fault.value("abort", false),
                              fault.value("after", false), fault.value("hang", false)});
  }
  return control;
}

}  // namespace

const FakeControl& FakeControlFile::Now() {
  struct stat now {};
  if (path_.empty() || stat(path_.c_str(), &now) != 0) return control_;
  const std::int64_t changed_ns =
      std::int64_t{now.st_mtim.tv_sec} * 1'000'000'000 + now.st_mtim.tv_nsec;
  if (now.st_ino == inode_ && now.st_size == size_ && changed_ns == changed_ns_) return control_;
  inode_ = now.st_ino;
  size_ = now.st_size;
  changed_ns_ = changed_ns;
  identity_ = static_cast<std::uint64_t>(changed_ns) * 31 + now.st_ino;
  std::ifstream file(path_);
  std::stringstream text;
  text << file.rdbuf();
  try {
    control_ = ReadControl(ControlJson::parse(text.str()));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fake NVML: %s: %s\n", path_.c_str(), error.what());
  }
  return control_;
}

}  // namespace tephra::node
