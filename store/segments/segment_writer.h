// The bytes of a segment file, chunk by chunk.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "store/segments/segment.h"

namespace plimsoll::store {

// Takes rows in the order of a RowOrder and without two of the same key; keeps the encoded chunks and one chunk of rows in memory.
class SegmentWriter {
 public:
  void add(const Row& row);

  uint64_t rows() const { return row_count_; }

  // The file; then the writer must not be used again.
  std::string finish();

 private:
  void encode_chunk();

  std::vector<Row> rows_;   // of the chunk that is being filled
  uint64_t row_count_ = 0;  // of all chunks
  SegmentFileWriter file_{Segment::kSchema};
};

// A file of rows in any order. Those of one key are one row of it, and those without hits none.
struct EncodedRows {
  std::string content;
  uint64_t rows = 0;  // that it has
};
EncodedRows encode_rows(std::vector<Row> rows, const RowOrder& order);

}  // namespace plimsoll::store
