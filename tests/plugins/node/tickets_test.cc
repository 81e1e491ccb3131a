// The ids that the kubelet counts.
#include "plugins/node/kubelet/tickets.h"

#include <catch2/catch.hpp>

#include "tests/plugins/node/gpus.h"

namespace tephra::node {
namespace {

std::vector<std::string> Ids(const std::vector<Ticket>& tickets, bool healthy) {
  std::vector<std::string> ids;
  for (const Ticket& ticket : tickets) {
    if (ticket.healthy == healthy) ids.push_back(ticket.id);
  }
  return ids;
}

TEST_CASE("Each GPU has its tickets, on its NUMA node, in a fixed order") {
  const auto tickets = MakeTickets(SomeGpus(2), 2, {});
  CHECK(tickets ==
        std::vector<Ticket>{
            {"0-0", 0, 0, true}, {"0-1", 0, 0, true}, {"1-0", 1, 1, true}, {"1-1", 1, 1, true}});
}

TEST_CASE("An unhealthy GPU takes the tickets of those who use it, and spares those who do not") {
  Gpus gpus = SomeGpus(2);
  gpus.devices[1].hardware.healthy = false;
  // 1-0 is held for GPU 0; 0-0 for the one that failed.
  const auto tickets = MakeTickets(gpus, 2, {{"1-0", {0}}, {"0-0", {1}}});
  CHECK(Ids(tickets, false) == std::vector<std::string>{"0-0", "1-1"});
}

TEST_CASE("Where all of an unhealthy GPU's own tickets are held, free ones of others go") {
  Gpus gpus = SomeGpus(2);
  gpus.devices[1].hardware.healthy = false;
  const auto tickets = MakeTickets(gpus, 2, {{"1-0", {0}}, {"1-1", {0}}});
  CHECK(Ids(tickets, false) == std::vector<std::string>{"0-0", "0-1"});
}

TEST_CASE("A recovered GPU gives its tickets back") {
  CHECK(Ids(MakeTickets(SomeGpus(2), 2, {{"0-0", {1}}}), false).empty());
}

TEST_CASE("Tickets of one NUMA node are preferred, the node on which fewest are left over") {
  const auto tickets = MakeTickets(SomeGpus(4), 2, {});
  const std::vector<std::string> available = {"3-1", "0-0", "3-0", "0-1", "1-0", "2-1"};
  // Both nodes have three: the lower one.
  CHECK(PreferTickets(tickets, available, {}, 2) == std::vector<std::string>{"0-0", "0-1"});
  CHECK(PreferTickets(tickets, {"3-1", "0-0", "3-0", "0-1", "1-0"}, {}, 2) ==
        std::vector<std::string>{"3-0", "3-1"});
  // What must be is there already.
  CHECK(PreferTickets(tickets, available, {"2-1"}, 3) ==
        std::vector<std::string>{"2-1", "3-0", "3-1"});
  CHECK(PreferTickets(tickets, available, {}, 5).size() == 5);
}

TEST_CASE("Ids that were never given out are not preferred") {
  CHECK(PreferTickets(MakeTickets(SomeGpus(1), 2, {}), {"0-0", "../etc", "9-9"}, {}, 2) ==
        std::vector<std::string>{"0-0"});
}

}  // namespace
}  // namespace tephra::node
