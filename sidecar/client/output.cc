#include "sidecar/client/output.h"

#include <chrono>
#include <map>

#include <CLI/CLI.hpp>
#include <google/protobuf/util/json_util.h>
#include <nlohmann/json.hpp>
#include <yaml-cpp/yaml.h>

namespace tephra {
namespace {

void Emit(const nlohmann::ordered_json& value, YAML::Emitter& out) {
  if (value.is_object()) {
    out << YAML::BeginMap;
    for (const auto& [key, entry] : value.items()) {
      out << YAML::Key << key << YAML::Value;
      Emit(entry, out);
    }
    out << YAML::EndMap;
  } else if (value.is_array()) {
    // "[]" where there is nothing: a block list of nothing would be null.
    if (value.empty()) out << YAML::Flow;
    out << YAML::BeginSeq;
    for (const auto& entry : value) Emit(entry, out);
    out << YAML::EndSeq;
  } else if (value.is_string()) {
    out << value.get<std::string>();
  } else if (value.is_boolean()) {
    out << value.get<bool>();
  } else if (value.is_number_integer()) {
    out << value.get<std::int64_t>();
  } else if (value.is_number()) {
    out << value.get<double>();
  } else {
    out << YAML::Null;
  }
}

}  // namespace

void AddOutputOption(CLI::App& command, Output& output) {
  static const std::map<std::string, Output> kWords = {{"text", Output::kText},
                                                       {"wide", Output::kWide},
                                                       {"json", Output::kJson},
                                                       {"yaml", Output::kYaml}};
  command.add_option("-o,--output", output, "text, wide, json or yaml")
      ->transform(CLI::CheckedTransformer(kWords))
      ->type_name("FORMAT")
      ->option_text("text|wide|json|yaml");
}

void PrintMessage(const google::protobuf::Message& message, Output output, std::ostream& out) {
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  std::string text;
  // It fails only for messages with Any fields of unknown types.
  static_cast<void>(google::protobuf::util::MessageToJsonString(message, &text, options));
  const auto json = nlohmann::ordered_json::parse(text);
  if (output == Output::kJson) {
    out << json.dump(2) << "\n";
    return;
  }
  YAML::Emitter yaml;
  Emit(json, yaml);
  out << yaml.c_str() << "\n";
}

int FailLooking(const char* command, const absl::Status& why, std::ostream& err) {
  err << command << ": " << why.message() << "\n";
  return why.code() == absl::StatusCode::kUnavailable ||
                 why.code() == absl::StatusCode::kDeadlineExceeded
             ? 3
             : 1;
}

std::int64_t NowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace tephra
