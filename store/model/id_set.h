// A selection of dictionary IDs, as requests carry it.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "store/model/time_spans.h"

namespace plimsoll::store {

// From `first` up to `last`, which is one of them.
struct IdRange {
  uint32_t first = 0;
  uint32_t last = 0;

  bool operator==(const IdRange&) const = default;
};

// What is asked of the dictionary entries that IDs stand for, in words that every engine with the dictionaries understands.
struct EntryCondition {
  // Of the column's entries, as --where calls it: "job", "platform".
  std::string dimension = {};
  // Entries with one of these values, or with one that begins so, meet it; or, where it is negated, all others.
  std::vector<std::string> values = {};
  bool are_prefixes = false;
  bool is_negated = false;

  bool operator==(const EntryCondition&) const = default;
};

struct IdSelection;

// All IDs, or those of some ranges. Immutable: a copy costs nothing and shares the IDs, any number of threads may read it. It is made of ranges or
// of flags, and makes the other form when that is first asked for, once for all copies: local aggregation looks flags up for each row, another
// engine is sent ranges.
class IdSet {
 public:
  // All IDs.
  IdSet() = default;
  // These alone, in any order; of no IDs nothing is selected.
  static IdSet of(const std::vector<uint32_t>& ids);
  // In any order; they may overlap.
  static IdSet of_ranges(std::vector<IdRange> ranges);
  // A flag for each ID from 0 on; IDs beyond the end are not selected. Empty: all IDs.
  static IdSet of_flags(std::vector<bool> flags);

  // What flags() gives says of an ID.
  static bool selects(const std::vector<bool>& flags, uint32_t id) {
    return flags.empty() || (id < flags.size() && flags[id]);
  }

  // The same IDs, and what made them. An engine that has the dictionaries may apply that itself, however many IDs there are.
  IdSet made_by(IdSelection selection) const;

  bool is_all() const { return contents_ == nullptr; }
  // A search, unless the set is made of flags.
  bool selects(uint32_t id) const;
  // Absent: nothing is known but the IDs.
  const IdSelection* selection() const { return selection_.get(); }
  // Up to the last ID of the set; empty: all IDs. One place turns a set into flags, for all: a bit for each ID, the first time.
  const std::vector<bool>& flags() const;
  // They ascend, and there are IDs between them that are not selected. Of all IDs it is one range.
  std::span<const IdRange> ranges() const;

 private:
  struct Contents {
    bool is_of_flags = false;
    std::once_flag other_form;  // protects the form that it was not made of
    std::vector<bool> flags;
    std::vector<IdRange> ranges;
  };

  std::shared_ptr<Contents> contents_;  // absent: all
  std::shared_ptr<const IdSelection> selection_;
};

// What made a set: the IDs of `among` whose entries meet all conditions, the empty entry 0 aside. Of origins, the middle of the window is in
// `middle`, too.
struct IdSelection {
  IdSet among = {};
  std::vector<EntryCondition> conditions = {};
  TimeSpan middle = {};
};

// What is in both, with the conditions of both. Costs as much as their ranges.
IdSet intersection_of(const IdSet& a, const IdSet& b);
// What is in one of them at least; what made them is lost.
IdSet union_of(const IdSet& a, const IdSet& b);

}  // namespace plimsoll::store
