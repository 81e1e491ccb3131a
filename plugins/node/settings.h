// Settings: all that tephra-node is told on its command line.
#pragma once

#include <string>
#include <vector>

#include "plugins/node/binding/late_binding.h"
#include "plugins/node/cluster/api_client.h"
#include "plugins/node/cut/hook_cutter.h"
#include "plugins/node/kubelet/registration.h"
#include "sidecar/log.h"

namespace tephra::node {

struct Settings {
  std::string node;       // its name in the cluster
  std::string gpus_file;  // instead of the driver
  ApiSettings api;        // `server` empty: of the pod that this runs in
  int tickets_per_gpu = kUsualTicketsPerGpu;
  RegistrationSettings registration;
  BindingSettings binding;
  HookSettings hook;
  LogSettings log;
  std::string crash_after;  // ends the process, as kill -9 does, after the step of that name
};

}  // namespace tephra::node
