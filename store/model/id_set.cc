#include "store/model/id_set.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace plimsoll::store {
namespace {

// Without a branch for each flag, since those of stacks change at random: first where selected IDs begin and end, in turns.
std::vector<IdRange> ranges_of(const std::vector<bool>& flags) {
  std::vector<uint32_t> edges(flags.size() + 1);
  size_t count = 0;
  bool was_selected = false;
  for (uint32_t id = 0; id < flags.size(); ++id) {
    const bool is_selected = flags[id];
    edges[count] = id;
    count += is_selected != was_selected ? 1 : 0;
    was_selected = is_selected;
  }
  edges[count] = static_cast<uint32_t>(flags.size());
  count += was_selected ? 1 : 0;
  std::vector<IdRange> ranges;
  ranges.reserve(count / 2);
  for (size_t edge = 0; edge < count; edge += 2) {
    ranges.push_back({edges[edge], edges[edge + 1] - 1});
  }
  return ranges;
}

// At least one, since none would be all IDs.
std::vector<bool> flags_of(std::span<const IdRange> ranges) {
  std::vector<bool> flags(ranges.empty() ? 1 : size_t{ranges.back().last} + 1);
  for (const IdRange& range : ranges) {
    std::fill(flags.begin() + range.first, flags.begin() + range.last + 1, true);
  }
  return flags;
}

// In ascending order, with gaps between them.
std::vector<IdRange> joined(std::vector<IdRange> ranges) {
  if (!std::ranges::is_sorted(ranges, {}, &IdRange::first)) {
    std::ranges::sort(ranges, {}, &IdRange::first);
  }
  std::vector<IdRange> joined;
  for (const IdRange& range : ranges) {
    if (!joined.empty() && range.first <= uint64_t{joined.back().last} + 1) {
      joined.back().last = std::max(joined.back().last, range.last);
    } else {
      joined.push_back(range);
    }
  }
  return joined;
}

std::vector<IdRange> common_ranges(std::span<const IdRange> a, std::span<const IdRange> b) {
  std::vector<IdRange> common;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const uint32_t first = std::max(a[i].first, b[j].first);
    const uint32_t last = std::min(a[i].last, b[j].last);
    if (first <= last) {
      common.push_back({first, last});
    }
    // What ends first meets nothing more.
    a[i].last < b[j].last ? ++i : ++j;
  }
  return common;
}

// A set of which nothing is known but the IDs is made of these, by no condition.
IdSelection selection_of(const IdSet& set) {
  return set.selection() == nullptr ? IdSelection{.among = set, .conditions = {}, .middle = {}}
                                    : *set.selection();
}

}  // namespace

IdSet IdSet::of(const std::vector<uint32_t>& ids) {
  std::vector<IdRange> ranges;
  ranges.reserve(ids.size());
  for (const uint32_t id : ids) {
    ranges.push_back({id, id});
  }
  return of_ranges(std::move(ranges));
}

IdSet IdSet::of_ranges(std::vector<IdRange> ranges) {
  IdSet set;
  set.contents_ = std::make_shared<Contents>();
  set.contents_->ranges = joined(std::move(ranges));
  return set;
}

IdSet IdSet::of_flags(std::vector<bool> flags) {
  IdSet set;
  if (!flags.empty()) {
    set.contents_ = std::make_shared<Contents>();
    set.contents_->is_of_flags = true;
    set.contents_->flags = std::move(flags);
  }
  return set;
}

IdSet IdSet::made_by(IdSelection selection) const {
  IdSet made = *this;
  made.selection_ = std::make_shared<const IdSelection>(std::move(selection));
  return made;
}

bool IdSet::selects(uint32_t id) const {
  if (contents_ == nullptr || contents_->is_of_flags) {
    return contents_ == nullptr || selects(contents_->flags, id);
  }
  const auto range = std::ranges::lower_bound(contents_->ranges, id, {}, &IdRange::last);
  return range != contents_->ranges.end() && range->first <= id;
}

const std::vector<bool>& IdSet::flags() const {
  static const std::vector<bool> all;
  if (contents_ == nullptr) {
    return all;
  }
  if (!contents_->is_of_flags) {
    std::call_once(contents_->other_form, [this] { contents_->flags = flags_of(contents_->ranges); });
  }
  return contents_->flags;
}

std::span<const IdRange> IdSet::ranges() const {
  static constexpr std::array<IdRange, 1> kAll{{{0, UINT32_MAX}}};
  if (contents_ == nullptr) {
    return kAll;
  }
  if (contents_->is_of_flags) {
    std::call_once(contents_->other_form, [this] { contents_->ranges = ranges_of(contents_->flags); });
  }
  return contents_->ranges;
}

IdSet intersection_of(const IdSet& a, const IdSet& b) {
  if (a.is_all() || b.is_all()) {
    return a.is_all() ? b : a;
  }
  std::vector<IdRange> common = common_ranges(a.ranges(), b.ranges());
  if (a.selection() == nullptr && b.selection() == nullptr) {
    return IdSet::of_ranges(std::move(common));
  }
  IdSelection made = selection_of(a);
  const IdSelection other = selection_of(b);
  made.among = intersection_of(made.among, other.among);
  made.conditions.insert(made.conditions.end(), other.conditions.begin(), other.conditions.end());
  made.middle = {std::max(made.middle.from_ns, other.middle.from_ns),
                 std::min(made.middle.to_ns, other.middle.to_ns)};
  return IdSet::of_ranges(std::move(common)).made_by(std::move(made));
}

IdSet union_of(const IdSet& a, const IdSet& b) {
  if (a.is_all() || b.is_all()) {
    return {};
  }
  std::vector<IdRange> either(a.ranges().begin(), a.ranges().end());
  either.insert(either.end(), b.ranges().begin(), b.ranges().end());
  return IdSet::of_ranges(std::move(either));
}

}  // namespace plimsoll::store
