// The functions of the library by name; null: the library does not have it.
#pragma once

#include "plugins/node/nvml/call_watch.h"
#include "plugins/node/nvml/nvml.h"

namespace tephra::node {

namespace abi = nvml_abi;

struct Nvml::Api {
#define TEPHRA_NVML_FUNCTION(name, arguments) nvml_abi::Return(*name) arguments = nullptr;
  TEPHRA_NVML_FUNCTIONS(TEPHRA_NVML_FUNCTION)
#undef TEPHRA_NVML_FUNCTION
  const char* (*nvmlErrorString)(nvml_abi::Return) = nullptr;
  CallWatch watch;
};

// Calls a function of the library, which counts as running until it returns; its value is the code,
// also if the library has no such function.
#define TEPHRA_NVML_CALL(function, ...)                                 \
  (api_->function == nullptr                                            \
       ? ::tephra::node::nvml_abi::kFunctionNotFound                    \
       : (static_cast<void>(CallWatch::Running(api_->watch, #function)), \
          api_->function(__VA_ARGS__)))

#define TEPHRA_NVML_RETURN_IF_ERROR(function, ...)                              \
  do {                                                                          \
    if (const nvml_abi::Return code_ = TEPHRA_NVML_CALL(function, __VA_ARGS__); \
        code_ != nvml_abi::kSuccess) {                                          \
      return Error(#function, code_);                                           \
    }                                                                           \
  } while (false)

}  // namespace tephra::node
