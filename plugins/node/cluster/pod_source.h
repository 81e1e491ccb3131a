// PodSource: what the API server says of the pods of this node.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "topology/base/status.h"

namespace tephra::node {

struct PodFacts {
  std::string uid;
  std::string pod_namespace;
  std::string name;
  std::string scheduler;                       // spec.schedulerName
  bool ended = false;                          // phase Succeeded or Failed
  std::optional<std::string> slices;           // the annotation's text; nothing where there is none
  std::set<std::string> init;                  // init containers but those that stay (sidecars)
  std::map<std::string, std::uint32_t> users;  // runAsUser of containers; absent: the image's

  bool operator==(const PodFacts&) const = default;
};

class PodSource {
 public:
  virtual ~PodSource() = default;

  // The pod, as soon as `enough` says so of it, or as it is when the time is over. NOT_FOUND: it is
  // gone, or never was, for a list that was asked for after this call does not have it.
  // UNAVAILABLE: the API server did not say in time, or `cancelled` said true.
  virtual absl::StatusOr<PodFacts> Wait(const std::string& uid,
                                        std::chrono::steady_clock::time_point until,
                                        const std::function<bool()>& cancelled,
                                        const std::function<bool(const PodFacts&)>& enough) = 0;

  // The pod that has the name now, asked for anew. NOT_FOUND: none has. UNAVAILABLE: the API server
  // did not say.
  virtual absl::StatusOr<PodFacts> Named(const std::string& pod_namespace,
                                         const std::string& name) = 0;

  // Whether a pod that was there once is known to have ended, or to be gone. False where nobody
  // knows.
  virtual bool Over(const std::string& uid) const = 0;
};

}  // namespace tephra::node
