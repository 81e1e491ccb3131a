#include "base/http_server.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <list>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "base/http_listener.h"
#include "base/http_paths.h"
#include "base/http_request.h"

namespace tephra {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// After the answer: the client's time to close the connection. Without it, what the client still
// sends would reset the connection before the client has read the answer.
constexpr milliseconds kCloseWithin(1000);
// The process has no descriptor left: how long no connection is accepted.
constexpr milliseconds kAcceptPause(100);

std::string AddressBytes(const sockaddr_storage& from) {
  if (from.ss_family == AF_INET) {
    const auto& address = reinterpret_cast<const sockaddr_in&>(from).sin_addr;
    return {reinterpret_cast<const char*>(&address), sizeof address};
  }
  const auto& address = reinterpret_cast<const sockaddr_in6&>(from).sin6_addr;
  return {reinterpret_cast<const char*>(&address), sizeof address};
}

bool TryAgain() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace

// The thread that owns the connections.
class HttpServer::Loop {
 public:
  Loop(Descriptor listening, Limits limits)
      : limits_(limits),
        listening_(std::move(listening)),
        wake_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
        paths_([this](std::vector<std::uint64_t> requests, Answer answer) {
          {
            const std::lock_guard lock(done_mutex_);
            done_.emplace_back(std::move(requests), std::move(answer));
          }
          Wake();
        }),
        thread_([this] { Run(); }) {}
  ~Loop() {
    stopping_ = true;
    Wake();
    thread_.join();
    paths_.Stop();
  }

  HttpPaths& paths() { return paths_; }

 private:
  enum class Stage { kReading, kWaiting, kWriting, kClosing };

  struct Connection {
    std::uint64_t number = 0;  // in the order of arrival, from 1
    Descriptor socket;
    std::string client;  // the bytes of its address
    Stage stage = Stage::kReading;
    Clock::time_point deadline;
    std::string request;
    bool has_body = true;
    std::string answer;
    std::size_t written = 0;
  };

  static short Events(Stage stage) {
    switch (stage) {
      case Stage::kReading:
      case Stage::kClosing:
        return POLLIN;
      case Stage::kWriting:
        return POLLOUT;
      case Stage::kWaiting:
        break;
    }
    return 0;
  }

  using Answered = std::vector<std::pair<std::vector<std::uint64_t>, Answer>>;

  void Wake() {
    const std::uint64_t one = 1;
    static_cast<void>(!write(wake_.get(), &one, sizeof one));
  }

  void Run() {
    std::vector<pollfd> polled;
    while (!stopping_) {
      const Clock::time_point now = Clock::now();
      polled = {{wake_.get(), POLLIN, 0},
                {listening_.get(), static_cast<short>(now < accept_from_ ? 0 : POLLIN), 0}};
      Clock::time_point next = now < accept_from_ ? accept_from_ : Clock::time_point::max();
      for (const Connection& each : connections_) {
        polled.push_back({each.socket.get(), Events(each.stage), 0});
        next = std::min(next, each.deadline);
      }
      const auto left = std::chrono::ceil<milliseconds>(next - now).count();
      const int wait = next == Clock::time_point::max() ? -1 : static_cast<int>(std::max(left, 0L));
      if (poll(polled.data(), polled.size(), wait) < 0) continue;
      std::uint64_t count = 0;
      if (polled[0].revents != 0) static_cast<void>(!read(wake_.get(), &count, sizeof count));
      std::size_t place = 2;
      for (auto each = connections_.begin(); each != connections_.end(); ++place) {
        const bool open = Clock::now() < each->deadline &&
                          (polled[place].revents == 0 || Serve(*each, polled[place].revents));
        each = open ? std::next(each) : connections_.erase(each);
      }
      TakeAnswers();
      if (polled[1].revents != 0) Accept();
    }
    connections_.clear();
  }

  // False: the connection is over.
  bool Serve(Connection& connection, short events) {
    if ((events & (POLLERR | POLLNVAL)) != 0) return false;
    switch (connection.stage) {
      case Stage::kReading:
        return Read(connection);
      case Stage::kWriting:
        return Write(connection);
      case Stage::kClosing:
        return Drain(connection);
      case Stage::kWaiting:
        break;
    }
    return (events & POLLHUP) == 0;
  }

  bool Read(Connection& connection) {
    char part[2048];
    const ssize_t got = recv(connection.socket.get(), part, sizeof part, 0);
    if (got < 0) return TryAgain();
    if (got == 0) return false;
    connection.request.append(part, static_cast<std::size_t>(got));
    const std::optional<HttpRequest> request = ParseHttpRequest(connection.request);
    if (!request) {
      if (connection.request.size() < limits_.request_bytes) return true;
      return Reply(connection, {431, "the request is too large\n"});
    }
    connection.request = {};
    connection.has_body = request->has_body;
    connection.deadline = Clock::now() + milliseconds(limits_.answer_ms);
    if (request->error == 400) return Reply(connection, {400, "this is not an HTTP request\n"});
    if (request->error != 0) return Reply(connection, {request->error, "use GET\n"});
    connection.stage = Stage::kWaiting;
    if (paths_.Ask(request->path, connection.number)) return true;
    return Reply(connection, {404, "no such page\n"});
  }

