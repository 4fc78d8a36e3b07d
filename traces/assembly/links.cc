#include "traces/assembly/links.h"

#include <algorithm>
#include <tuple>

namespace plimsoll::traces {
namespace {

bool are_halves(const Span& left, const Span& right) {
  return (left.kind == SpanKind::kClient && right.kind == SpanKind::kServer) ||
         (left.kind == SpanKind::kServer && right.kind == SpanKind::kClient);
}

bool are_copies(const Span& left, const Span& right) {
  return left.start_ns == right.start_ns && left.end_ns == right.end_ns && left.service == right.service &&
         left.operation == right.operation && left.parent == right.parent;
}

}  // namespace

void Links::build(std::span<uint32_t> indices, AssemblyCounts& counts) {
  kept_.clear();
  is_shared_.clear();
  is_partial_ = false;
  keep_distinct(indices, counts);
  parents_.resize(size());
  is_orphan_.assign(size(), 0);
  for (uint32_t place = 0; place < size(); ++place) {
    parents_[place] = parent_of(place);
    if (parents_[place] == kNoNode && span(place).parent != 0) {
      is_orphan_[place] = 1;
      is_partial_ = true;
      ++counts.missing_parents;
    }
  }
  cut_cycles(counts);
  count_roots(counts);
}

void Links::keep_distinct(std::span<uint32_t> indices, AssemblyCounts& counts) {
  std::ranges::sort(indices, [this](uint32_t left, uint32_t right) { return is_preferred(left, right); });
  for (size_t begin = 0; begin < indices.size();) {
    size_t end = begin + 1;
    while (end < indices.size() && all_[indices[end]].id == all_[indices[begin]].id) {
      ++end;
    }
    keep_one(indices.subspan(begin, end - begin), counts);
    begin = end;
  }
}

// By ID, and of one ID the span first that is kept: a full order of contents, so that the order in which spans came decides nothing. Names
// by their text, because their numbers are given in that order; those that say where a span ran before none.
bool Links::is_preferred(uint32_t left, uint32_t right) const {
  const auto numbers = [this](uint32_t i) {
    const Span& span = all_[i];
    return std::tuple(span.id, span.is_shared, -span.end_ns, span.start_ns, span.kind);
  };
  const auto of_left = numbers(left);
  const auto of_right = numbers(right);
  if (of_left != of_right) {
    return of_left < of_right;
  }
  const auto texts = [this](uint32_t i) {
    const Span& span = all_[i];
    return std::tuple(names_.services.name(span.service), names_.operations.name(span.operation), span.parent,
                      span.machine == 0, span.replica == 0, names_.machines.name(span.machine),
                      names_.replicas.name(span.replica), names_.versions.name(span.version), span.status);
  };
  const auto texts_of_left = texts(left);
  const auto texts_of_right = texts(right);
  if (texts_of_left != texts_of_right) {
    return texts_of_left < texts_of_right;
  }
  const auto compared = compare_attributes(all_[left].attributes, all_[right].attributes);
  return compared != 0 ? compared < 0 : left < right;
}

std::strong_ordering Links::compare_attributes(uint32_t left, uint32_t right) const {
  if (left == right) {
    return std::strong_ordering::equal;
  }
  std::vector<Attribute> of_left;
  std::vector<Attribute> of_right;
  attributes_.append_to(of_left, left);
  attributes_.append_to(of_right, right);
  return compare_sets(of_left, of_right);
}

// Or two: the halves of a call.
void Links::keep_one(std::span<const uint32_t> same_id, AssemblyCounts& counts) {
  const uint32_t first = same_id.front();
  uint32_t other_half = kNoNode;
  for (const uint32_t i : same_id.subspan(1)) {
    const bool is_half = all_[i].is_shared != all_[first].is_shared || are_halves(all_[first], all_[i]);
    if (is_half && other_half == kNoNode) {
      other_half = i;
    } else if (are_copies(all_[i], all_[first]) ||
               (other_half != kNoNode && are_copies(all_[i], all_[other_half]))) {
      ++counts.duplicates;
    } else {
      ++counts.conflicting;
    }
  }
  if (other_half == kNoNode) {
    kept_.push_back(first);
    is_shared_.push_back(all_[first].is_shared ? 1 : 0);
    return;
  }
  ++counts.shared_ids;
  const bool is_first_server =
      all_[first].is_shared || (!all_[other_half].is_shared && all_[first].kind == SpanKind::kServer);
  kept_.push_back(is_first_server ? other_half : first);
  kept_.push_back(is_first_server ? first : other_half);
  is_shared_.insert(is_shared_.end(), {0, 1});
}

uint32_t Links::find(SpanId id, bool is_shared) const {
  auto found = std::ranges::lower_bound(kept_, id, {}, [this](uint32_t i) { return all_[i].id; });
  for (; found != kept_.end() && all_[*found].id == id; ++found) {
    const auto place = static_cast<uint32_t>(found - kept_.begin());
    if ((is_shared_[place] != 0) == is_shared) {
      return place;
    }
  }
  return kNoNode;
}

uint32_t Links::parent_of(uint32_t place) const {
  const Span& child = span(place);
  if (is_shared_[place] != 0) {
    const uint32_t client = find(child.id, false);
    if (client != kNoNode) {
      return client;
    }
  }
  if (child.parent == 0) {
    return kNoNode;
  }
  const uint32_t client = find(child.parent, false);
  const uint32_t server = find(child.parent, true);
  if (client == kNoNode || server == kNoNode) {
    return client == kNoNode ? server : client;
  }
  // Of the halves with that ID the one that is of the child's service, else the server's, which makes further calls.
  return span(client).service == child.service && span(server).service != child.service ? client : server;
}

bool Links::is_before(uint32_t left, uint32_t right) const {
  return std::tuple(span(left).start_ns, span(left).id, left) <
         std::tuple(span(right).start_ns, span(right).id, right);
}

void Links::cut_cycles(AssemblyCounts& counts) {
  visited_.assign(size(), 0);  // the walk that met a place first, from 1
  for (uint32_t start = 0; start < size(); ++start) {
    uint32_t place = start;
    while (place != kNoNode && visited_[place] == 0) {
      visited_[place] = start + 1;
      place = parents_[place];
    }
    if (place == kNoNode || visited_[place] != start + 1) {
      continue;
    }
    uint32_t earliest = place;
    for (uint32_t at = parents_[place]; at != place; at = parents_[at]) {
      earliest = is_before(at, earliest) ? at : earliest;
    }
    parents_[earliest] = kNoNode;
    is_orphan_[earliest] = 1;
    is_partial_ = true;
    ++counts.cycles;
  }
}

void Links::count_roots(AssemblyCounts& counts) {
  uint64_t roots = 0;
  for (uint32_t place = 0; place < size(); ++place) {
    roots += parents_[place] == kNoNode && is_orphan_[place] == 0 ? 1U : 0U;
  }
  if (roots > 1) {
    counts.extra_roots += roots - 1;
    is_partial_ = true;
  }
}

}  // namespace plimsoll::traces
