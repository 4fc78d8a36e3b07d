#include "query/selection/selected_events.h"

namespace plimsoll::query {

store::Factors samples_per_hit(const Snapshot& snapshot) {
  const store::Dictionaries& dictionaries = snapshot.dictionaries;
  std::vector<std::vector<double>> factors(dictionaries.events.size());  // by event and origin
  for (uint32_t event = 0; event < factors.size(); ++event) {
    if (dictionaries.events[event].is_shown()) {
      factors[event].resize(dictionaries.origins.size());
    }
  }
  for (const store::OriginEventEntry& entry : dictionaries.origin_events) {
    std::vector<double>& of_event = factors[entry.event];
    if (entry.hits != 0 && !of_event.empty()) {
      of_event[entry.origin] = static_cast<double>(entry.samples) / static_cast<double>(entry.hits);
    }
  }
  return store::factors_of(std::move(factors));
}

}  // namespace plimsoll::query
