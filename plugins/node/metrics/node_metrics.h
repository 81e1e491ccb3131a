// NodeMetrics: figures of this node's GPUs and of who holds them, in Prometheus' words.
// docs/node.md lists them.
//
// What is of a GPU or a container is read when it is asked for, so a container's series go when it
// does, and there are never more than slices. Any thread.
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
