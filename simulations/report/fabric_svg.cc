// The fabric as a picture: a row of boxes for each tier, the widest on top, each box as wide as its
// nodes, and below them the nodes with their GPUs.
//
// Colours of GPU models: M. Okabe, K. Ito, Color Universal Design (2008), a palette for
// colour-blind readers.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "simulations/report/fabric_words.h"
#include "simulations/report/print.h"
#include "simulations/report/svg.h"

namespace tephra {
namespace {

constexpr char kStyle[] = R"(
rect{shape-rendering:crispEdges}
text{font-family:system-ui,"Segoe UI",Helvetica,Arial,sans-serif;fill:#1d2733}
.soft{fill:#5b6776}
.page{fill:#fff}
.domain{fill:#e8edf3;stroke:#aebac8}
.node{fill:#f7f9fb;stroke:#c6d0da}
.m0{fill:#0072b2}.m1{fill:#e69f00}.m2{fill:#009e73}.m3{fill:#cc79a7}.m4{fill:#56b4e9}
.m5{fill:#f0e442}.other{fill:#8593a3}.none{fill:#d3dae2}
.bad{fill:none;stroke:#d55e00;stroke-width:1.5}
.out{opacity:.35}
.domain:hover,.node:hover,g:hover>.node,g:hover>.domain{stroke:#1d2733}
@media(prefers-color-scheme:dark){
text{fill:#e4e9ef}
.soft{fill:#9aa7b6}
.page{fill:#12171d}
.domain{fill:#232c37;stroke:#465467}
.node{fill:#1a212a;stroke:#3a4757}
.m0{fill:#2f97d6}.none{fill:#364250}
.domain:hover,.node:hover,g:hover>.node,g:hover>.domain{stroke:#e4e9ef}
}
)";

constexpr double kMargin = 16, kGutter = 96;  // the gutter names the tiers
constexpr double kTitleSize = 18, kTextSize = 12, kSmallSize = 10;
constexpr double kDomainHeight = 40, kMostTurnedHeight = 96, kRowGap = 4;
constexpr double kPad = 6;           // around a text in a box
constexpr double kLeastTurned = 11;  // a narrower box has no name
constexpr double kLeastGap = 0.5;    // a narrower gap between nodes would blur them
constexpr double kBarHeight = 64;    // of nodes too narrow for cells
constexpr double kNameHeight = 90;   // for names of nodes that are turned
constexpr double kMostCell = 14, kLeastCell = 3, kCellGap = 1.5, kMostCellsHeight = 120;
constexpr std::size_t kMostCells = 16'384;  // more would make a file that is slow to look at
constexpr std::size_t kModelColours = 6;

// The nodes of a small cluster are as wide as their names. A large cluster fits a screen, and the
// largest needs some scrolling.
double RowWidth(std::size_t nodes) {
  const auto count = static_cast<double>(nodes);
  return std::clamp(56 * count, 640.0, std::clamp(0.4 * count, 1200.0, 2400.0));
}

// How the GPUs of each node are laid out in its box.
struct Cells {
  std::size_t columns = 0;  // 0: nodes are bars
  double size = 0, height = 0;
};

Cells LayCells(std::size_t most_gpus, std::size_t all_gpus, double node_width) {
  Cells best;
  if (all_gpus > kMostCells || node_width < kLeastCell) return best;
  if (most_gpus == 0) return {1, kMostCell, kMostCell};
  for (std::size_t columns = 1; columns <= most_gpus; ++columns) {
    const auto rows = static_cast<double>((most_gpus + columns - 1) / columns);
    const double room = (node_width - 2 * kCellGap) / static_cast<double>(columns) - kCellGap;
    const double size = std::min({kMostCell, room, kMostCellsHeight / rows - kCellGap});
    if (size < kLeastCell || size < best.size) continue;
    best = {columns, size, rows * (size + kCellGap) + kCellGap};
  }
  if (best.columns > 0) {  // rows of one length: 4 and 4 rather than 6 and 2
    const std::size_t rows = (most_gpus + best.columns - 1) / best.columns;
    best.columns = (most_gpus + rows - 1) / rows;
  }
  return best;
}

struct Tier {
  std::int32_t tier = 0;
  std::string title;
  std::vector<std::uint32_t> domains;
  bool turned = false;  // names run downwards
  double height = kDomainHeight;
};

class Picture {
 public:
  Picture(const Hardware& hardware, std::string title)
      : hardware_(hardware), title_(std::move(title)) {
    const std::vector<NodeId>& nodes = hardware.ranked();
    width_ = RowWidth(nodes.size());
    step_ = nodes.empty() ? width_ : width_ / static_cast<double>(nodes.size());
    std::size_t most = 0, all = 0;
    for (const NodeId node : nodes) {
      all += hardware.device_count(node);
      most = std::max(most, hardware.device_count(node));
      NoteNode(hardware.spec(node));
    }
    cells_ = LayCells(most, all, step_ - NodeGap());
    NumberModels();
    GatherTiers();
    PlaceLegend();
  }

  void Print(std::ostream& out) const {
    double bottom = legend_bottom_ + kMargin;
    for (const Tier& tier : tiers_) bottom += tier.height + kRowGap;
    bottom += NodesHeight() + (NamesTurned() ? kNameHeight : kTextSize) + kMargin;
    const double page = kMargin + kGutter + width_ + kMargin;
    Svg svg(out, page, bottom, title_, kStyle);
    svg.Rect("page", {0, 0, page, bottom});
    DrawHead(svg);
    double y = legend_bottom_ + kMargin;
    for (const Tier& tier : tiers_) {
      DrawTier(svg, tier, y);
      y += tier.height + kRowGap;
    }
    DrawNodes(svg, y);
  }

 private:
  double Left(std::uint32_t rank) const { return kMargin + kGutter + step_ * rank; }
  double NodeGap() const { return step_ / 8 < kLeastGap ? 0 : std::min(2.0, step_ / 8); }
  double NodesHeight() const { return cells_.columns == 0 ? kBarHeight : cells_.height; }
  bool NamesTurned() const {
    return cells_.columns > 0 && longest_name_ > step_ - kCellGap && step_ >= kLeastTurned;
  }

  void NoteNode(const NodeSpec& node) {
    longest_name_ = std::max(longest_name_, TextWidth(node.name, kSmallSize));
    gpuless_ += node.devices.empty();
    cordoned_ += node.unschedulable;
    for (const DeviceHardware& device : node.devices) {
      ++gpus_of_[device.model];
      unhealthy_ += !device.healthy;
    }
  }

  // The most frequent models have a colour of their own.
  void NumberModels() {
    models_.assign(gpus_of_.begin(), gpus_of_.end());
    std::stable_sort(models_.begin(), models_.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    for (std::size_t m = 0; m < models_.size(); ++m) {
      colour_of_[models_[m].first] = m < kModelColours ? "m" + std::to_string(m) : "other";
    }
  }

  std::string ShortName(const Fabric::Domain& domain) const {
    if (domain.parent == Fabric::kNone) return domain.name;
    // A name that begins with the name of its parent is shown without it.
    const std::string above = hardware_.fabric().domains()[domain.parent].name + "/";
    return domain.name.starts_with(above) ? domain.name.substr(above.size()) : domain.name;
  }

  double WidthOf(const Fabric::Domain& domain) const {
    const double width = step_ * (domain.span.last - domain.span.first);
    return width - std::min(2.0, width / 8);
  }

  void GatherTiers() {
    const std::vector<Fabric::Domain>& domains = hardware_.fabric().domains();
    std::map<std::int32_t, std::set<std::string>> names;
    for (std::uint32_t d = 0; d < domains.size(); ++d) {
      if (domains[d].span.empty()) continue;
      if (tiers_.empty() || tiers_.back().tier != domains[d].tier) {
        tiers_.push_back({domains[d].tier, "", {}});
      }
      tiers_.back().domains.push_back(d);
      names[domains[d].tier].insert(domains[d].tier_name);
    }
    std::reverse(tiers_.begin(), tiers_.end());
    for (Tier& tier : tiers_) {
      const std::set<std::string>& known = names[tier.tier];
      const bool named = known.size() == 1 && !known.begin()->empty();
      tier.title = named ? *known.begin() : "tier " + std::to_string(tier.tier);
      TurnNames(tier);
    }
  }

  // Names run downwards if most of them would not fit otherwise.
  void TurnNames(Tier& tier) const {
    std::size_t fit = 0, fit_turned = 0;
    double longest = 0;
    for (const std::uint32_t d : tier.domains) {
      const Fabric::Domain& domain = hardware_.fabric().domains()[d];
      const std::string name = ShortName(domain);
      fit += TextWidth(name, kTextSize) + 2 * kPad <= WidthOf(domain);
      fit_turned += WidthOf(domain) >= kLeastTurned;
      longest = std::max(longest, TextWidth(name, kSmallSize));
    }
    tier.turned = 2 * fit < tier.domains.size() && fit < fit_turned;
    if (tier.turned) {
      tier.height = std::clamp(longest + 2 * kPad, kDomainHeight, kMostTurnedHeight);
    }
  }

  struct LegendEntry {
    std::string kind, text;
    double x = 0, y = 0;
  };

  void PlaceLegend() {
    std::vector<LegendEntry> entries;
    for (const auto& [model, gpus] : models_) {
      entries.push_back(
          {colour_of_[model], (model.empty() ? "unnamed" : model) + ": " + Count(gpus, "GPU")});
    }
    if (gpuless_ > 0) entries.push_back({"none", Count(gpuless_, "node") + " without GPUs"});
    if (unhealthy_ > 0) entries.push_back({"bad", Count(unhealthy_, "GPU") + " not healthy"});
    if (cordoned_ > 0) entries.push_back({"m0 out", Count(cordoned_, "node") + " cordoned"});
    constexpr double kLine = 18, kSwatch = 18;
    double x = kMargin, y = kMargin + kTitleSize + 2 * kLine;
    for (LegendEntry& entry : entries) {
      const double width = kSwatch + TextWidth(entry.text, kTextSize) + kMargin;
      if (x > kMargin && x + width > kMargin + kGutter + width_) {
        x = kMargin;
        y += kLine;
      }
      entry.x = x;
      entry.y = y;
      x += width;
    }
    legend_ = std::move(entries);
    legend_bottom_ = y + kPad;
  }

  void DrawHead(Svg& svg) const {
    const double room = kGutter + width_;
    svg.Text("", kMargin, kMargin + kTitleSize - 4, kTitleSize,
             TextWithin(title_, kTitleSize, room));
    const auto nodes = static_cast<std::uint32_t>(hardware_.ranked().size());
    std::size_t shown = 0;
    for (const Tier& tier : tiers_) shown += tier.domains.size();
    std::string sums = Count(nodes, "node") + ", " + Count(GpusIn(hardware_, {0, nodes}), "GPU") +
                       ", " + Count(static_cast<std::int64_t>(shown), "domain");
    const std::size_t empty = hardware_.fabric().domains().size() - shown;
    if (empty > 0) sums += "; " + std::to_string(empty) + " more without nodes";
    svg.Text("soft", kMargin, kMargin + kTitleSize + 16, kTextSize, sums);
    for (const LegendEntry& entry : legend_) {
      svg.Rect(entry.kind, {entry.x, entry.y - 9, 11, 11});
      svg.Text("", entry.x + 16, entry.y, kTextSize, entry.text);
    }
  }

  void DrawTier(Svg& svg, const Tier& tier, double y) const {
    svg.BeginGroup(tier.title + " (tier " + std::to_string(tier.tier) + ")");
    svg.Text("soft", kMargin, y + tier.height / 2 + 4, kTextSize,
             TextWithin(tier.title, kTextSize, kGutter - kPad));
    svg.EndGroup();
    for (const std::uint32_t d : tier.domains) {
      const Fabric::Domain& domain = hardware_.fabric().domains()[d];
      DrawDomain(svg, domain, {Left(domain.span.first), y, WidthOf(domain), tier.height},
                 tier.turned);
    }
  }

  void DrawDomain(Svg& svg, const Fabric::Domain& domain, const Box& box, bool turned) const {
    const std::string tooltip = DomainTitle(hardware_, domain), name = ShortName(domain);
    if (turned && box.width >= kLeastTurned) {
      svg.BeginGroup(tooltip);
      svg.Rect("domain", box);
      svg.TextDown("", box.x + box.width / 2 - 3, box.y + kPad, kSmallSize,
                   TextWithin(name, kSmallSize, box.height - 2 * kPad));
      return svg.EndGroup();
    }
    const std::string line = TextWithin(name, kTextSize, box.width - 2 * kPad);
    if (line.empty()) return svg.Rect("domain", box, tooltip);
    svg.BeginGroup(tooltip);
    svg.Rect("domain", box);
    svg.Text("", box.x + kPad, box.y + 17, kTextSize, line);
    const std::string sums = Count(domain.span.last - domain.span.first, "node") + ", " +
                             Count(GpusIn(hardware_, domain.span), "GPU");
    if (TextWidth(sums, kSmallSize) <= box.width - 2 * kPad) {
      svg.Text("soft", box.x + kPad, box.y + 32, kSmallSize, sums);
    }
    svg.EndGroup();
  }

  void DrawNodes(Svg& svg, double y) const {
    const auto nodes = static_cast<std::uint32_t>(hardware_.ranked().size());
    std::uint32_t apart = nodes;
    while (apart > 0 && hardware_.fabric().HomeOf(apart - 1) == Fabric::kNone) --apart;
    if (apart < nodes && apart > 0) {
      const std::string text = "in no domain";
      const double room = Left(nodes) - Left(apart);
      const std::string line = TextWithin(text, kSmallSize, room);
      if (!line.empty()) svg.Text("soft", Left(apart), y - kRowGap - 4, kSmallSize, line);
    }
    svg.Text("soft", kMargin, y + NodesHeight() / 2 + 4, kTextSize, "nodes");
    for (std::uint32_t rank = 0; rank < nodes; ++rank) {
      DrawNode(svg, hardware_.spec(hardware_.ranked()[rank]),
               {Left(rank), y, step_ - NodeGap(), NodesHeight()});
    }
    if (NodeGap() > 0) return;
    for (std::uint32_t rank = 1; rank < nodes;
         ++rank) {  // otherwise they would look like one block
      if (hardware_.fabric().HomeOf(rank) == hardware_.fabric().HomeOf(rank - 1)) continue;
      svg.Rect("page", {Left(rank) - 1, y, 1, NodesHeight()});
    }
  }

  std::string TooltipOf(const NodeSpec& node) const {
    const auto bad = std::count_if(node.devices.begin(), node.devices.end(),
                                   [](const DeviceHardware& device) { return !device.healthy; });
    return NodeTitle(node) + (bad > 0 ? ", " + std::to_string(bad) + " not healthy" : "") +
           (node.unschedulable ? ", cordoned" : "");
  }

  void DrawNode(Svg& svg, const NodeSpec& node, const Box& box) const {
    const std::string faded = node.unschedulable ? " out" : "";
    if (cells_.columns == 0) {
      const std::string kind = node.devices.empty() ? "none" : colour_of_.at(node.devices[0].model);
      return svg.Rect(kind + faded, box, TooltipOf(node));
    }
    svg.BeginGroup(TooltipOf(node));
    svg.Rect((node.devices.empty() ? "node none" : "node") + faded, box);
    const double pitch = cells_.size + kCellGap;
    const auto columns = std::min(cells_.columns, node.devices.size());
    const double left = box.x + (box.width - static_cast<double>(columns) * pitch + kCellGap) / 2;
    for (std::size_t d = 0; d < node.devices.size(); ++d) {
      const Box cell{left + pitch * static_cast<double>(d % cells_.columns),
                     box.y + kCellGap + pitch * static_cast<double>(d / cells_.columns),
                     cells_.size, cells_.size};
      svg.Rect((node.devices[d].healthy ? colour_of_.at(node.devices[d].model) : "bad") + faded,
               cell);
    }
    const double below = box.y + box.height;
    if (NamesTurned()) {
      svg.TextDown("soft", box.x + box.width / 2 - 3, below + 5, kSmallSize,
                   TextWithin(node.name, kSmallSize, kNameHeight - 5));
    } else {
      const std::string name = TextWithin(node.name, kSmallSize, box.width);
      if (!name.empty()) svg.Text("soft", box.x, below + kTextSize, kSmallSize, name);
    }
    svg.EndGroup();
  }

  const Hardware& hardware_;
  const std::string title_;
  double width_ = 0, step_ = 0;  // of the row, and of a node in it
  double longest_name_ = 0;      // of a node
  std::int64_t gpuless_ = 0, cordoned_ = 0, unhealthy_ = 0;
  std::map<std::string, std::int64_t> gpus_of_;
  std::vector<std::pair<std::string, std::int64_t>> models_;  // from the most GPUs to the fewest
  std::map<std::string, std::string> colour_of_;
  Cells cells_;
  std::vector<Tier> tiers_;  // from the widest
  std::vector<LegendEntry> legend_;
  double legend_bottom_ = 0;
};

}  // namespace

void PrintFabricSvg(const Hardware& hardware, const std::string& title, std::ostream& out) {
  Picture(hardware, title).Print(out);
}

}  // namespace tephra
