#include "simulations/sweep/run_inputs.h"

#include <chrono>
#include <filesystem>

#include <nlohmann/json.hpp>

namespace tephra {
namespace {

using Json = nlohmann::ordered_json;

Json DocumentJson(const Yaml& node) {
  switch (node.kind) {
    case Yaml::Kind::kNull:
      break;
    case Yaml::Kind::kText:
      return node.text;
    case Yaml::Kind::kList: {
      Json list = Json::array();
      for (const Yaml::Ptr& item : node.items) list.push_back(DocumentJson(*item));
      return list;
    }
    case Yaml::Kind::kMap: {
      Json map = Json::object();
      for (const Yaml::Entry& entry : node.entries) map[entry.key] = DocumentJson(*entry.value);
      return map;
    }
  }
  return Json();
}

}  // namespace

std::string FileStamp(const std::string& path) {
  std::error_code error;
  const std::uintmax_t bytes = std::filesystem::file_size(path, error);
  if (error) return path + ", does not exist";
  const auto changed =
      std::chrono::file_clock::to_sys(std::filesystem::last_write_time(path, error));
  return path + ", " + std::to_string(bytes) + " bytes, changed at " +
         std::to_string(changed.time_since_epoch().count()) + " ns";
}

std::string RunInputs(const std::string& program, const Simulation& simulation) {
  std::string text = program + "\n";
  for (const std::string& path : simulation.inputs) text += FileStamp(path) + "\n";
  return text + DocumentJson(*simulation.document).dump(2) + "\n";
}

}  // namespace tephra
