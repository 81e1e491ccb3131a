// ApiClient: HTTPS to the Kubernetes API server with the token of a service account. The token is
// read again for each request, because the kubelet replaces it about once an hour.
//
// One thread at a time; Interrupt from any.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "topology/base/status.h"

namespace tephra::node {

struct ApiSettings {
  std::string server;      // "https://10.0.0.1:443"
  std::string ca_file;     // empty: the certificates that the system trusts
  std::string token_file;  // empty: none
};

// Of the pod that this process runs in. FAILED_PRECONDITION: it does not run in a pod.
absl::StatusOr<ApiSettings> InClusterApi();

struct ApiAnswer {
  long code = 0;  // of HTTP
  std::string body;
};

class ApiClient {
 public:
  // Of an answer or a line of a stream, in bytes. An object of etcd has 1.5 MiB at most, which grows
  // to no more than six times as much in JSON.
  static constexpr std::size_t kMostAnswer = 16u << 20;

  explicit ApiClient(ApiSettings settings);
  ~ApiClient();

  // UNAVAILABLE: no whole answer came within the time. RESOURCE_EXHAUSTED: the answer has more than
  // `most` bytes.
  absl::StatusOr<ApiAnswer> Get(const std::string& path, std::size_t most = kMostAnswer);
  absl::StatusOr<ApiAnswer> Patch(const std::string& path, const std::string& merge_patch);
  absl::StatusOr<ApiAnswer> Post(const std::string& path, const std::string& object);

  // Calls `line` with each line of the answer as it comes, until the server ends the answer, `line`
  // returns false, or the time is over. Returns the code, and the body if the code is not 200.
  absl::StatusOr<ApiAnswer> Stream(const std::string& path, int seconds,
                                   const std::function<bool(std::string_view)>& line);

  // Ends the request that runs now, and each later one, with CANCELLED, until Resume.
  void Interrupt();
  void Resume();

 private:
  struct Connection;
  absl::StatusOr<ApiAnswer> Request(const std::string& method, const std::string& path,
                                    const std::string& body, int seconds,
                                    const std::function<bool(std::string_view)>* line,
                                    std::size_t most = kMostAnswer);

  const ApiSettings settings_;
  std::unique_ptr<Connection> connection_;
};

// The error for an answer with an unexpected code, with the message of the API server.
absl::Status ApiError(const std::string& what, const ApiAnswer& answer);

}  // namespace tephra::node
