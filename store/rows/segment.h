// A segment: an immutable, sorted, column-wise file of rows. docs/store-format.md describes its bytes.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "store/rows/row.h"

namespace plimsoll::store {

enum class Column { kEvent, kWorkload, kStack, kThread, kOrigin, kHits };
inline constexpr size_t kColumns = 6;
inline constexpr size_t kBlockRows = 65'536;

// The bytes of a segment file. Sorts the rows, and sums the hits of rows with equal keys.
std::string encode_segment(std::vector<Row> rows);

// A mapped segment file. Checks the directory when opened and a block's checksum each time the block is read, so that
// damage is found where it matters and named. Any thread may read.
class Segment {
 public:
  static Result<Segment> open(const std::string& path);

  uint64_t rows() const { return rows_; }
  size_t blocks() const { return directory_.size() / kColumns; }
  size_t rows_in_block(size_t block) const;

  // Smallest and largest value of a column in a block, without reading it.
  struct Zone {
    uint64_t min;
    uint64_t max;
  };
  Zone zone(size_t block, Column column) const;

  // Decodes a column of a block; `values` is resized to rows_in_block().
  Status read(size_t block, Column column, std::vector<uint64_t>& values) const;

 private:
  struct BlockEntry {
    uint64_t min;
    uint64_t max;
    uint64_t offset;
    uint64_t size_bytes;
    uint64_t checksum;
  };
  friend std::string encode_segment(std::vector<Row> rows);

  const BlockEntry& entry(size_t block, Column column) const {
    return directory_[block * kColumns + static_cast<size_t>(column)];
  }

  std::string path_;
  MappedFile file_;
  uint64_t rows_ = 0;
  std::vector<BlockEntry> directory_;  // block-major
};

}  // namespace plimsoll::store
