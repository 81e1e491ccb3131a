// Settings: the command line of tephra-node.
#pragma once

#include <string>
#include <vector>

#include "base/log.h"
#include "plugins/node/binding/binding_settings.h"
#include "plugins/node/cluster/api_client.h"
#include "plugins/node/partition/hook_limiter.h"
#include "plugins/node/partition/mig_partitioner.h"
#include "plugins/node/partition/mps_limiter.h"
#include "plugins/node/partition/time_slice_limiter.h"
#include "plugins/node/inventory.h"
#include "plugins/node/kubelet/registration.h"

namespace tephra::node {

// Whether containers see their slices by CDI.
enum class CdiUse {
  kAuto,  // as the container runtime is
  kYes,
  kNo,  // by a mounted directory alone
};

struct Settings {
  std::string node;                        // its name in the cluster
  std::string gpus_file;                   // instead of the driver
  std::string nvml = "libnvidia-ml.so.1";  // the driver's library
  std::string config_file;                 // device_rules.h; empty: none
  NodeConfig config;                       // what it says, and the flags
  bool publish = true;                     // publish the GPUs to the cluster
  ApiSettings api;                         // `server` empty: of the pod that this runs in
  RegistrationSettings registration;
  CdiUse cdi = CdiUse::kAuto;
  BindingSettings binding;
  HookSettings hook;
  MigPartitioner::Options mig;
  MpsLimiter::Options mps;
  TimeSliceLimiter::Options turns;
  std::string metrics_address;  // HOST:PORT of metrics and probes; empty: none are served
  std::string probes_address;   // HOST:PORT of probes alone; empty: none are served
  LogSettings log;
  // A call of the driver that runs for longer makes /healthz fail.
  int driver_hung_s = 60;
  // A GPU whose container has outlived its pod for longer is published as unhealthy.
  int blocked_after_s = 60;
  std::string crash_after;  // ends the process, as kill -9 does, after the step of that name
};

}  // namespace tephra::node
