#include "base/http_listener.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>

namespace tephra {
namespace {

struct HostAndPort {
  std::string host;  // empty: all addresses
  std::string port;
};

std::optional<HostAndPort> Split(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  HostAndPort parts;
  parts.port = colon == std::string::npos ? address : address.substr(colon + 1);
  if (colon != std::string::npos) parts.host = address.substr(0, colon);
  if (parts.host.size() > 2 && parts.host.front() == '[' && parts.host.back() == ']') {
    parts.host = parts.host.substr(1, parts.host.size() - 2);
  } else if (parts.host.find(':') != std::string::npos) {
    return std::nullopt;  // an IPv6 address needs brackets
  }
  int port = -1;
  const char* const end = parts.port.data() + parts.port.size();
  const auto read = std::from_chars(parts.port.data(), end, port);
  if (read.ec != std::errc() || read.ptr != end || port < 0 || port > 65535) return std::nullopt;
  return parts;
}

int PortOf(int socket) {
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&bound), &size) != 0) return 0;
  return ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(bound).sin6_port
                                           : reinterpret_cast<sockaddr_in&>(bound).sin_port);
}

}  // namespace

absl::StatusOr<HttpListener> ListenHttp(const std::string& address) {
  const std::optional<HostAndPort> parts = Split(address);
  if (!parts) {
    return absl::InvalidArgumentError("expected HOST:PORT, for example 127.0.0.1:9402");
  }
  addrinfo wanted{};
  wanted.ai_flags = AI_PASSIVE;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failure = getaddrinfo(parts->host.empty() ? nullptr : parts->host.c_str(),
                                  parts->port.c_str(), &wanted, &found);
  if (failure != 0) {
    return absl::UnavailableError("the host is not known: " + std::string(gai_strerror(failure)));
  }
  HttpListener listener;
  int error = 0;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    Descriptor tried(socket(each->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const int yes = 1;
    setsockopt(tried.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (tried.valid() && bind(tried.get(), each->ai_addr, each->ai_addrlen) == 0 &&
        listen(tried.get(), SOMAXCONN) == 0) {
      listener.port = PortOf(tried.get());
      listener.socket = std::move(tried);
      break;
    }
    error = errno;
  }
  freeaddrinfo(found);
  if (!listener.socket.valid()) {
    return absl::UnavailableError(std::string("cannot listen: ") + std::strerror(error));
  }
  return listener;
}

}  // namespace tephra
