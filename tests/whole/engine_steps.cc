// engine_steps: the engine for a simulation that has the only clock. It holds live engines without gRPC, sockets or
// threads. It reads one request at a time from standard input and answers it whole on standard output, so what it
// does is a function of what it reads.
//
// A request is its length (4 bytes, little-endian), one letter, the number of an engine (4 bytes) and a body:
//
//   N  a new engine, in the place of the one of that number; body: its first epoch (8 bytes) and the folder of its
//      journal, which may be empty
//   B  Hello: a stream begins       F  Facts       C  CycleRequest       E  the stream ends
//   S  GetState of everything       X  the engine is gone
//   L  body: one byte; 1: files cannot grow, as on a full disk; 0: they can
//
// An answer is the number of its messages (4 bytes), each with its length (4 bytes).
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "sidecar/config.h"
#include "sidecar/live_engine.h"
#include "sidecar/metrics.h"

namespace tephra {
namespace {

constexpr std::uint32_t kMostBytes = std::uint32_t{1} << 28;

bool ReadAll(char* to, std::size_t size) {
  while (size > 0) {
    const ssize_t got = read(STDIN_FILENO, to, size);
    if (got <= 0) return false;
    to += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

bool WriteAll(const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t put = write(STDOUT_FILENO, text.data() + at, text.size() - at);
    if (put <= 0) return false;
    at += static_cast<std::size_t>(put);
  }
  return true;
}

std::string Word(std::uint32_t value) { return {reinterpret_cast<const char*>(&value), sizeof value}; }

// Files of this process can grow no more, or can again. The log is on stderr, which is no file here.
void FullDisk(bool full) {
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  limit.rlim_cur = full ? 1 : limit.rlim_max;
  setrlimit(RLIMIT_FSIZE, &limit);
}

class Engines {
 public:
  explicit Engines(EngineConfig config) : config_(std::move(config)) {}

  // Every message that the request brings about. REQUIRES: it has a letter and a number.
  std::vector<std::string> Answer(const std::string& request) {
    std::uint32_t number = 0;
    std::memcpy(&number, request.data() + 1, sizeof number);
    const std::string body = request.substr(1 + sizeof number);
    replies_.clear();
    if (request[0] == 'L') {
      FullDisk(!body.empty() && body[0] == 1);
    } else if (request[0] == 'N') {
      Start(number, body);
    } else if (request[0] == 'X') {
      engines_.erase(number);
    } else if (const auto found = engines_.find(number); found != engines_.end()) {
      Pass(request[0], body, *found->second);
    }
    return replies_;
  }

 private:
  void Start(std::uint32_t number, const std::string& body) {
    std::uint64_t epoch = 0;
    std::memcpy(&epoch, body.data(), std::min(body.size(), sizeof epoch));
    std::optional<JournalSettings> journal;
    if (body.size() > sizeof epoch) journal.emplace().directory = body.substr(sizeof epoch);
    engines_[number] = std::make_unique<LiveEngine>(config_, std::move(journal), metrics_, epoch);
  }

  void Pass(char letter, const std::string& body, LiveEngine& engine) {
    const auto keep = [this](const google::protobuf::MessageLite& reply) {
      replies_.push_back(reply.SerializeAsString());
    };
    if (letter == 'B') {
      v1::Hello hello;
      hello.ParseFromString(body);
      if (LiveEngine::Speaks(hello).ok()) engine.Begin(hello, keep);
    } else if (letter == 'F') {
      v1::Facts facts;
      facts.ParseFromString(body);
      engine.Take(Decode(facts));
    } else if (letter == 'C') {
      v1::CycleRequest cycle;
      cycle.ParseFromString(body);
      engine.Cycle(cycle);
    } else if (letter == 'E') {
      engine.End();
    } else if (letter == 'S') {
      v1::GetStateReply state;
      if (engine.GetState(true, &state).ok()) keep(state);
    }
  }

  EngineConfig config_;
  Metrics metrics_;
  std::map<std::uint32_t, std::unique_ptr<LiveEngine>> engines_;
  std::vector<std::string> replies_;
};

int Serve(EngineConfig config) {
  Engines engines(std::move(config));
  for (std::uint32_t size = 0; ReadAll(reinterpret_cast<char*>(&size), sizeof size);) {
    std::string request(std::min(size, kMostBytes), '\0');
    if (size < 5 || size > kMostBytes || !ReadAll(request.data(), size)) return 1;
    const std::vector<std::string> replies = engines.Answer(request);
    std::string answer = Word(static_cast<std::uint32_t>(replies.size()));
    for (const std::string& reply : replies) {
      answer += Word(static_cast<std::uint32_t>(reply.size())) + reply;
    }
    if (!WriteAll(answer)) return 1;
  }
  return 0;
}

}  // namespace
}  // namespace tephra

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file at its size limit is a full disk
  tephra::SetUpLog({tephra::LogLevel::kError, tephra::LogFormat::kText});
  tephra::Config config;
  if (argc > 1) {
    auto loaded = tephra::LoadConfig(argv[1]);
    if (!loaded.ok()) {
      std::cerr << "engine_steps: " << loaded.status().message() << "\n";
      return 2;
    }
    config = *std::move(loaded);
  }
  return tephra::Serve(config.engine);
}
