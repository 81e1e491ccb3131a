#include "simulations/traces/hosts.h"

#include <catch2/catch.hpp>

#include "tests/support/scratch_file.h"

namespace tephra {
namespace {

std::string HostsError(const std::string& text) {
  const ScratchFile file(text);
  const auto hosts = ReadHosts(file.path(), "ip", {"ASW", "PSW"});
  return hosts.ok() ? "" : std::string(hosts.status().message()).substr(file.path().size());
}

TEST_CASE("Hosts: a column for each tier gives domains that are named after those above them") {
  const ScratchFile file("ip,PSW,ASW\nh1,P1,S1\nh2,P2,S1\nh3,P1,S2\nh4,P1,\nh5,,\n");
  const auto hosts = ReadHosts(file.path(), "ip", {"ASW", "PSW"});
  REQUIRE(hosts.ok());
  CHECK(hosts->names == std::vector<std::string>{"h1", "h2", "h3", "h4", "h5"});
  CHECK(hosts->domains == std::vector<DomainSpec>{{"P1", 2, "PSW", {"h4"}, {"P1/S1", "P1/S2"}},
                                                  {"P1/S1", 1, "ASW", {"h1"}, {}},
                                                  {"P1/S2", 1, "ASW", {"h3"}, {}},
                                                  {"P2", 2, "PSW", {}, {"P2/S1"}},
                                                  {"P2/S1", 1, "ASW", {"h2"}, {}}});
}

TEST_CASE("Hosts: what cannot be is refused with its line and column") {
  CHECK(HostsError("ip,PSW,ASW\n,P1,S1\n").find(":2: ip: \"\", expected a name") == 0);
  CHECK(HostsError("ip,PSW,ASW\nh,P1,S1\nh,P1,S1\n").find(":3: ip: \"h\"") == 0);
  CHECK(HostsError("ip,PSW,ASW\nh,P/1,S1\n").find(":2: PSW: \"P/1\"") == 0);
  CHECK(HostsError("ip,PSW,ASW\nh,X,S\ng,,X\n")
            .find(":3: ASW: \"X\", expected a domain name that column PSW") == 0);
  CHECK(HostsError("ip,ASW\nh,S\n").find("PSW") != std::string::npos);
}

}  // namespace
}  // namespace tephra