  bool Reply(Connection& connection, const Answer& answer) {
    connection.answer = FormatHttpAnswer(answer.code, answer.text, connection.has_body);
    connection.stage = Stage::kWriting;
    return Write(connection);
  }

  bool Write(Connection& connection) {
    const std::string& answer = connection.answer;
    while (connection.written < answer.size()) {
      const ssize_t sent = send(connection.socket.get(), answer.data() + connection.written,
                                answer.size() - connection.written, MSG_NOSIGNAL);
      if (sent < 0) return TryAgain();
      connection.written += static_cast<std::size_t>(sent);
    }
    connection.answer = {};
    connection.stage = Stage::kClosing;
    connection.deadline = Clock::now() + kCloseWithin;
    return shutdown(connection.socket.get(), SHUT_WR) == 0;
  }

  static bool Drain(Connection& connection) {
    char part[2048];
    const ssize_t got = recv(connection.socket.get(), part, sizeof part, 0);
    return got < 0 ? TryAgain() : got > 0;
  }

  void TakeAnswers() {
    Answered done;
    {
      const std::lock_guard lock(done_mutex_);
      done.swap(done_);
    }
    for (const auto& [numbers, answer] : done) {
      for (auto each = connections_.begin(); each != connections_.end();) {
        const bool its = each->stage == Stage::kWaiting &&
                         std::find(numbers.begin(), numbers.end(), each->number) != numbers.end();
        const bool open = !its || Reply(*each, answer);
        each = open ? std::next(each) : connections_.erase(each);
      }
    }
  }

  // At most as many at a time as there are places, so that a flood does not keep requests that are
  // here from being read.
  void Accept() {
    for (std::size_t taken = 0; taken < limits_.connections; ++taken) {
      sockaddr_storage from{};
      socklen_t size = sizeof from;
      Descriptor socket(accept4(listening_.get(), reinterpret_cast<sockaddr*>(&from), &size,
                                SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!socket.valid()) {
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
          accept_from_ = Clock::now() + kAcceptPause;
        }
        return;
      }
      if (connections_.size() >= limits_.connections) Evict();
      Connection& connection = connections_.emplace_back();
      connection.number = ++accepted_;
      connection.socket = std::move(socket);
      connection.client = AddressBytes(from);
      connection.deadline = Clock::now() + milliseconds(limits_.request_ms);
      // A request is nearly always here with its connection, and so is never evicted unread.
      if (!Read(connection)) connections_.pop_back();
    }
  }

  void Evict() {
    std::map<std::string, std::size_t> count;
    for (const Connection& each : connections_) ++count[each.client];
    const auto most = std::max_element(
        count.begin(), count.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    auto victim = connections_.end();
    for (auto each = connections_.begin(); each != connections_.end(); ++each) {
      if (each->client != most->first) continue;
      if (victim == connections_.end()) victim = each;
      // A client that has asked is worth more than one that has not.
      if (each->stage != Stage::kReading && each->stage != Stage::kClosing) continue;
      victim = each;
      break;
    }
    connections_.erase(victim);
  }

  const Limits limits_;
  const Descriptor listening_, wake_;
  std::list<Connection> connections_;  // in the order of arrival
  std::uint64_t accepted_ = 0;
  Clock::time_point accept_from_{};
  std::atomic<bool> stopping_ = false;
  std::mutex done_mutex_;
  Answered done_;
  HttpPaths paths_;
  std::thread thread_;  // last, so that it begins when the rest is there
};

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(const std::string& option,
                                                              const std::string& address) {
  return Start(option, address, Limits());
}

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(const std::string& option,
                                                              const std::string& address,
                                                              Limits limits) {
  auto listener = ListenHttp(address);
  if (!listener.ok()) {
    return absl::Status(listener.status().code(), option + ": \"" + address + "\": " +
                                                      std::string(listener.status().message()));
  }
  const int port = listener->port;
  return std::unique_ptr<HttpServer>(
      new HttpServer(std::make_unique<Loop>(std::move(listener->socket), limits), port));
}

HttpServer::HttpServer(std::unique_ptr<Loop> loop, int port)
    : loop_(std::move(loop)), port_(port) {}
HttpServer::~HttpServer() = default;

void HttpServer::Handle(const std::string& path, Handler handler) {
  if (loop_ != nullptr) loop_->paths().Handle(path, std::move(handler));
}

void HttpServer::Stop() { loop_ = nullptr; }

}  // namespace tephra
