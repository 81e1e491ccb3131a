#include "base/http_request.h"

namespace tephra {
namespace {

const char* Phrase(int code) {
  switch (code) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 431:
      return "Request Header Fields Too Large";
    default:
      return "Service Unavailable";
  }
}

std::string_view Until(std::string_view text, char end) { return text.substr(0, text.find(end)); }

}  // namespace

std::optional<HttpRequest> ParseHttpRequest(std::string_view text) {
  // Some clients end lines with a line feed alone.
  const bool whole = text.find("\r\n\r\n") != std::string_view::npos ||
                     text.find("\n\n") != std::string_view::npos;
  if (!whole) return std::nullopt;
  std::string_view line = Until(text, '\n');
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  HttpRequest request;
  const std::string_view method = Until(line, ' ');
  std::string_view rest = line.substr(method.size());
  if (!rest.empty()) rest.remove_prefix(1);
  const std::string_view target = Until(rest, ' ');
  const std::string_view version = rest.substr(target.size());
  if (method.empty() || target.empty() || target.front() != '/' ||
      version.substr(0, 8) != " HTTP/1.") {
    request.error = 400;
    return request;
  }
  if (method != "GET" && method != "HEAD") request.error = 405;
  request.has_body = method != "HEAD";
  request.path = Until(target, '?');
  return request;
}

std::string FormatHttpAnswer(int code, std::string_view text, bool has_body) {
  std::string answer = "HTTP/1.1 " + std::to_string(code) + " " + Phrase(code) +
                       "\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8"
                       "\r\nContent-Length: " +
                       std::to_string(text.size()) + "\r\nConnection: close\r\n\r\n";
  if (has_body) answer += text;
  return answer;
}

}  // namespace tephra
