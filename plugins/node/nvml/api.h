// The library's functions by name, those that it has.
#pragma once

#include "plugins/node/nvml/nvml.h"

namespace tephra::node {

namespace abi = nvml_abi;

struct Nvml::Api {
#define TEPHRA_NVML_FUNCTION(name, arguments) nvml_abi::Return(*name) arguments = nullptr;
  TEPHRA_NVML_FUNCTIONS(TEPHRA_NVML_FUNCTION)
#undef TEPHRA_NVML_FUNCTION
  const char* (*nvmlErrorString)(nvml_abi::Return) = nullptr;
};

// Calls a function of the library, or says that it has none of that name; its value is the code.
#define TEPHRA_NVML_CALL(function, ...)                                    \
  (api_->function == nullptr ? ::tephra::node::nvml_abi::kFunctionNotFound \
                             : api_->function(__VA_ARGS__))

#define TEPHRA_NVML_RETURN_IF_ERROR(function, ...)                              \
  do {                                                                          \
    if (const nvml_abi::Return code_ = TEPHRA_NVML_CALL(function, __VA_ARGS__); \
        code_ != nvml_abi::kSuccess) {                                          \
      return Error(#function, code_);                                           \
    }                                                                           \
  } while (false)

}  // namespace tephra::node
