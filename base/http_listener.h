// The listening socket of HttpServer.
#pragma once

#include <string>

#include "base/descriptor.h"
#include "topology/base/status.h"

namespace tephra {

struct HttpListener {
  Descriptor socket;  // does not block
  int port = 0;
};

// Listens on "HOST:PORT", "[HOST]:PORT" or "PORT". INVALID_ARGUMENT, UNAVAILABLE: the reason alone,
// without the address.
absl::StatusOr<HttpListener> ListenHttp(const std::string& address);

}  // namespace tephra
