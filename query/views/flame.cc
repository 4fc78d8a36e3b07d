#include "query/views/flame.h"

#include <algorithm>
#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <span>
#include <utility>

#include "query/rows/merged_tree.h"
#include "query/rows/per_machine_rows.h"
#include "query/rows/row_estimates.h"
#include "query/rows/symbol_coverage.h"
#include "query/selection/empty_selection.h"
#include "query/snapshot/dimension.h"

namespace plimsoll::query {
namespace {

class FlameQuery {
 public:
  FlameQuery(const FlameRequest& request, const Snapshot& snapshot)
      : request_(request),
        snapshot_(snapshot),
        frames_(snapshot.frame_keys->of(snapshot, {"function"}, hidden_frames(request.selection, snapshot))) {
  }

  Result<Flame> run() {
    flame_.form = request_.form;
    auto resolved = resolve(request_.selection, snapshot_);
    if (!resolved) {
      return propagate(resolved);
    }
    resolved->request.group[Column::kStack] = store::IdGrouping::each();
    const auto cells = snapshot_.rows->aggregate(resolved->request);
    if (!cells) {
      return propagate(cells);
    }
    const store::EventEntry& event = snapshot_.dictionaries.events[resolved->event];
    flame_.event = event.name;
    flame_.unit = unit_name(event.unit);
    flame_.notes = std::move(resolved->notes);
    if (cells->size() == 0) {
      flame_.notes.push_back("no results: " + why_empty(request_.selection, snapshot_));
    }
    flame_.coverage = resolved->coverage;
    set_coverage(*cells);
    std::vector<double> values(snapshot_.dictionaries.stacks.size());
    for (size_t i = 0; i < cells->size(); ++i) {
      values[cells->keys[i][Column::kStack]] += cells->sum(i, kValue);
    }
    MergedTree tree(*frames_, std::move(values));
    const std::vector<MergedTree::Node>& nodes = tree.merge(request_.min_share, request_.limit);
    if (tree.is_cut()) {
      note_cut(nodes);
    }
    if (const Status estimated = request_.margins ? estimate(tree, nodes, resolved->request) : Status();
        !estimated) {
      return propagate(estimated);
    }
    add_in_preorder(nodes, tree);
    return std::move(flame_);
  }

 private:
  void set_coverage(const store::Cells& cells) {
    SymbolCoverage symbols(snapshot_);
    for (size_t i = 0; i < cells.size(); ++i) {
      symbols.add(cells.keys[i][Column::kStack], cells.sum(i, kValue), cells.sum(i, kSamples));
    }
    symbols.describe(flame_.coverage);
  }

  void note_cut(const std::vector<MergedTree::Node>& nodes) {
    const double shown = std::transform_reduce(nodes.begin(), nodes.end(), 0.0, std::plus<>(),
                                               std::mem_fn(&MergedTree::Node::self));
    const double cut = std::max(0.0, 1 - shown / nodes.front().total);
    flame_.notes.push_back(
        fmt::format("showing the {} largest nodes; {:.3g} % of the total is in nodes that are cut",
                    nodes.size(), 100 * cut));
  }

  // The shares of the largest nodes, but the root's, which is all.
  Status estimate(const MergedTree& tree, const std::vector<MergedTree::Node>& nodes,
                  const store::AggregateRequest& request) {
    const MachineSample sample(snapshot_, request.filter);
    const size_t affordable = kMaxFlameSums / std::max<size_t>(1, sample.sampling_units());
    const size_t count =
        std::min(nodes.size(), 1 + std::clamp(affordable, kFewestFlameMargins, kMaxFlameMargins));
    if (count < nodes.size()) {
      flame_.notes.push_back(fmt::format("margins are for the {} largest nodes", count - 1));
    }
    std::vector<uint32_t> parents;
    for (size_t node = 0; node < count; ++node) {
      parents.push_back(nodes[node].parent);
    }
    const auto sampled = split_tree(parents, tree.deepest_nodes(count), request,
                                    sample.sampling_units_of_origins(), snapshot_);
    if (!sampled) {
      return with_hint(propagate(sampled), "give margins=no");
    }
    constexpr std::array<double RowValues::*, 1> kParts{&RowValues::total};
    flame_.shares = estimate_shares(*sampled, kParts, whole_domain(sample));
    return {};
  }

  uint32_t number(uint32_t name) {
    const auto [entry, is_new] = numbers_.try_emplace(name, static_cast<uint32_t>(flame_.names.size()));
    if (is_new) {
      flame_.names.push_back(frames_->text(name, 0));
    }
    return entry->second;
  }

  // Of strings that several nodes have.
  static uint32_t place_in(std::vector<std::string>& texts,
                           std::map<std::string, uint32_t, std::less<>>& numbers, std::string_view text) {
    auto found = numbers.find(text);
    if (found == numbers.end()) {
      found = numbers.emplace(text, static_cast<uint32_t>(texts.size())).first;
      texts.emplace_back(text);
    }
    return found->second;
  }

