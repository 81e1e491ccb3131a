// ApiClient: HTTPS to the Kubernetes API server with the token of a service account, which is read
// again for each request, for the kubelet replaces it about once an hour.
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
  std::string ca_file;     // empty: those that the system trusts
  std::string token_file;  // empty: none
};

// Of the pod that this process runs in. FAILED_PRECONDITION outside of one.
absl::StatusOr<ApiSettings> InClusterApi();

struct ApiAnswer {
  long code = 0;  // of HTTP
  std::string body;
};

class ApiClient {
 public:
  explicit ApiClient(ApiSettings settings);
  ~ApiClient();

  // UNAVAILABLE where no whole answer came within the time.
  absl::StatusOr<ApiAnswer> Get(const std::string& path);
  absl::StatusOr<ApiAnswer> Patch(const std::string& path, const std::string& merge_patch);
  absl::StatusOr<ApiAnswer> Post(const std::string& path, const std::string& object);

  // Hands on each line of the answer as it comes until the server ends it, `line` says false, or
  // the time is over. The answer's code; with any but 200, what came is its body.
  absl::StatusOr<ApiAnswer> Stream(const std::string& path, int seconds,
                                   const std::function<bool(std::string_view)>& line);

  // Ends the request that runs now, and each later one, with CANCELLED, until Resume.
  void Interrupt();
  void Resume();

 private:
  struct Connection;
  absl::StatusOr<ApiAnswer> Request(const std::string& method, const std::string& path,
                                    const std::string& body, int seconds,
                                    const std::function<bool(std::string_view)>* line);

  const ApiSettings settings_;
  std::unique_ptr<Connection> connection_;
};

// The error of an answer that is not what was wanted, by its code and the API server's own words.
absl::Status ApiError(const std::string& what, const ApiAnswer& answer);

}  // namespace tephra::node
