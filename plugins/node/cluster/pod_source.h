// PodSource: the pods of this node, from the API server.
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
  std::optional<std::string> slices;           // the annotation's text; nothing: there is none
  std::set<std::string> init;                  // init containers, without sidecars
  std::map<std::string, std::uint32_t> users;  // runAsUser of containers; absent: the image's
  std::string queue = {}, signature = {};      // the texts of these annotations; empty: there is none
  std::int64_t created_s = 0;                  // Unix time of its creation; 0: not known

  bool operator==(const PodFacts&) const = default;
};

class PodSource {
 public:
  virtual ~PodSource() = default;

  // The pod, as soon as `enough` returns true for it, or as it is when the time is over. NOT_FOUND: a
  // list that began after this call does not have the pod. UNAVAILABLE: the API server did not
  // answer in time, or `cancelled` returned true.
  virtual absl::StatusOr<PodFacts> Wait(const std::string& uid,
                                        std::chrono::steady_clock::time_point until,
                                        const std::function<bool()>& cancelled,
                                        const std::function<bool(const PodFacts&)>& enough) = 0;

  // The pod that has the name now, from a new request. NOT_FOUND: there is none. UNAVAILABLE: the
  // API server did not answer.
  virtual absl::StatusOr<PodFacts> Named(const std::string& pod_namespace,
                                         const std::string& name) = 0;

  // Whether a pod that was there once is known to have ended, or to be gone. False if that
  // is not known.
  virtual bool Over(const std::string& uid) const = 0;
};

}  // namespace tephra::node
