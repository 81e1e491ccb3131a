// HttpServer answers probes whatever other clients of its port do.
#include "base/http_server.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "base/descriptor.h"

namespace tephra {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

Descriptor Connect(int port) {
  Descriptor peer(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int failed = connect(peer.get(), reinterpret_cast<sockaddr*>(&address), sizeof address);
  return failed == 0 ? std::move(peer) : Descriptor();
}

void Send(const Descriptor& to, const std::string& text) {
  static_cast<void>(send(to.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
}

// What the server sends until it ends the connection, or the time is over.
std::string Read(const Descriptor& from, milliseconds within = milliseconds(5000)) {
  const auto end = Clock::now() + within;
  std::string text;
  while (true) {
    const auto left = std::chrono::duration_cast<milliseconds>(end - Clock::now()).count();
    pollfd ready = {from.get(), POLLIN, 0};
    if (left <= 0 || poll(&ready, 1, static_cast<int>(left)) <= 0) return text + "(late)";
    char part[4096];
    const ssize_t got = recv(from.get(), part, sizeof part, 0);
    if (got <= 0) return text;
    text.append(part, static_cast<std::size_t>(got));
  }
}

std::string Ask(int port, const std::string& request, milliseconds within = milliseconds(5000)) {
  const Descriptor peer = Connect(port);
  Send(peer, request);
  return Read(peer, within);
}

std::string Get(int port, const std::string& path, milliseconds within = milliseconds(5000)) {
  return Ask(port, "GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n", within);
}

bool Begins(const std::string& text, const std::string& with) { return text.rfind(with, 0) == 0; }

std::unique_ptr<HttpServer> Serve(HttpServer::Limits limits = {}) {
  auto server = HttpServer::Start("--metrics-address", "127.0.0.1:0", limits);
  REQUIRE(server.ok());
  (*server)->Handle("/healthz", [] { return HttpServer::Answer{200, "ok\n"}; });
  return *std::move(server);
}

TEST_CASE("HttpServer: GET and HEAD of a path that has a handler are answered") {
  const auto server = Serve();
  const std::string answer = Get(server->port(), "/healthz");
  CHECK(Begins(answer, "HTTP/1.1 200 OK\r\n"));
  CHECK(answer.find("Content-Length: 3\r\n") != std::string::npos);
  CHECK(answer.substr(answer.size() - 7) == "\r\n\r\nok\n");
  CHECK(Begins(Get(server->port(), "/healthz?verbose=1"), "HTTP/1.1 200 "));
  const std::string head = Ask(server->port(), "HEAD /healthz HTTP/1.0\r\n\r\n");
  CHECK(head.find("Content-Length: 3\r\n") != std::string::npos);
  CHECK(head.substr(head.size() - 4) == "\r\n\r\n");
  server->Handle("/healthz", [] { return HttpServer::Answer{503, "hung\n"}; });
  CHECK(Begins(Get(server->port(), "/healthz"), "HTTP/1.1 503 Service Unavailable\r\n"));
}

TEST_CASE("HttpServer: what is no request for a page gets the code that says so") {
  const auto server = Serve();
  const int port = server->port();
  CHECK(Begins(Get(port, "/health"), "HTTP/1.1 404 "));
  CHECK(Begins(Ask(port, "POST /healthz HTTP/1.1\r\nContent-Length: 1\r\n\r\nx"), "HTTP/1.1 405 "));
  CHECK(Begins(Ask(port, "\x16\x03\x01 hello\r\n\r\n"), "HTTP/1.1 400 "));
  CHECK(Begins(Ask(port, "GET http://x HTTP/1.1\r\n\r\n"), "HTTP/1.1 400 "));
  CHECK(Begins(Ask(port, "GET /healthz\r\n\r\n"), "HTTP/1.1 400 "));
  const std::string large(20'000, 'a');
  CHECK(Begins(Ask(port, "GET /healthz HTTP/1.1\r\nX: " + large + "\r\n\r\n"), "HTTP/1.1 431 "));
  CHECK(Begins(Get(port, "/healthz"), "HTTP/1.1 200 "));
}

TEST_CASE("HttpServer: probes are answered beside 400 connections that are idle or slow") {
  const auto server = Serve();
  for (const int slow : {40, 400}) {
    std::vector<Descriptor> held;
    std::atomic<bool> over = false;
    const auto connect = [&](std::size_t i) {
      Descriptor peer = Connect(server->port());
      if (i % 2 == 0) Send(peer, "GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow: ");
      return peer;
    };
    for (int i = 0; i < slow; ++i) held.push_back(connect(held.size()));
    // Each half-sent request continues by a byte at a time, and closed connections are opened
    // again.
    std::thread stranger([&] {
      while (!over) {
        for (std::size_t i = 0; i < held.size() && !over; ++i) {
          char part[64];
          const ssize_t got = recv(held[i].get(), part, sizeof part, MSG_DONTWAIT);
          if (got == 0 || (got < 0 && errno != EAGAIN)) held[i] = connect(i);
          if (i % 2 == 0) Send(held[i], "a");
        }
        std::this_thread::sleep_for(milliseconds(20));
      }
    });
    int answered = 0;
    for (int probe = 0; probe < 9; ++probe) {
      answered += Begins(Get(server->port(), "/healthz", milliseconds(2000)), "HTTP/1.1 200 ");
      std::this_thread::sleep_for(milliseconds(30));
    }
    over = true;
    stranger.join();
    CHECK(answered == 9);
  }
}

TEST_CASE("HttpServer: a connection that sends no whole request is closed") {
  HttpServer::Limits limits;
  limits.request_ms = 100;
  const auto server = Serve(limits);
  const Descriptor idle = Connect(server->port()), begun = Connect(server->port());
  Send(begun, "GET /");
  CHECK(Read(idle).empty());
  CHECK(Read(begun).empty());
}

TEST_CASE("HttpServer: a client that does not read its answer is closed, and holds up no other") {
  HttpServer::Limits limits;
  limits.answer_ms = 300;
  const auto server = Serve(limits);
  const std::string large(64 << 20, 'x');
  server->Handle("/large", [&] { return HttpServer::Answer{200, large}; });
  const Descriptor deaf = Connect(server->port());
  Send(deaf, "GET /large HTTP/1.1\r\n\r\n");
  CHECK(Begins(Get(server->port(), "/healthz"), "HTTP/1.1 200 "));
  std::this_thread::sleep_for(milliseconds(600));
  CHECK(Read(deaf).size() < large.size());
}

TEST_CASE("HttpServer: a slow handler holds up only its own path, and answers all that waited") {
  const auto server = Serve();
  std::mutex mutex;
  std::condition_variable changed;
  bool go = false;
  std::atomic<int> calls = 0;
  server->Handle("/slow", [&] {
    ++calls;
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return go; });
    return HttpServer::Answer{200, "done\n"};
  });
  std::vector<Descriptor> waiting;
  for (int i = 0; i < 50; ++i) {
    waiting.push_back(Connect(server->port()));
    Send(waiting.back(), "GET /slow HTTP/1.1\r\n\r\n");
  }
  for (int probe = 0; probe < 5; ++probe) {
    CHECK(Begins(Get(server->port(), "/healthz"), "HTTP/1.1 200 "));
  }
  {
    const std::lock_guard lock(mutex);
    go = true;
    changed.notify_all();
  }
  for (const Descriptor& each : waiting) CHECK(Begins(Read(each), "HTTP/1.1 200 "));
  CHECK(calls <= 5);
}

TEST_CASE("HttpServer: clients that asked are not closed for the sake of idle ones") {
  HttpServer::Limits limits;
  limits.connections = 8;
  const auto server = Serve(limits);
  std::atomic<bool> go = false;
  server->Handle("/slow", [&] {
    while (!go) std::this_thread::sleep_for(milliseconds(5));
    return HttpServer::Answer{200, "done\n"};
  });
  const Descriptor asked = Connect(server->port());
  Send(asked, "GET /slow HTTP/1.1\r\n\r\n");
  Get(server->port(), "/healthz");  // by then it is read
  std::vector<Descriptor> idle;
  for (int i = 0; i < 40; ++i) idle.push_back(Connect(server->port()));
  CHECK(Begins(Get(server->port(), "/healthz"), "HTTP/1.1 200 "));
  go = true;
  CHECK(Begins(Read(asked), "HTTP/1.1 200 "));
}

TEST_CASE("HttpServer: an address that cannot be served is named with its flag and the reason") {
  const auto bad = HttpServer::Start("--metrics-address", "127.0.0.1");
  CHECK(bad.status().message() ==
        "--metrics-address: \"127.0.0.1\": expected HOST:PORT, for example 127.0.0.1:9402");
  CHECK(absl::IsInvalidArgument(HttpServer::Start("-a", "::1:9402").status()));
  CHECK(absl::IsInvalidArgument(HttpServer::Start("-a", "127.0.0.1:65536").status()));
  CHECK(absl::IsInvalidArgument(HttpServer::Start("-a", "127.0.0.1:x").status()));
  const auto server = Serve();
  const auto taken =
      HttpServer::Start("--metrics-address", "127.0.0.1:" + std::to_string(server->port()));
  CHECK(absl::IsUnavailable(taken.status()));
  CHECK(taken.status().message().find("cannot listen: Address already in use") !=
        std::string::npos);
}

TEST_CASE("HttpServer: Stop returns when the last handler has, and closes every connection") {
  const auto server = Serve();
  const int port = server->port();
  const Descriptor idle = Connect(port);
  Get(port, "/healthz");
  server->Stop();
  CHECK(Read(idle).empty());
  CHECK_FALSE(Connect(port).valid());
}

}  // namespace
}  // namespace tephra