  // Hidden frames have no key, but a depth.
  FramePlace frame_place(const MergedTree::Place& place) const {
    const uint32_t location = place.stack == 0 ? 0 : frames_->nodes()[place.stack].location;
    FramePlace frame{location, 0};
    for (uint32_t seen = 0; location != 0; ++frame.depth) {
      const bool is_hidden = frames_->hidden() != nullptr && frames_->hidden()->is_hidden(frame);
      seen += is_hidden ? 0 : 1;
      if (seen > place.frames_left) {
        break;
      }
    }
    return frame;
  }

  FrameKind kind_of(const FramePlace& frame) const {
    switch (snapshot_.dictionaries.locations[frame.location].kind) {
      case wire::KERNEL:
      case wire::MODULE:
        return FrameKind::kKernel;
      case wire::JIT:
        return FrameKind::kJit;
      case wire::BPF:
        return FrameKind::kBpf;
      default:
        return frame.depth < snapshot_.bindings.of(frame.location).size() ? FrameKind::kNative
                                                                          : FrameKind::kUnknown;
    }
  }

  void add_frame(const FramePlace& frame) {
    FlameFrame added;
    const auto bound = snapshot_.bindings.of(frame.location);
    std::string_view file;
    if (frame.depth < bound.size()) {
      file = snapshot_.bindings.files[bound[frame.depth].file];
      added.line = bound[frame.depth].line;
    }
    const std::string binary = frame.location == 0 ? std::string() : frame_value(snapshot_, "binary", frame);
    added.binary = place_in(flame_.binaries, binary_numbers_, binary);
    added.file = place_in(flame_.files, file_numbers_, file);
    added.kind = kind_of(frame);
    added.is_inlined = frame.location != 0 && frame.depth + 1 < frames_of(snapshot_, frame.location);
    flame_.frames.push_back(added);
  }

  void add_in_preorder(const std::vector<MergedTree::Node>& nodes, const MergedTree& tree) {
    flame_.names.emplace_back("all");  // a function of that name is another node, below this one
    std::vector<uint32_t> names{0};
    std::vector<std::vector<uint32_t>> children(nodes.size());
    for (uint32_t node = 1; node < nodes.size(); ++node) {
      names.push_back(number(nodes[node].name));
      children[nodes[node].parent].push_back(node);
    }
    std::vector<std::pair<uint32_t, uint32_t>> pending{{0, 0}};  // node and depth
    while (!pending.empty()) {
      const auto [node, depth] = pending.back();
      pending.pop_back();
      const bool has_share = node != 0 && node < flame_.shares.size();
      flame_.nodes.push_back({names[node], nodes[node].self, nodes[node].total, depth,
                              has_share ? std::optional(node) : std::nullopt});
      if (request_.form == FlameForm::kColumns) {
        add_frame(node == 0 ? FramePlace() : frame_place(tree.largest_place(node)));
      }
      std::ranges::sort(children[node], [&](uint32_t a, uint32_t b) {
        return nodes[a].total != nodes[b].total ? nodes[a].total < nodes[b].total
                                                : flame_.names[names[a]] > flame_.names[names[b]];
      });
      for (const uint32_t child : children[node]) {
        pending.emplace_back(child, depth + 1);
      }
    }
  }

  const FlameRequest& request_;
  const Snapshot& snapshot_;
  const std::shared_ptr<const FrameKeys> frames_;  // by function
  Flame flame_;
  boost::unordered_flat_map<uint32_t, uint32_t> numbers_;  // of names in the answer, by key
  std::map<std::string, uint32_t, std::less<>> binary_numbers_;
  std::map<std::string, uint32_t, std::less<>> file_numbers_;
};

Parameter form_parameter(FlameForm& form) {
  return {"form", [&form](const std::string& text) -> Status {
            if (text != "tree" && text != "columns") {
              return invalid_parameter("form", text, "tree or columns");
            }
            form = text == "tree" ? FlameForm::kTree : FlameForm::kColumns;
            return {};
          }};
}

}  // namespace

std::string_view name_of(FrameKind kind) {
  switch (kind) {
    case FrameKind::kNative:
      return "native";
    case FrameKind::kKernel:
      return "kernel";
    case FrameKind::kJit:
      return "jit";
    case FrameKind::kBpf:
      return "bpf";
    case FrameKind::kUnknown:
      break;
  }
  return "unknown";
}

Result<FlameRequest> parse_flame(const Parameters& parameters, int64_t now_ns) {
  FlameRequest request;
  const auto read =
      read_parameters(parameters, now_ns, request.selection,
                      {share_parameter("min_share", request.min_share),
                       count_parameter("limit", kMaxFlameNodes, request.limit),
                       flag_parameter("margins", request.margins), form_parameter(request.form)});
  if (!read) {
    return propagate(read);
  }
  return request;
}

Result<Flame> flame(const FlameRequest& request, const Snapshot& snapshot) {
  return FlameQuery(request, snapshot).run();
}

}  // namespace plimsoll::query
