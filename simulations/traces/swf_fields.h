// The fields of a line in the Standard Workload Format, from 0; Alea's form has three more.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tephra {

enum SwfField : std::size_t {
  kSwfJob,
  kSwfSubmit,
  kSwfWait,
  kSwfRun,
  kSwfAllocated,
  kSwfCpuTime,
  kSwfUsedMemory,
  kSwfRequested,
  kSwfRequestedTime,
  kSwfRequestedMemory,
  kSwfStatus,
  kSwfUser,
  kSwfGroup,
  kSwfExecutable,
  kSwfQueue,
  kSwfPartition,
  kSwfPrecedingJob,
  kSwfThinkTime,
  kAleaGpus,
  kAleaSoftLimit,
  kAleaProperty
};
constexpr std::size_t kSwfFields = kAleaGpus;

// What messages call all of them; SWF has the first kSwfFields.
inline std::vector<std::string> AleaFieldNames() {
  return {"job",
          "submit",
          "wait",
          "run",
          "allocated",
          "cpu_time",
          "used_memory",
          "requested",
          "requested_time",
          "requested_memory",
          "status",
          "user",
          "group",
          "executable",
          "queue",
          "partition",
          "preceding_job",
          "think_time",
          "gpus",
          "soft_limit",
          "property"};
}
inline std::vector<std::string> SwfFieldNames() {
  std::vector<std::string> names = AleaFieldNames();
  names.resize(kSwfFields);
  return names;
}

}  // namespace tephra
