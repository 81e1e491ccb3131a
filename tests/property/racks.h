// A small cluster of racks and rows, for laws of locality that brute force can judge.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/dice.h"
#include "tests/support/room.h"
#include "tests/support/small_cluster.h"

namespace tephra {

struct Place {
  std::int32_t tier = 0;
  std::set<std::string> nodes;
};

// Some nodes in racks, some racks in rows, some GPUs taken by pods of no known job.
struct World {
  SmallCluster cluster;
  std::map<std::string, NodeSpec> nodes;
  std::map<std::string, Place> places;  // by name
  std::vector<std::pair<std::string, Slices>> taken;

  explicit World(Dice& dice, const EngineConfig& config = {}) : cluster(config) {
    const int racks = dice.From(1, 4), rows = dice.From(1, 2);
    std::map<std::string, DomainSpec> specs;
    for (int row = 0; row < rows; ++row) {
      const std::string name = "row" + std::to_string(row);
      specs[name] = {name, 2, "row", {}, {}};
    }
    for (int rack = 0; rack < racks; ++rack) {
      const std::string name = "rack" + std::to_string(rack);
      specs[name] = {name, 1, "rack", {}, {}};
      // One in five belongs to no row.
      const int row = dice.Below(rows);
      if (!dice.Percent(20)) specs["row" + std::to_string(row)].domains.push_back(name);
    }
    const int count = dice.From(2, 9);
    for (int n = 0; n < count; ++n) {
      ANode node("n" + std::to_string(n));
      node.Gpus(dice.From(1, 4)).Cores(16);
      std::string rack = "rack" + std::to_string(dice.Below(racks));
      if (dice.Percent(10)) rack = "row0";  // beside its racks
      const bool homeless = dice.Percent(10);
      if (!homeless) specs[rack].nodes.push_back(NodeSpec(node).name);
      nodes.emplace(NodeSpec(node).name, node);
    }
    for (const auto& [name, spec] : specs) {
      Place& place = places[name];
      place.tier = spec.tier;
      place.nodes.insert(spec.nodes.begin(), spec.nodes.end());
      for (const std::string& part : spec.domains) {
        const DomainSpec& rack = specs[part];
        place.nodes.insert(rack.nodes.begin(), rack.nodes.end());
      }
    }
    for (auto& [name, node] : nodes) {
      for (const auto& [place, there] : places) {
        if (there.nodes.contains(name)) node.labels["in-" + place] = "yes";
      }
      cluster.Add(node);
    }
    std::uint64_t version = 0;
    std::vector<DomainSpec> sent;
    for (const auto& [name, spec] : specs) sent.push_back(spec);
    dice.Shuffle(sent);
    for (const DomainSpec& spec : sent) cluster.Tell(DomainUpserted{spec, ++version});
  }

  void Occupy(Dice& dice, int percent) {
    for (const auto& [name, node] : nodes) {
      for (std::size_t d = 0; d < node.devices.size(); ++d) {
        if (!dice.Percent(percent)) continue;
        Slices slices{{0, static_cast<std::uint16_t>(d), SliceMode::kWhole, kWholeGpu, kDeviceMib}};
        cluster.Foreign(name + "/" + std::to_string(d), name, APod().Gpus(1).Cores(1), slices);
        taken.emplace_back(name, std::move(slices));
      }
    }
  }

  // Whether the gang fits on these nodes alone.
  bool HasRoom(const std::set<std::string>& where, const GangWish& wish) const {
    std::map<std::string, NodeSpec> there;
    for (const std::string& name : where) there.emplace(name, nodes.at(name));
    Room room(there);
    for (const auto& [name, slices] : taken) {
      if (where.contains(name)) room.Take(APod().Gpus(1).Cores(1), name, slices);
    }
    return room.AnyPlacement(wish);
  }
};

inline bool Holds(const Place& place, const std::set<std::string>& nodes) {
  return std::includes(place.nodes.begin(), place.nodes.end(), nodes.begin(), nodes.end());
}

}  // namespace tephra
