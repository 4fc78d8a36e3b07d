#include "query/rows/named_stacks.h"

#include <algorithm>
#include <numeric>
#include <ranges>
#include <string_view>
#include <utility>

namespace plimsoll::query {
namespace {

constexpr uint32_t kUnknownNode = UINT32_MAX;

}  // namespace

NamedStacks::NamedStacks(const Snapshot& snapshot, const std::shared_ptr<const HiddenFrames>& hidden)
    : frames_(snapshot.frame_keys->of(snapshot, {"function"}, hidden)),
      node_of_stack_(frames_->nodes().size(), kUnknownNode) {}

uint32_t NamedStacks::child_of(uint32_t parent, uint32_t name) {
  const auto [entry, is_new] =
      number_of_node_.try_emplace({parent, name}, static_cast<uint32_t>(nodes_.size()));
  if (is_new) {
    nodes_.push_back({parent, name});
  }
  return entry->second;
}

uint32_t NamedStacks::node_of(uint32_t stack) {
  const auto stacks = frames_->nodes();
  // Up to what is known, then down again.
  std::vector<uint32_t> path;
  uint32_t at = stack;
  for (; at != 0 && node_of_stack_[at] == kUnknownNode; at = stacks[at].parent) {
    path.push_back(at);
  }
  uint32_t node = at == 0 ? 0 : node_of_stack_[at];
  for (const uint32_t caller : std::views::reverse(path)) {
    if (const uint32_t location = stacks[caller].location; location != 0) {
      for (const uint32_t name : std::views::reverse(frames_->of_location(location))) {
        node = child_of(node, name);
      }
    }
    node_of_stack_[caller] = node;
  }
  return node;
}

uint32_t NamedStacks::number_of(uint32_t stack) {
  const uint32_t node = node_of(stack);
  const auto [entry, is_new] = numbers_.try_emplace(node, static_cast<uint32_t>(node_of_number_.size()));
  if (is_new) {
    node_of_number_.push_back(node);
  }
  return entry->second;
}

std::string NamedStacks::text(uint32_t number) const {
  std::vector<std::string_view> names;
  for (uint32_t node = node_of_number_[number]; node != 0; node = nodes_[node].parent) {
    names.push_back(frames_->text(nodes_[node].name, 0));
  }
  std::ranges::reverse(names);
  return names.empty() ? "[no stack]" : fmt::format("{}", fmt::join(names, ";"));
}

std::vector<uint32_t> NamedStacks::name_ranks() const {
  std::vector<uint32_t> names(frames_->size());
  std::iota(names.begin(), names.end(), 0U);
  std::ranges::sort(names, {}, [&](uint32_t name) { return std::string_view(frames_->text(name, 0)); });
  std::vector<uint32_t> ranks(names.size());
  for (uint32_t rank = 0; rank < names.size(); ++rank) {
    ranks[names[rank]] = rank;
  }
  return ranks;
}

std::vector<uint32_t> NamedStacks::ranks() const {
  const std::vector<uint32_t> name_rank = name_ranks();
  std::vector<uint32_t> in_order(nodes_.size() - 1);
  std::iota(in_order.begin(), in_order.end(), 1U);
  std::ranges::sort(in_order, {}, [&](uint32_t node) {
    return std::pair(nodes_[node].parent, name_rank[nodes_[node].name]);
  });
  std::vector<uint32_t> nodes_below(nodes_.size());
  for (size_t node = nodes_.size(); --node > 0;) {
    nodes_below[nodes_[node].parent] += nodes_below[node] + 1;
  }
  // A tree's order with parents first. A node's own place is known when its children come: they have larger parents.
  std::vector<uint32_t> place(nodes_.size());
  uint32_t parent = kUnknownNode;
  uint32_t next = 0;
  for (const uint32_t node : in_order) {
    if (nodes_[node].parent != parent) {
      parent = nodes_[node].parent;
      next = place[parent] + 1;
    }
    place[node] = next;
    next += nodes_below[node] + 1;
  }
  std::vector<uint32_t> ranks;
  ranks.reserve(node_of_number_.size());
  std::ranges::transform(node_of_number_, std::back_inserter(ranks),
                         [&](uint32_t node) { return place[node]; });
  return ranks;
}

}  // namespace plimsoll::query
