#include "store/joined/part_choice.h"

#include <algorithm>
#include <utility>

namespace plimsoll::store {

PartChoice choose_parts(std::span<const TimedPart> parts, const TimeSpans& times) {
  PartChoice choice;
  PartFacts& facts = choice.facts;
  std::shared_ptr<PartReader> newest;
  for (const TimedPart& part : parts) {
    if (auto damage = part.reader->damage()) {
      facts.damaged_blocks.push_back(std::move(*damage));
      continue;
    }
    newest = part.reader;
    const PartTimes& covered = part.times;
    facts.history_from_ns = std::min(facts.history_from_ns, covered.from_ns);
    facts.history_to_ns = std::max(facts.history_to_ns, covered.to_ns);
    if (!touches(times, covered.from_ns, covered.to_ns, distance_within_draw_ns(covered.max_interval_ns))) {
      continue;
    }
    choice.parts.push_back(part.reader);
    if (part.is_rolled_up()) {
      facts.rolled_up_from_ns = std::min(facts.rolled_up_from_ns, covered.from_ns);
      facts.rolled_up_to_ns = std::max(facts.rolled_up_to_ns, covered.to_ns);
    }
  }
  if (choice.parts.empty() && newest != nullptr) {
    choice.parts.push_back(std::move(newest));
  }
  return choice;
}

}  // namespace plimsoll::store
