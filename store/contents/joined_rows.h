// The rows of several blocks as one source.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "store/aggregation/local_rows.h"
#include "store/joined/dictionary_union.h"
#include "store/joined/part_rows.h"
#include "store/model/aggregation.h"

namespace plimsoll::store {

// Immutable. IDs are those of a union of the blocks' dictionaries.
class JoinedRows : public RowSource {
 public:
  struct Part {
    std::shared_ptr<const LocalRows> rows;
    Translation translation;
  };

  // `last_ids`: the largest of the union. `threads`: 0: as many as there are CPUs and rows for.
  JoinedRows(std::vector<Part> parts, const ByColumn<uint32_t>& last_ids, unsigned threads = 0)
      : parts_(std::move(parts)), last_ids_(last_ids), threads_(threads) {}

  // As LocalRows does it, the blocks shared out between its threads; blocks without a selected row cost a flag for each entry of theirs that
  // a filter asks for. Memory: as for one block, and for each thread the translation of the request for its block at hand.
  Result<Cells> aggregate(const AggregateRequest& request) const override;
  std::unique_ptr<RowCursor> scan(RowFilter filter) const override;
  std::vector<DamagedPart> damage() const override;

 private:
  std::vector<Part> parts_;
  ByColumn<uint32_t> last_ids_;
  unsigned threads_;
};

// Of parts whose rows are LocalRows (JoinParts).
std::shared_ptr<const RowSource> join_local_rows(std::vector<PartRows> parts,
                                                 const ByColumn<uint32_t>& last_ids);

}  // namespace plimsoll::store
