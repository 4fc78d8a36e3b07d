#include "query/operations/wanted_builds.h"

#include <algorithm>
#include <map>
#include <utility>

#include "query/selection/selected_events.h"
#include "query/snapshot/dimension.h"
#include "store/model/aggregation.h"

namespace plimsoll::query {
namespace {

// Names of the kernel come with profiles.
bool is_wanted(const Snapshot& snapshot, uint32_t binary, WantedContent content) {
  const store::BinaryEntry& entry = snapshot.dictionaries.binaries[binary];
  return entry.identity_kind == wire::GNU_BUILD_ID && !entry.path.starts_with('[') &&
         (content == WantedContent::kCode || !snapshot.bindings.reasons_of(binary).empty());
}

}  // namespace

Result<std::vector<std::string>> wanted_builds(const Snapshot& snapshot, size_t limit,
                                               WantedContent content) {
  const store::Dictionaries& dictionaries = snapshot.dictionaries;
  std::map<std::string, double> samples;  // by build ID
  for (uint32_t binary = 1; binary < dictionaries.binaries.size(); ++binary) {
    if (is_wanted(snapshot, binary, content)) {
      samples.try_emplace(dictionaries.binaries[binary].identity);
    }
  }
  if (samples.empty()) {
    return std::vector<std::string>();
  }
  store::AggregateRequest request;
  std::vector<uint32_t> group(dictionaries.stacks.size());
  for (uint32_t stack = 0; stack < group.size(); ++stack) {
    const auto binary = binary_id_of(snapshot, dictionaries.stacks[stack].location);
    group[stack] = binary && is_wanted(snapshot, *binary, content) ? *binary : 0;
  }
  request.group[store::Column::kStack] = store::IdGrouping::by(std::move(group));
  request.filter[store::Column::kEvent] = shown_events(snapshot);
  request.measures = {samples_per_hit(snapshot)};
  const auto cells = snapshot.rows->aggregate(request);
  if (!cells) {
    return propagate(cells);
  }
  for (size_t c = 0; c < cells->size(); ++c) {
    if (const uint32_t binary = cells->keys[c][store::Column::kStack]; binary != 0) {
      samples[dictionaries.binaries[binary].identity] += cells->sum(c);
    }
  }
  std::vector<std::pair<double, std::string>> order;
  for (const auto& [build_id, count] : samples) {
    order.emplace_back(-count, build_id);
  }
  std::ranges::sort(order);
  order.resize(std::min(order.size(), limit));
  std::vector<std::string> build_ids;
  for (auto& [count, build_id] : order) {
    build_ids.push_back(std::move(build_id));
  }
  return build_ids;
}

}  // namespace plimsoll::query
