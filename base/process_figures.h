// ProcessFigures: memory, processor time and start of this process, in Prometheus' usual words,
// read when they are asked for.
#pragma once

#include <vector>

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

namespace tephra {

class ProcessFigures final : public prometheus::Collectable {
 public:
  ProcessFigures();
  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const double began_;  // Unix seconds
};

}  // namespace tephra
