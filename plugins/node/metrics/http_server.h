// HttpServer: answers GET requests on one address, each path by a function: metrics and probes.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>

#include "topology/base/status.h"

struct mg_context;

namespace tephra::node {

class HttpServer {
 public:
  struct Answer {
    int code = 200;
    std::string text;
  };
  using Handler = std::function<Answer()>;

  // "127.0.0.1:9402"; port 0: any. UNAVAILABLE names the address and says why not.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(const std::string& address);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;

  // From now on, in the place of an earlier one. The handler is called by threads of the server
  // until Stop, which waits for answers that are being made.
  void Handle(const std::string& path, Handler handler);
  void Stop();
  int port() const;

 private:
  explicit HttpServer(mg_context* context) : context_(context) {}

  mg_context* context_;  // null: stopped
  std::list<Handler> handlers_;
};

}  // namespace tephra::node
