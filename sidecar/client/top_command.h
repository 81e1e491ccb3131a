// `tephra top [queues|nodes|jobs]`: what a running engine's cluster holds, and what waits.
#pragma once

#include <ostream>
#include <string>

namespace CLI {
class App;
}

namespace tephra {

namespace v1 {
class GetStateReply;
}

// Adds the subcommand; when it was run, `code` is its exit code.
void AddTopCommand(CLI::App& app, int& code);

// `what`: "queues", "nodes", "jobs", or empty for all three.
void PrintTop(const v1::GetStateReply& state, const std::string& what, bool wide,
              std::int64_t now_ms, std::ostream& out);

}  // namespace tephra
