// absl::Status at the edges, with the two macros that this release of Abseil lacks.
#pragma once

#include <utility>

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#define TEPHRA_RETURN_IF_ERROR(expression)                                  \
  do {                                                                      \
    if (absl::Status status_ = (expression); !status_.ok()) return status_; \
  } while (false)

#define TEPHRA_CONCAT_(a, b) a##b
#define TEPHRA_CONCAT(a, b) TEPHRA_CONCAT_(a, b)
#define TEPHRA_ASSIGN_OR_RETURN(target, expression) \
  TEPHRA_ASSIGN_OR_RETURN_(TEPHRA_CONCAT(status_or_, __LINE__), target, expression)
#define TEPHRA_ASSIGN_OR_RETURN_(temporary, target, expression) \
  auto temporary = (expression);                                \
  if (!temporary.ok()) return temporary.status();               \
  target = std::move(temporary).value()
