// The table `samples` of `plimsoll sql`: a row for each stored row (profile, event, who, thread, stack), with all dimensions as
// columns.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "query/snapshot/dimension.h"
#include "query/snapshot/snapshot.h"
#include "sqlite/question/virtual_table.h"
#include "store/model/aggregation.h"

namespace plimsoll::query {

// Columns:
//   event, unit              as the views call them
//   every dimension          of frames: that of the leaf, the innermost inlined one
//   labels                   all of them, as a JSON object
//   from_time, to_time       the profile's window, RFC 3339 in UTC, down to the second
//   from_ns, to_ns           the same in nanoseconds since 1970
//   hits, value, samples     value: in the event's unit, weighted as the views weight it; samples: behind the hits
// Comparisons with any but the last three are decided once for each dictionary entry, and chunks without a row that passes are not
// read. A text is made once for each dictionary entry that the statement gets to see; whole stacks are made row by row.
// Borrows both. One thread.
class SamplesTable : public sqlite::VirtualTable {
 public:
  // `factors`: the measures of resolve_all().
  SamplesTable(const Snapshot& snapshot, const std::vector<store::Factors>& factors);

  const std::vector<sqlite::Column>& columns() const override { return columns_; }
  double estimated_rows() const override;
  Result<std::unique_ptr<sqlite::VirtualCursor>> scan(const std::vector<sqlite::Constraint>& constraints,
                                                      const StopCheck& check) override;

 private:
  class Cursor;
  // Which dictionary decides a column's value.
  enum class Key { kEvent, kOrigin, kWorkload, kThread, kLabels, kLeaf, kStack, kRow };
  struct Texts {
    std::vector<std::string> by_id;  // never moved once it is there
    std::vector<bool> is_made;
  };

  static Key key_of(DimensionSource source);
  static Column column_of(Key key);
  void add_column(std::string_view name, std::string_view meaning, sqlite::ColumnType type, Key key);
  size_t entries(Key key) const;
  uint32_t id_of(Key key, const store::Row& row) const;
  bool is_known(const store::Row& row) const;
  // The row's key, which no other has, where its IDs fit into 64 bits; else a hash of it.
  int64_t row_id(const store::Row& row) const;
  std::string text(size_t column, uint32_t id) const;
  std::string dimension_text(std::string_view name, uint32_t id) const;
  int64_t integer(size_t column, uint32_t origin) const;
  double factor(size_t measure, const store::Row& row) const;
  Result<std::vector<bool>> passing(const sqlite::Constraint& constraint, const StopCheck& check) const;
  void narrow(Key key, const std::vector<bool>& passing, store::RowFilter& filter) const;
  std::string_view lasting_text(size_t column, uint32_t id);
  void value(size_t column, const store::Row& row, sqlite::ColumnResult& result);

  const Snapshot& snapshot_;
  const std::vector<store::Factors>& factors_;
  std::vector<sqlite::Column> columns_;
  std::vector<Key> keys_;     // by column
  std::vector<Texts> texts_;  // likewise
  uint32_t last_stack_ = 0;
  std::string last_stack_text_;
};

}  // namespace plimsoll::query
