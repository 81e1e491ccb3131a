// LocalPlacer: places a gang close together: in the domain of the lowest tier that has room for the
// gang, and there on the fewest parts. A gang can require one domain. The same holds for each
// sub-group inside that domain. README.md has the rule and an example. Immutable; any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/policy.h"
#include "engine/workbench.h"

namespace tephra {

class LocalPlacer final : public Placer {
 public:
  // `anywhere` places gangs on given nodes without locality. `budget`: its steps over all domains
  // that are tried.
  LocalPlacer(std::unique_ptr<Placer> anywhere, std::int32_t budget)
      : anywhere_(std::move(anywhere)), budget_(budget) {}
  Answer Place(Workbench&, const GangAsk&) const override;

 private:
  Answer SearchDomains(Workbench&, const GangAsk&, const std::vector<std::uint32_t>& widest,
                       Answer) const;

  std::unique_ptr<Placer> anywhere_;
  std::int32_t budget_;
};

}  // namespace tephra
