// Settings: all that tephra-node is told on its command line.
#pragma once

#include <string>
#include <vector>

#include "plugins/node/binding/binding_settings.h"
#include "plugins/node/cluster/api_client.h"
#include "plugins/node/cut/hook_cutter.h"
#include "plugins/node/cut/mig_cutter.h"
#include "plugins/node/cut/mps_cutter.h"
#include "plugins/node/cut/time_slice_cutter.h"
#include "plugins/node/inventory.h"
#include "plugins/node/kubelet/registration.h"
#include "sidecar/log.h"

namespace tephra::node {

// Whether containers learn of their slices by CDI.
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
  bool publish = true;                     // tell the cluster of the GPUs
  ApiSettings api;                         // `server` empty: of the pod that this runs in
  RegistrationSettings registration;
  CdiUse cdi = CdiUse::kAuto;
  BindingSettings binding;
  HookSettings hook;
  MigCutter::Options mig;
  MpsCutter::Options mps;
  TimeSliceCutter::Options turns;
  std::string metrics_address;  // HOST:PORT of metrics and probes; empty: none are served
  LogSettings log;
  std::string crash_after;  // ends the process, as kill -9 does, after the step of that name
};

}  // namespace tephra::node
