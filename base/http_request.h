// HttpRequest: the part of an HTTP/1.x request that HttpServer needs, and the text of its answer.
// Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tephra {

struct HttpRequest {
  int error = 0;         // the HTTP code to answer with; 0: the request is good
  bool has_body = true;  // false: HEAD, whose answer has no body
  std::string path;      // without the query
};

// The request whose headers end in `text`; nothing while more of it is to come.
std::optional<HttpRequest> ParseHttpRequest(std::string_view text);

std::string FormatHttpAnswer(int code, std::string_view text, bool has_body);

}  // namespace tephra
