// The contents of the same parts of a store, one state after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "store/door/source.h"
#include "store/joined/binding_union.h"
#include "store/joined/dictionary_union.h"
#include "store/joined/part_reader.h"
#include "store/joined/part_rows.h"
#include "store/model/aggregation.h"

namespace plimsoll::store {

// What is known of the parts together (Contents).
struct PartFacts {
  int64_t history_from_ns = INT64_MAX;
  int64_t history_to_ns = INT64_MIN;
  int64_t rolled_up_from_ns = INT64_MAX;
  int64_t rolled_up_to_ns = INT64_MIN;
  std::vector<DamagedPart> damaged_blocks = {};
};

// Reads what is new alone, and shares all that is the same. IDs are the part's where there is one that has no rows of
// an event by a former name, else those of a union that grows: then the entries of parts that are complete are in memory once,
// as the union has them. One thread at a time.
class PartSeries {
 public:
  using Readers = std::vector<std::shared_ptr<PartReader>>;

  // At least one part, in order. What a union of them takes is bounded by `max_bytes` and the entries of one part.
  PartSeries(const Readers& parts, JoinParts join, uint64_t max_bytes);

  // Whether these are the parts, or those before further ones.
  bool begins(const Readers& parts) const;
  // begins(parts): goes on with all of them.
  void extend_to(const Readers& parts);

  // The last ones where nothing has changed. kTooLarge where a union of the parts would take more than it may, from then on: it would take
  // seconds to find out again.
  Result<Contents> newest(const PartFacts& facts);

  // Of the union; 0 where there is none.
  uint64_t memory_bytes() const;

  // Of the contents that come next, unless something is read again from its beginning.
  uint64_t lineage() const { return last_.lineage; }

 private:
  struct Member {
    std::shared_ptr<PartReader> reader;
    std::optional<int64_t> version = {};  // nothing: it has not been read
    EntriesMark mark = {};                // of the entries that are in the contents
    int64_t reading = 0;
    std::shared_ptr<const RowSource> rows = {};
    DictionaryUnion::Member in_dictionaries = {};
    BindingUnion::Member in_bindings = {};
  };
  // Of several parts, and of one with rows of renamed events; of another one its own entries stand for it. Only ever
  // extended, so that copies are cheap.
  struct Union {
    DictionaryUnion dictionaries;
    BindingUnion bindings;
  };

  Result<bool> has_changed();
  bool has_contents() const { return last_.rows != nullptr; }
  bool has_union() const { return members_.size() > 1 || is_renamed_; }
  Status check_loading() const;
  Status read();
  Result<PartContents> read(Member& member) const;
  Status read_union();
  Status add_entries(Member& member, const PartContents& contents);
  Status check_memory(size_t parts_read);
  void add_names(size_t part, const PartContents& contents);
  void take_rows();
  // Begins another lineage.
  void forget();

  const JoinParts join_;
  const uint64_t max_bytes_;
  std::vector<Member> members_;
  std::optional<Error> too_large_;
  Union union_;
  bool is_renamed_ = false;  // the only part has rows of renamed events, and so needs a union
  Contents last_;            // without rows: none yet
};

}  // namespace plimsoll::store
