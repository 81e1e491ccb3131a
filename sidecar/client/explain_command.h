// `tephra explain job/NAMESPACE/NAME`: why a job runs where it runs, or why it does not.
#pragma once

#include <ostream>
#include <string>

namespace CLI {
class App;
}

namespace tephra {

namespace v1 {
class ExplainReply;
}

// Adds the subcommand; when it was run, `code` is its exit code.
void AddExplainCommand(CLI::App& app, int& code);

// "job/a/b" and "a/b" name job b of namespace a, "job/b" the one of namespace "default"; without a
// slash it is a uid.
std::string JobNamed(const std::string& argument);

void PrintExplanation(const v1::ExplainReply& reply, bool wide, std::int64_t now_ms,
                      std::ostream& out);

}  // namespace tephra
