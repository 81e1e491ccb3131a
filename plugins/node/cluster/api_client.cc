#include "plugins/node/cluster/api_client.h"

#include <atomic>
#include <cstdlib>

#include <curl/curl.h>
#include <nlohmann/json.hpp>

#include "base/bad_input.h"
#include "plugins/node/file.h"

namespace tephra::node {
namespace {

constexpr int kCallSeconds = 15;
constexpr int kConnectSeconds = 5;
constexpr std::size_t kMaxTokenBytes = 64u << 10;
constexpr const char* kAccount = "/var/run/secrets/kubernetes.io/serviceaccount/";

struct Receiving {
  std::string text;  // in a stream: the line that is not whole yet
  const std::function<bool(std::string_view)>* line = nullptr;
  CURL* easy = nullptr;
  std::size_t most = 0;    // bytes of `text`
  bool ended = false;      // by `line`
  bool too_large = false;  // more than `most`
};

std::size_t Receive(char* data, std::size_t, std::size_t size, void* to) {
  auto& into = *static_cast<Receiving*>(to);
  into.too_large = into.text.size() + size > into.most;
  if (into.too_large) return 0;
  into.text.append(data, size);
  long code = 0;
  curl_easy_getinfo(into.easy, CURLINFO_RESPONSE_CODE, &code);
  if (into.line == nullptr || code != 200) return size;
  std::size_t from = 0;
  for (std::size_t end; (end = into.text.find('\n', from)) != std::string::npos; from = end + 1) {
    if ((*into.line)(std::string_view(into.text).substr(from, end - from))) continue;
    into.ended = true;
    return 0;
  }
  into.text.erase(0, from);
  return size;
}

}  // namespace

struct ApiClient::Connection {
  Connection() : multi(curl_multi_init()), easy(curl_easy_init()) {
    if (multi == nullptr || easy == nullptr) std::abort();
  }
  ~Connection() {
    curl_easy_cleanup(easy);
    curl_multi_cleanup(multi);
  }
  CURLM* multi;
  CURL* easy;
  std::atomic<bool> interrupted = false;
};

absl::StatusOr<ApiSettings> InClusterApi() {
  const char* const host = std::getenv("KUBERNETES_SERVICE_HOST");
  const char* const port = std::getenv("KUBERNETES_SERVICE_PORT");
  if (host == nullptr || port == nullptr) {
    return absl::FailedPreconditionError(
        "the API server is not known: set --api-server, or run tephra-node in a pod, where "
        "KUBERNETES_SERVICE_HOST is set");
  }
  std::string name = host;
  if (name.find(':') != std::string::npos) name = "[" + name + "]";
  return ApiSettings{"https://" + name + ":" + port, std::string(kAccount) + "ca.crt",
                     std::string(kAccount) + "token"};
}

ApiClient::ApiClient(ApiSettings settings) : settings_(std::move(settings)) {
  static const bool once = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  if (!once) std::abort();
  connection_ = std::make_unique<Connection>();
}

ApiClient::~ApiClient() = default;

absl::StatusOr<ApiAnswer> ApiClient::Get(const std::string& path, std::size_t most) {
  return Request("GET", path, "", kCallSeconds, nullptr, most);
}

absl::StatusOr<ApiAnswer> ApiClient::Patch(const std::string& path,
                                           const std::string& merge_patch) {
  return Request("PATCH", path, merge_patch, kCallSeconds, nullptr);
}

absl::StatusOr<ApiAnswer> ApiClient::Post(const std::string& path, const std::string& object) {
  return Request("POST", path, object, kCallSeconds, nullptr);
}

absl::StatusOr<ApiAnswer> ApiClient::Stream(const std::string& path, int seconds,
                                            const std::function<bool(std::string_view)>& line) {
  return Request("GET", path, "", seconds, &line);
}

void ApiClient::Interrupt() {
  connection_->interrupted = true;
  curl_multi_wakeup(connection_->multi);
}

void ApiClient::Resume() { connection_->interrupted = false; }

absl::StatusOr<ApiAnswer> ApiClient::Request(const std::string& method, const std::string& path,
                                             const std::string& body, int seconds,
                                             const std::function<bool(std::string_view)>* line,
                                             std::size_t most) {
  CURL* const easy = connection_->easy;
  CURLM* const multi = connection_->multi;
  curl_easy_reset(easy);  // keeps the connection
  curl_slist* headers = curl_slist_append(nullptr, "Accept: application/json");
  if (!settings_.token_file.empty()) {
    auto token = ReadFileThroughLinks(settings_.token_file, kMaxTokenBytes);
    if (!token.ok()) {
      curl_slist_free_all(headers);
      return absl::UnavailableError("API server: " + std::string(token.status().message()));
    }
    token->erase(token->find_last_not_of(" \r\n\t") + 1);
    headers = curl_slist_append(headers, ("Authorization: Bearer " + *token).c_str());
  }
  if (!body.empty()) {
    headers =
        curl_slist_append(headers, method == "PATCH" ? "Content-Type: application/merge-patch+json"
                                                     : "Content-Type: application/json");
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, body.c_str());
  }
  char fault[CURL_ERROR_SIZE] = "";
  Receiving received;
  received.line = line;
  received.most = most;
  received.easy = easy;
  curl_easy_setopt(easy, CURLOPT_URL, (settings_.server + path).c_str());
  curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, method.c_str());
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "https,http");
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, 30L);
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, static_cast<long>(kConnectSeconds));
  curl_easy_setopt(easy, CURLOPT_TIMEOUT, static_cast<long>(seconds));
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, fault);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, Receive);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &received);
  if (!settings_.ca_file.empty()) {
    curl_easy_setopt(easy, CURLOPT_CAINFO, settings_.ca_file.c_str());
  }
  curl_multi_add_handle(multi, easy);
  int running = 1;
  while (running > 0 && !connection_->interrupted) {
    if (curl_multi_perform(multi, &running) != CURLM_OK) break;
    if (running > 0) curl_multi_poll(multi, nullptr, 0, seconds * 1000, nullptr);
  }
  CURLcode result = CURLE_ABORTED_BY_CALLBACK;
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi, &left)) {
    if (message->msg == CURLMSG_DONE) result = message->data.result;
  }
  ApiAnswer answer;
  curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &answer.code);
  curl_multi_remove_handle(multi, easy);
  curl_slist_free_all(headers);
  if (connection_->interrupted) return absl::CancelledError("API server: interrupted");
  if (received.too_large) {
    return absl::ResourceExhaustedError("API server: " + method + " " + path + ": the answer has " +
                                        "more than " + std::to_string(most) + " bytes");
  }
  const bool timed_out = line != nullptr && result == CURLE_OPERATION_TIMEDOUT && answer.code != 0;
  if (result != CURLE_OK && !received.ended && !timed_out) {
    return absl::UnavailableError("API server " + settings_.server + ": " +
                                  (fault[0] != '\0' ? fault : curl_easy_strerror(result)));
  }
  answer.body = std::move(received.text);
  return answer;
}

absl::Status ApiError(const std::string& what, const ApiAnswer& answer) {
  const auto said = nlohmann::json::parse(answer.body, nullptr, false);
  std::string words = "no reason given";
  if (said.is_object() && said.contains("message") && said["message"].is_string()) {
    words = Quoted(said["message"].get<std::string>());
  }
  const std::string text =
      "API server: " + what + ": HTTP " + std::to_string(answer.code) + ": " + words;
  switch (answer.code) {
    case 401:
    case 403:
      return absl::PermissionDeniedError(text);
    case 404:
      return absl::NotFoundError(text);
    case 410:
      return absl::OutOfRangeError(text);
    default:
      return absl::UnavailableError(text);
  }
}

}  // namespace tephra::node
