// LocalPlacer: a gang placed close together: in the domain of the lowest tier that has room for all
// of it, and there on the fewest parts; or, where it asks for that, in one domain or not at all.
// The same for each of its groups, inside that. README.md has the rule and an example.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "plugins/framework/policy.h"
#include "plugins/framework/workbench.h"

namespace tephra {

class LocalPlacer final : public Placer {
 public:
  // `anywhere` places gangs on the nodes within, wherever those are. `budget`: steps, as there,
  // over all domains that are tried.
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
