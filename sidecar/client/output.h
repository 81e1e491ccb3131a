// How an answer is shown: as text for people, or whole for scripts.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>

#include "topology/base/status.h"

namespace CLI {
class App;
}
namespace google::protobuf {
class Message;
}

namespace tephra {

enum class Output { kText, kWide, kJson, kYaml };

// Adds --output text|wide|json|yaml.
void AddOutputOption(CLI::App& command, Output& output);

// The whole message, fields of value zero included, by protobuf's JSON mapping: names in
// camelCase, 64-bit numbers as text. REQUIRES: kJson or kYaml.
void PrintMessage(const google::protobuf::Message& message, Output output, std::ostream& out);

// Prints the error and returns the exit code of the command: 1 the engine refuses, 3 no engine
// answers.
int FailLooking(const char* command, const absl::Status& why, std::ostream& err);

// Since 1970, for "so long ago".
std::int64_t NowMs();

// For the footers of their --help.
inline constexpr char kLookExitCodes[] =
    "Exit codes: 0 success; 1 the engine has no answer (no such job, or no cluster yet); 2 bad input or usage; 3 no "
    "engine answers.";

}  // namespace tephra
