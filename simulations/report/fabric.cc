// The fabric as a tree of text, and as a graph.
#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/graphviz.hpp>

#include "simulations/report/fabric_words.h"
#include "simulations/report/print.h"

namespace tephra {
namespace {

// Calls on_domain(index, parent) and on_node(rank, parent) from the top down, side by side as in
// the row of nodes; a parent of Fabric::kNone is the cluster.
template <class OnDomain, class OnNode>
void Walk(const Hardware& hardware, std::uint32_t parent, OnDomain on_domain, OnNode on_node) {
  const Fabric& fabric = hardware.fabric();
  std::vector<std::uint32_t> parts;
  for (std::uint32_t d = 0; d < fabric.domains().size(); ++d) {
    if (fabric.domains()[d].parent == parent) parts.push_back(d);
  }
  std::sort(parts.begin(), parts.end(), [&](std::uint32_t a, std::uint32_t b) {
    const RankSpan &x = fabric.domains()[a].span, &y = fabric.domains()[b].span;
    return std::tie(x.first, x.last, a) < std::tie(y.first, y.last, b);
  });
  for (const std::uint32_t d : parts) {
    on_domain(d, parent);
    Walk(hardware, d, on_domain, on_node);
  }
  const auto all = static_cast<std::uint32_t>(hardware.ranked().size());
  const RankSpan span = parent == Fabric::kNone ? RankSpan{0, all} : fabric.domains()[parent].span;
  for (std::uint32_t rank = span.first; rank < span.last; ++rank) {
    if (fabric.HomeOf(rank) == parent) on_node(rank, parent);
  }
}

}  // namespace

void PrintFabric(const Hardware& hardware, bool nodes, std::ostream& out) {
  const Fabric& fabric = hardware.fabric();
  const auto indent = [&](std::uint32_t parent) {
    std::string text;
    for (; parent != Fabric::kNone; parent = fabric.domains()[parent].parent) text += "  ";
    return text;
  };
  std::int64_t apart = 0;
  Walk(
      hardware, Fabric::kNone,
      [&](std::uint32_t d, std::uint32_t parent) {
        out << indent(parent) << DomainTitle(hardware, fabric.domains()[d]) << "\n";
      },
      [&](std::uint32_t rank, std::uint32_t parent) {
        apart += parent == Fabric::kNone;
        if (!nodes) return;
        out << indent(parent) << NodeTitle(hardware.spec(hardware.ranked()[rank])) << "\n";
      });
  if (apart > 0) out << Count(apart, "node") << " in no domain\n";
}

void PrintFabricDot(const Hardware& hardware, bool nodes, std::ostream& out) {
  const Fabric& fabric = hardware.fabric();
  boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS> graph;
  std::vector<std::string> labels;
  std::vector<std::size_t> vertex(fabric.domains().size());
  const auto add = [&](std::string label, std::uint32_t parent) {
    const std::size_t at = boost::add_vertex(graph);
    labels.push_back(std::move(label));
    if (parent != Fabric::kNone) boost::add_edge(vertex[parent], at, graph);
    return at;
  };
  Walk(
      hardware, Fabric::kNone,
      [&](std::uint32_t d, std::uint32_t parent) {
        vertex[d] = add(DomainTitle(hardware, fabric.domains()[d]), parent);
      },
      [&](std::uint32_t rank, std::uint32_t parent) {
        if (!nodes) return;
        add(NodeTitle(hardware.spec(hardware.ranked()[rank])), parent);
      });
  boost::write_graphviz(
      out, graph,
      [&](std::ostream& to, std::size_t v) {
        to << "[shape=box,label=" << boost::escape_dot_string(labels[v]) << "]";
      },
      boost::default_writer(), [](std::ostream& to) { to << "rankdir=LR;\n"; });
}

}  // namespace tephra
