#include "query/selection/empty_selection.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "base/suggest.h"
#include "base/time.h"
#include "query/snapshot/dimension.h"

namespace plimsoll::query {
namespace {

template <typename ValueOf>
std::set<std::string> values_from(uint32_t first, size_t entries, const ValueOf& value_of) {
  std::set<std::string> values;
  for (uint32_t id = first; id < entries; ++id) {
    values.insert(value_of(id));
  }
  return values;
}

std::set<std::string> values_of(const Predicate& predicate, const Snapshot& snapshot) {
  const Dimension& dimension = predicate.dimension();
  switch (dimension.source) {
    case DimensionSource::kFrame: {
      const auto frames = snapshot.frame_keys->of(snapshot, predicate.names());
      std::set<std::string> values;
      for (size_t name = 0; name < predicate.names().size(); ++name) {
        values.merge(values_from(0, frames->size(), [&](uint32_t key) { return frames->text(key, name); }));
      }
      return values;
    }
    case DimensionSource::kStack:
      return {};
    default:
      return values_from(1, entries_of(snapshot, column_of(dimension.source)),
                         [&](uint32_t id) { return entry_value(snapshot, dimension, id); });
  }
}

// Nothing: there are profiles of these times.
std::optional<std::string> why_no_profiles(const Selection& selection, const Snapshot& snapshot) {
  if (snapshot.history_from_ns > snapshot.history_to_ns) {
    return "no profiles yet";
  }
  const auto middles = snapshot.origins.middle_ns.span();
  if (std::ranges::any_of(middles.subspan(1),
                          [&](int64_t middle_ns) { return selection.is_about(middle_ns); })) {
    return std::nullopt;
  }
  return fmt::format("no profiles in this time range; there are profiles from {} to {}",
                     format_time(snapshot.history_from_ns), format_time(snapshot.history_to_ns));
}

}  // namespace

std::optional<std::string> why_no_match(const Predicate& predicate, const Snapshot& snapshot) {
  if (predicate.dimension().source == DimensionSource::kStack) {
    return std::nullopt;  // whole stacks are too long to be misspelt, and to be gathered
  }
  const std::set<std::string> values = values_of(predicate, snapshot);
  const bool holds_for_some = std::ranges::any_of(
      values, [&](const std::string& value) { return predicate.matches(value) != predicate.is_negated(); });
  if (holds_for_some) {
    return std::nullopt;
  }
  const std::vector<std::string_view> known(values.begin(), values.end());
  const auto nearest = nearest_word(predicate.wanted(), known);
  return fmt::format("nothing matches {}{}", predicate.text(),
                     nearest ? fmt::format(". Did you mean {}?", *nearest) : "");
}

std::string why_empty(const Selection& selection, const Snapshot& snapshot) {
  if (const auto why = why_no_profiles(selection, snapshot)) {
    return *why;
  }
  for (const Predicate& predicate : selection.where) {
    if (const auto why = why_no_match(predicate, snapshot)) {
      return *why;
    }
  }
  if (!selection.hide.empty()) {
    return "no sample in this time range matches all filters and has frames that are not hidden";
  }
  return selection.where.empty() ? "no usable profile in this time range has samples of it"
                                 : "no sample in this time range matches all filters";
}

}  // namespace plimsoll::query
