#include "query/views/flame.h"

#include <algorithm>
#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <functional>
#include <memory>
#include <numeric>
#include <span>
#include <utility>

#include "query/rows/symbol_coverage.h"
#include "query/selection/empty_selection.h"
#include "query/snapshot/dimension.h"

namespace plimsoll::query {
namespace {

// The stacks below each, and what they come to.
class StackTree {
 public:
  // `values` by stack. Parents have smaller IDs than their children; 0 is the root, and also stands for no stack.
  StackTree(const std::vector<store::StackNode>& stacks, std::vector<double> values)
      : values_(std::move(values)), totals_(values_), first_(stacks.size() + 1) {
    for (size_t stack = stacks.size(); stack-- > 1;) {
      if (totals_[stack] != 0) {
        ++first_[stacks[stack].parent + 1];
        if (stacks[stack].parent != 0) {
          totals_[stacks[stack].parent] += totals_[stack];
        }
      }
    }
    std::partial_sum(first_.begin(), first_.end(), first_.begin());
    children_.resize(first_.back());
    std::vector<uint32_t> next(first_.begin(), first_.end() - 1);
    for (uint32_t stack = 1; stack < stacks.size(); ++stack) {
      if (totals_[stack] != 0) {
        children_[next[stacks[stack].parent]++] = stack;
      }
    }
  }

  double value(uint32_t stack) const { return values_[stack]; }
  // Its own, and those of all below it; of stack 0 its own.
  double total(uint32_t stack) const { return totals_[stack]; }
  // Of which any has a value, or is above one that has.
  std::span<const uint32_t> children(uint32_t stack) const {
    return std::span(children_).subspan(first_[stack], first_[stack + 1] - first_[stack]);
  }

 private:
  std::vector<double> values_;
  std::vector<double> totals_;
  std::vector<uint32_t> first_;
  std::vector<uint32_t> children_;
};

// Stacks merged by what their frames are called, from the root down and the largest node first: what is cut is never looked at.
class MergedTree {
 public:
  struct Node {
    uint32_t parent = 0;
    uint32_t name = 0;  // key of the frames; of the root: nothing
    double self = 0;
    double total = 0;
  };

  MergedTree(const FrameKeys& frames, StackTree stacks)
      : stacks_(frames.nodes()), frames_(frames), tree_(std::move(stacks)) {}

  // The nodes of at least `min_share` of the root's total, `limit` at most, in descending order of their totals; parents come before
  // their children.
  std::vector<Node> merge(double min_share, size_t limit) {
    find_outermost();
    Node root;
    for (const Child& child : children_) {
      root.total += tree_.total(child.place.stack);
    }
    const double least = min_share * root.total;
    std::vector<Node> merged{root};
    add_children(0, least);
    while (!pending_.empty() && merged.size() < limit) {
      std::pop_heap(pending_.begin(), pending_.end());
      const Found next = found_[static_cast<size_t>(-pending_.back().second)];
      pending_.pop_back();
      const auto places = std::span(places_).subspan(next.first_place, next.places);
      double self = 0;
      for (const Place& at : places) {
        self += at.frames_left == 0 ? tree_.value(at.stack) : 0;
      }
      merged.push_back({next.parent, next.name, self, next.total});
      find_below(places);
      add_children(static_cast<uint32_t>(merged.size() - 1), least);
    }
    return merged;
  }

  // Of nodes that merge() left out.
  bool is_cut() const { return is_cut_ || !pending_.empty(); }

 private:
  // A frame of a stack's leaf: how many others of its location were inlined into it.
  struct Place {
    uint32_t stack = 0;
    uint32_t frames_left = 0;
  };
  struct Found {
    uint32_t parent = 0;
    uint32_t name = 0;
    double total = 0;
    size_t first_place = 0;
    size_t places = 0;
  };
  struct Child {
    uint32_t name = 0;
    Place place;
  };

  std::span<const uint32_t> names_of(uint32_t stack) const {
    return frames_.of_location(stack == 0 ? 0 : stacks_[stack].location);
  }
  // The outermost frame of a stack's leaf.
  Child outermost(uint32_t stack) const {
    const auto names = names_of(stack);
    return {names.back(), {stack, static_cast<uint32_t>(names.size() - 1)}};
  }

  // Leaves in children_ what is below the root.
  void find_outermost() {
    children_.clear();
    if (tree_.value(0) != 0) {
      children_.push_back(outermost(0));
    }
    for (const uint32_t stack : tree_.children(0)) {
      children_.push_back(outermost(stack));
    }
  }

  // Likewise below a node.
  void find_below(std::span<const Place> places) {
    children_.clear();
    for (const auto& [stack, frames_left] : places) {
      if (frames_left > 0) {
        children_.push_back({names_of(stack)[frames_left - 1], {stack, frames_left - 1}});
      } else if (stack != 0) {  // where no stack was recorded, there is nothing below
        for (const uint32_t child : tree_.children(stack)) {
          children_.push_back(outermost(child));
        }
      }
    }
  }

