// NodeMetrics: the metrics of this node's GPUs and of the containers on them, for Prometheus.
// docs/reference/node.md lists them.
//
// Values of GPUs and containers are read at each scrape, so the series of a container end with it,
// and there are at most as many as slices. Any thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "plugins/node/health.h"
#include "plugins/node/metrics/use.h"
#include "plugins/node/status.h"

namespace tephra::node {

struct NodeFigures {
  StatusFacts facts;
  UseNow use;
  XidCounts xids;
};

class NodeMetrics {
 public:
  explicit NodeMetrics(std::function<NodeFigures()> read);
  ~NodeMetrics();

  void Allocated(double seconds);
  void PreStarted(double seconds, bool refused);

  // What a scrape reads.
  std::string Text() const;

 private:
  struct Families;
  std::unique_ptr<Families> families_;
};

}  // namespace tephra::node
