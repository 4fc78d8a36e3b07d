// What a question reads of the store: rows, and what they refer to.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "store/model/aggregation.h"
#include "store/model/bindings.h"
#include "store/model/damaged_part.h"
#include "store/model/dictionaries.h"
#include "store/model/time_spans.h"

namespace plimsoll::store {

// One consistent state of the store, or of the part of it that a question is about. Immutable; copies share what they hold.
struct Contents {
  // Contents of one lineage grow: in a later one every ID means what it meant before, and entries have only been added.
  uint64_t lineage = 0;
  // Within the lineage: the same number, the same contents.
  uint64_t version = 0;
  Dictionaries dictionaries = {};
  Bindings bindings = {};
  std::shared_ptr<const RowSource> rows = nullptr;
  // Parts that cannot be read. Of those that are found when they are read, `rows` tells.
  std::vector<DamagedPart> damaged_blocks = {};
  // That the windows of all profiles in the store cover, of other times than were asked for too; from > to: there are none.
  int64_t history_from_ns = INT64_MAX;
  int64_t history_to_ns = INT64_MIN;
  // That the parts of these contents cover whose rows are rolled up: whole parts, of other times than were asked for too; from > to: none
  // is.
  int64_t rolled_up_from_ns = INT64_MAX;
  int64_t rolled_up_to_ns = INT64_MIN;
};

// Any thread.
class Source {
 public:
  virtual ~Source() = default;

  // The newest contents that have all profiles of `times`, those of the same draws around them, and others. Reads what is new alone: that
  // costs as much as the profiles that came since, whatever the history. Ends early where check_stop() fails, unless it goes on with
  // contents that others have too.
  virtual Result<Contents> newest(const TimeSpans& times) = 0;

  // Frees what is known of parts that were dropped from the store. Contents that a caller has stay valid.
  virtual void forget_dropped() = 0;

  // Of the contents that can be asked for again. What a caller has made of others is of no more use.
  virtual std::vector<uint64_t> lineages() const = 0;
};

}  // namespace plimsoll::store
