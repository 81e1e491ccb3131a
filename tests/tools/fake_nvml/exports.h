// The functions that the fake library shows. Declared from the same list that Nvml loads them by,
// so that a definition of another form does not compile.
#pragma once

#include "tests/tools/fake_nvml/driver.h"

#define TEPHRA_EXPORT extern "C" __attribute__((visibility("default")))

namespace tephra::node {
#define TEPHRA_DECLARE(name, arguments) TEPHRA_EXPORT abi::Return name arguments;
TEPHRA_NVML_FUNCTIONS(TEPHRA_DECLARE)
#undef TEPHRA_DECLARE
TEPHRA_EXPORT const char* nvmlErrorString(abi::Return code);

// Beside what NVML has, for tests: what FakeStateData counts, as {illegal, created, destroyed}.
TEPHRA_EXPORT abi::Return tephraFakeNvmlCounts(std::uint64_t* counts);

using Scene = FakeDriver::Scene;

// Copies a text as the library does.
abi::Return CopyText(const std::string& text, char* to, unsigned size);
}  // namespace tephra::node