  // Merges children_ by their names.
  void add_children(uint32_t parent, double least) {
    std::ranges::sort(children_, {},
                      [](const Child& child) { return std::pair(child.name, child.place.stack); });
    for (size_t first = 0; first < children_.size();) {
      Found child{parent, children_[first].name, 0, places_.size(), 0};
      for (; first < children_.size() && children_[first].name == child.name; ++first) {
        child.total += tree_.total(children_[first].place.stack);
        places_.push_back(children_[first].place);
      }
      child.places = places_.size() - child.first_place;
      if (child.total < least) {
        is_cut_ = true;
        places_.resize(child.first_place);
        continue;
      }
      pending_.emplace_back(child.total, -static_cast<int64_t>(found_.size()));
      std::push_heap(pending_.begin(), pending_.end());
      found_.push_back(child);
    }
  }

  const std::vector<store::StackNode>& stacks_;
  const FrameKeys& frames_;
  const StackTree tree_;
  std::vector<Found> found_;   // nodes, in the order in which they were found
  std::vector<Place> places_;  // of all of them
  std::vector<std::pair<double, int64_t>>
      pending_;  // a heap: total, and less its number, the largest first and of those the first
  std::vector<Child> children_;
  bool is_cut_ = false;
};

class FlameQuery {
 public:
  FlameQuery(const FlameRequest& request, const Snapshot& snapshot)
      : request_(request),
        snapshot_(snapshot),
        frames_(snapshot.frame_keys->of(snapshot, {"function"},
                                        hidden_frames(request.selection.hide, snapshot))) {}

  Result<Flame> run() {
    auto resolved = resolve(request_.selection, snapshot_);
    if (!resolved) {
      return propagate(resolved);
    }
    resolved->request.by_stack = true;
    const auto cells = snapshot_.rows->aggregate(resolved->request);
    if (!cells) {
      return propagate(cells);
    }
    const store::EventEntry& event = snapshot_.dictionaries.events[resolved->event];
    flame_.event = event.name;
    flame_.unit = unit_name(event.unit);
    flame_.notes = std::move(resolved->notes);
    if (cells->size() == 0) {
      flame_.notes.push_back("nothing: " + why_empty(request_.selection, snapshot_));
    }
    flame_.coverage = resolved->coverage;
    set_coverage(*cells);
    std::vector<double> values(snapshot_.dictionaries.stacks.size());
    for (size_t i = 0; i < cells->size(); ++i) {
      values[cells->keys[i].stack] += cells->sum(i, kValue);
    }
    MergedTree tree(*frames_, StackTree(frames_->nodes(), std::move(values)));
    const std::vector<MergedTree::Node> nodes = tree.merge(request_.min_share, request_.limit);
    if (tree.is_cut()) {
      note_cut(nodes);
    }
    add_in_preorder(nodes);
    return std::move(flame_);
  }

 private:
  void set_coverage(const store::Cells& cells) {
    SymbolCoverage symbols(snapshot_);
    for (size_t i = 0; i < cells.size(); ++i) {
      symbols.add(cells.keys[i].stack, cells.sum(i, kValue), cells.sum(i, kSamples));
    }
    symbols.describe(flame_.coverage);
  }

  void note_cut(const std::vector<MergedTree::Node>& nodes) {
    const double shown = std::transform_reduce(nodes.begin(), nodes.end(), 0.0, std::plus<>(),
                                               std::mem_fn(&MergedTree::Node::self));
    const double cut = std::max(0.0, 1 - shown / nodes.front().total);
    flame_.notes.push_back(
        fmt::format("the {} largest nodes are shown; {:.3g} % of the total falls to others, which are cut",
                    nodes.size(), 100 * cut));
  }

  uint32_t number(uint32_t name) {
    const auto [entry, is_new] = numbers_.try_emplace(name, static_cast<uint32_t>(flame_.names.size()));
    if (is_new) {
      flame_.names.push_back(frames_->text(name, 0));
    }
    return entry->second;
  }

  void add_in_preorder(const std::vector<MergedTree::Node>& nodes) {
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
      flame_.nodes.push_back({names[node], nodes[node].self, nodes[node].total, depth});
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
};

}  // namespace

Result<FlameRequest> parse_flame(const Parameters& parameters, int64_t now_ns) {
  FlameRequest request;
  const auto read = read_parameters(parameters, now_ns, request.selection,
                                    {share_parameter("min_share", request.min_share),
                                     count_parameter("limit", kMaxFlameNodes, request.limit)});
  if (!read) {
    return propagate(read);
  }
  return request;
}

Result<Flame> flame(const FlameRequest& request, const Snapshot& snapshot) {
  return FlameQuery(request, snapshot).run();
}

}  // namespace plimsoll::query
