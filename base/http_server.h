// HttpServer answers GET and HEAD requests on one address: metrics and health probes.
//
// One thread reads and writes all connections and never blocks on any of them. Each path has a
// thread of its own that makes the answers, so a slow handler delays only requests for its own
// path. One answer serves all requests that waited for it.
//
// Connections are bounded in number and in time. When every place is taken, the client address
// with the most connections loses its oldest one. Therefore clients that are idle, or that send one
// byte at a time, cannot keep a probe from its answer.
//
// The owner may call all methods from any one thread at a time; handlers run on the threads of the
// server.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "topology/base/status.h"

namespace tephra {

class HttpServer {
 public:
  struct Answer {
    int code = 200;
    std::string text;
  };
  using Handler = std::function<Answer()>;

  struct Limits {
    std::size_t connections = 128;
    std::size_t request_bytes = 8192;  // of the request line and the headers
    int request_ms = 5'000;            // from the connection to the end of its headers
    int answer_ms = 30'000;            // from there to the last byte of the answer
  };

  // Listens on HOST:PORT, for example "127.0.0.1:9402" or "[::]:9402"; port 0 picks a free port.
  // INVALID_ARGUMENT: the text is no address. UNAVAILABLE: the system refuses it. Both errors begin
  // with `option`, the flag that holds the address, and with the address.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(const std::string& option,
                                                           const std::string& address,
                                                           Limits limits);
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(const std::string& option,
                                                           const std::string& address);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;

  // Sets the handler of a path, for example "/metrics", or replaces it. A handler that throws
  // nothing is expected.
  void Handle(const std::string& path, Handler handler);
  // Closes the address and all connections, and returns when no handler runs any more.
  void Stop();
  int port() const { return port_; }

 private:
  class Loop;
  HttpServer(std::unique_ptr<Loop> loop, int port);

  std::unique_ptr<Loop> loop_;
  const int port_;
};

}  // namespace tephra
