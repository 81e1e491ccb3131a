#include "plugins/node/metrics/http_server.h"

#include <civetweb.h>

#include <csignal>
#include <utility>

namespace tephra::node {
namespace {

const char* Phrase(int code) {
  switch (code) {
    case 200:
      return "OK";
    case 405:
      return "Method Not Allowed";
    default:
      return "Service Unavailable";
  }
}

int Serve(mg_connection* connection, void* handler) {
  const std::string method = mg_get_request_info(connection)->request_method;
  const bool get = method == "GET", head = method == "HEAD";
  const HttpServer::Answer answer = get || head
                                        ? (*static_cast<const HttpServer::Handler*>(handler))()
                                        : HttpServer::Answer{405, "expected GET\n"};
  mg_printf(connection,
            "HTTP/1.1 %d %s\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
            "Content-Length: %zu\r\nConnection: close\r\n\r\n",
            answer.code, Phrase(answer.code), answer.text.size());
  if (!head) mg_write(connection, answer.text.data(), answer.text.size());
  return answer.code;
}

// Where the thread that starts a server keeps why that fails.
thread_local std::string* fault = nullptr;

int Keep(const mg_connection*, const char* message) {
  if (fault != nullptr && fault->empty()) *fault = message;
  return 1;  // nothing to the standard error
}

}  // namespace

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(const std::string& address) {
  const char* const options[] = {"listening_ports",    address.c_str(), "num_threads", "2",
                                 "request_timeout_ms", "10000",         nullptr};
  mg_callbacks callbacks{};
  callbacks.log_message = Keep;
  std::string why;
  fault = &why;
  mg_context* const context = mg_start(&callbacks, nullptr, const_cast<const char**>(options));
  fault = nullptr;
  // By its documentation it ignores this signal; whoever starts a program here waits for its end.
  std::signal(SIGCHLD, SIG_DFL);
  if (context == nullptr) {
    return absl::UnavailableError("--metrics-address: \"" + address +
                                  "\": cannot be listened on, expected HOST:PORT: " + why);
  }
  return std::unique_ptr<HttpServer>(new HttpServer(context));
}

HttpServer::~HttpServer() { Stop(); }

void HttpServer::Stop() {
  if (context_ != nullptr) mg_stop(std::exchange(context_, nullptr));
}

void HttpServer::Handle(const std::string& path, Handler handler) {
  // Its place stays the same while others are added.
  handlers_.push_back(std::move(handler));
  mg_set_request_handler(context_, (path + "$").c_str(), Serve, &handlers_.back());
}

int HttpServer::port() const {
  mg_server_port ports[1] = {};
  return mg_get_server_ports(context_, 1, ports) > 0 ? ports[0].port : 0;
}

}  // namespace tephra::node
