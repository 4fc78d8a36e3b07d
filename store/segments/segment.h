// A segment: an immutable, sorted, column-wise file of rows. docs/store-format.md describes its bytes.
//
// A chunk of rows is a sparse matrix: its groups (all columns but the stack) by its stacks, with hits where a group was seen on a
// stack. The groups and their sums of hits stand before the matrix, so that a question without stacks reads a tenth of
// the bytes; the matrix is stored stack by stack, because one stack's hits in all groups resemble each other more than one
// group's on all stacks, and because their sum stays in a register.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/model/row.h"
#include "store/segments/packed_column.h"
#include "store/segments/row_order.h"
#include "store/segments/segment_file.h"

namespace plimsoll::store {

inline constexpr size_t kChunkRows = 65'536;

// The bytes of a segment file. Sorts the rows, and sums the hits of rows with equal keys; without hits there is no row. Takes about
// 100 ns a row, and twice the rows' memory.
std::string encode_segment(std::vector<Row> rows, const RowOrder& order = {});

// By column; each contains the IDs of that column.
using ChunkZones = ByColumn<Zone>;

// The groups of a chunk, in the order of their rows. Vectors may be longer than `size`.
struct ChunkGroups {
  size_t size = 0;
  ByColumn<std::vector<uint32_t>> ids;  // of the columns of groups
  std::vector<double> hits;             // of all of a group's rows here

  const std::vector<uint32_t>& operator[](Column column) const { return ids[column]; }
};

// Which columns of a chunk's groups are wanted, beside the hits.
using GroupColumns = ByColumn<bool>;
inline constexpr GroupColumns kAllGroupColumns{{true, true, true, true, true, false}};

// The matrix of a chunk. Where rows are few for the stacks they are on, each stands for itself; otherwise they stand stack by
// stack: first the groups that were seen there once, then the others with their hits, each by ascending number.
template <typename Hits>
struct ChunkMatrix {
  bool is_by_stack = false;
  size_t size = 0;              // stacks, or rows
  std::vector<uint32_t> stack;  // by stack, or by row
  // By stack:
  std::vector<uint32_t> singles;    // how many groups with one hit
  std::vector<uint32_t> multiples;  // how many with more
  std::vector<uint32_t> first;      // first group of each run of singles or multiples that is not empty
  std::vector<uint32_t> gap;  // between each other group of a run and the one before: how many are skipped
  std::vector<Hits> hits;     // of each of the multiples
  // By row: `hits` too, and
  std::vector<uint32_t> group;
};

// What of a matrix is wanted.
enum class MatrixParts {
  kAll,
  kHits,  // but which groups: `first` and `gap`, or `group`, are left as they are
};

// Rows of profiles in a segment file. What of a chunk is read is checked when it is first read: its checksum, and that its numbers fit
// together. Any thread may read.
class Segment {
 public:
  static constexpr SegmentSchema kSchema{
      .id = 1, .columns = kColumns.size(), .parts = 2, .counts = 4, .part_names = {"groups", "matrix"}};

  // Of version 3 too, which had no labels.
  static Result<Segment> open(const std::string& path);
  // One of version 2, which is laid out as version 3, and whose rows are in order of their IDs: to convert it. kUnsupported where it is
  // of another version.
  static Result<Segment> open_version_2(const std::string& path);

  const std::string& path() const { return file_.path(); }
  // What a read has found; empty: nothing so far.
  std::string damage() const { return file_.damage(); }
  bool is_damaged() const { return file_.is_damaged(); }
  uint64_t rows() const { return file_.rows(); }
  uint64_t size_bytes() const { return file_.size_bytes(); }
  size_t chunks() const { return zones_.size(); }
  size_t rows_in_chunk(size_t chunk) const { return file_.chunks()[chunk].rows; }
  const ChunkZones& zones(size_t chunk) const { return zones_[chunk]; }
  // Of the groups, and of groups and matrix.
  size_t group_bytes(size_t chunk) const { return file_.chunks()[chunk].parts[kGroups].size_bytes; }
  size_t chunk_bytes(size_t chunk) const { return file_.chunks()[chunk].size_bytes(); }

  // All IDs lie within the chunk's zones, all groups of the matrix within the groups. What the vectors held is replaced, or, of
  // columns that are not wanted, left to be anything.
  Status read_groups(size_t chunk, ChunkGroups& groups, GroupColumns wanted = kAllGroupColumns) const;
  Status read_matrix(size_t chunk, ChunkMatrix<double>& matrix) const;
  Status read_matrix(size_t chunk, ChunkMatrix<uint64_t>& matrix,
                     MatrixParts parts = MatrixParts::kAll) const;

 private:
  friend class SegmentWriter;

  // Of the schema.
  enum Part : uint8_t { kGroups, kMatrix };
  enum Count : uint8_t {
    kGroupCount,
    kStackCount,     // 0: row by row
    kRunCount,       // of singles and of multiples, that are not empty
    kMultipleCount,  // rows
  };

  static Result<Segment> open(const std::string& path, std::span<const SegmentFile::OldVersion> old_versions);
  std::span<const Column> columns_of_groups() const;
  template <typename Hits>
  Status read_any_matrix(size_t chunk, ChunkMatrix<Hits>& matrix, MatrixParts parts) const;

  SegmentFile file_;
  std::vector<ChunkZones> zones_;  // by chunk
};

}  // namespace plimsoll::store
