// The dictionaries of several blocks as one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/append_only_list.h"
#include "store/dictionaries/dictionary_index.h"
#include "store/model/aggregation.h"
#include "store/model/dictionaries.h"

namespace plimsoll::store {

// From the dictionary IDs of a block to those of a union of blocks. Copies cost nothing.
struct Translation {
  // By the block's ID; entry 0 is 0. Columns of rows, and what their entries refer to.
  using Ids = AppendOnlyList<uint32_t>;
  ByColumn<Ids> ids{{Ids{0}, Ids{0}, Ids{0}, Ids{0}, Ids{0}, Ids{0}}};
  Ids machines{0}, binaries{0}, locations{0};

  Ids& operator[](Column column) { return ids[column]; }
  const Ids& operator[](Column column) const { return ids[column]; }
};

// What is selected in the union, as a filter of the block's rows, and what made it (IdSelection). Costs a flag for
// each entry of the columns that are selected.
RowFilter translate(const RowFilter& filter, const Translation& translation);

// The same aggregation over the block's rows: its groups are the union's. IDs that are groups of their own get a table of the union's IDs.
AggregateRequest translate(const AggregateRequest& request, const Translation& translation);

Row translate(const Row& row, const Translation& translation);

// Whether it has rows of an event that was renamed since (proto/event_names.h): the names of a union are the current ones.
bool has_renamed_rows(const Dictionaries& block);

// Equal entries of different blocks are one, and events are called as they are now; origins are all different. Grows
// only, as the dictionaries do that it is made of. One thread.
class DictionaryUnion {
 public:
  // A block that is in it.
  struct Member {
    Translation translation;
    size_t origin_events = 0;  // of its, that have been added
    size_t origin_squares = 0;
  };

  // Adds what is new in a block since `member` was last given here. About 100 ns for each entry. kConflict where an event has another
  // meaning than in another block.
  Status add(const Dictionaries& block, Member& member);

  const Dictionaries& entries() const { return index_.entries(); }
  // Of stacks, which are nearly all that there is; without those of the members.
  uint64_t stack_bytes() const { return index_.stack_bytes(); }

 private:
  void add_origins(const Dictionaries& block, Member& member);
  void add_events_of(uint32_t origin, const AppendOnlyList<OriginEventEntry>& events, size_t& next,
                     const Translation& translation);

  DictionaryIndex index_;
};

}  // namespace plimsoll::store
