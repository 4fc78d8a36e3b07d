// Which parts of a store a question is about.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "store/joined/part_reader.h"
#include "store/joined/part_series.h"
#include "store/model/time_spans.h"

namespace plimsoll::store {

// That the windows of its profiles cover; from > to: it has none.
struct PartTimes {
  int64_t from_ns = INT64_MAX;
  int64_t to_ns = INT64_MIN;
  int64_t max_interval_ns = 0;  // of their draws
};

struct TimedPart {
  std::shared_ptr<PartReader> reader;
  PartTimes times = {};                // of no use where the part is damaged
  std::function<bool()> is_rolled_up;  // asked where the part is chosen: it may take a look into a file
};

struct PartChoice {
  PartSeries::Readers parts = {};  // none: none of them can be read
  PartFacts facts = {};
};

// Those with profiles of the times, or of draws around them; the newest one that can be read where there are none. `parts` in order.
PartChoice choose_parts(std::span<const TimedPart> parts, const TimeSpans& times);

}  // namespace plimsoll::store
