// A segment: an immutable, sorted, column-wise file of rows. docs/store-format.md describes its bytes.
//
// A chunk of rows is a sparse matrix: its groups (event, workload, origin, thread) by its stacks, with hits where a group was
// seen on a stack. The groups and their sums of hits stand before the matrix, so that a question without stacks reads a tenth of
// the bytes; the matrix is stored stack by stack, because one stack's hits in all groups resemble each other more than one
// group's on all stacks, and because their sum stays in a register.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "store/rows/packed_column.h"
#include "store/rows/row.h"
#include "store/rows/row_order.h"

namespace plimsoll::store {

inline constexpr size_t kChunkRows = 65'536;
inline constexpr uint64_t kMaxSegmentBytes = uint64_t{1} << 40;

// The bytes of a segment file. Sorts the rows, and sums the hits of rows with equal keys; without hits there is no row. Takes about
// 100 ns a row, and twice the rows' memory.
std::string encode_segment(std::vector<Row> rows, const RowOrder& order = {});

// The file itself is at fault, and will be the next time.
bool is_damage(const Error& error);

// Smallest and largest ID of a column in a chunk.
struct Zone {
  uint32_t min = 0;
  uint32_t max = 0;

  bool contains(uint32_t id) const { return min <= id && id <= max; }
};

struct ChunkZones {
  Zone event;
  Zone workload;
  Zone origin;
  Zone thread;
  Zone stack;
};

// The groups of a chunk, in the order of their rows. Vectors may be longer than `size`.
struct ChunkGroups {
  size_t size = 0;
  std::vector<uint32_t> event, workload, origin, thread;
  std::vector<double> hits;  // of all of a group's rows here
};

// Which columns of a chunk's groups are wanted, beside the hits.
struct GroupColumns {
  bool event = true;
  bool workload = true;
  bool origin = true;
  bool thread = true;
};

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

// A mapped segment file. Its directory is checked when it is opened, a part of a chunk when it is first read (checksum, and
// that its numbers fit together), so that damage is found where it matters and named. What was damaged once stays so. Any thread may read.
class Segment {
 public:
  static Result<Segment> open(const std::string& path);
  // One of version 2, which is laid out alike, and whose rows are in order of their IDs: to convert it. kUnsupported where it is of
  // another version.
  static Result<Segment> open_version_2(const std::string& path);

  const std::string& path() const { return path_; }
  // What a read has found; empty: nothing so far.
  std::string damage() const;
  bool is_damaged() const { return state_->is_damaged; }
  uint64_t rows() const { return rows_; }
  uint64_t size_bytes() const { return file_.bytes().size(); }
  size_t chunks() const { return directory_.size(); }
  size_t rows_in_chunk(size_t chunk) const { return directory_[chunk].rows; }
  const ChunkZones& zones(size_t chunk) const { return directory_[chunk].zones; }
  // Of the groups, and of groups and matrix.
  size_t group_bytes(size_t chunk) const { return directory_[chunk].group_bytes; }
  size_t chunk_bytes(size_t chunk) const {
    return directory_[chunk].group_bytes + directory_[chunk].matrix_bytes;
  }

  // All IDs lie within the chunk's zones, all groups of the matrix within the groups. What the vectors held is replaced, or, of
  // columns that are not wanted, left to be anything.
  Status read_groups(size_t chunk, ChunkGroups& groups, GroupColumns wanted = {}) const;
  Status read_matrix(size_t chunk, ChunkMatrix<double>& matrix) const;
  Status read_matrix(size_t chunk, ChunkMatrix<uint64_t>& matrix,
                     MatrixParts parts = MatrixParts::kAll) const;

 private:
  friend class SegmentWriter;
  static Result<Segment> open(const std::string& path, uint32_t version);

  struct ChunkEntry {
    uint64_t offset;  // of the groups; the matrix follows
    uint32_t group_bytes;
    uint32_t matrix_bytes;
    uint64_t group_checksum;
    uint64_t matrix_checksum;
    uint32_t rows;
    uint32_t groups;
    uint32_t stacks;     // 0: row by row
    uint32_t runs;       // of singles and of multiples, that are not empty
    uint32_t multiples;  // rows
    uint32_t reserved;   // 0
    ChunkZones zones;
  };
  static_assert(sizeof(ChunkEntry) == 96, "as docs/store-format.md has it");

  template <typename Hits>
  Status read_any_matrix(size_t chunk, ChunkMatrix<Hits>& matrix, MatrixParts parts) const;
  Result<Bytes> part(size_t chunk, bool is_matrix) const;
  std::unexpected<Error> damaged(size_t chunk, std::string_view what) const;
  bool needs_check(size_t chunk, bool is_matrix) const;
  void set_checked(size_t chunk, bool is_matrix) const;

  std::string path_;
  MappedFile file_;
  uint64_t rows_ = 0;
  std::vector<ChunkEntry> directory_;
  // What reading has found out.
  struct State {
    std::unique_ptr<std::atomic<bool>[]> checked;  // by chunk: groups, matrix
    std::atomic<bool> is_damaged = false;
    std::mutex mutex;
    std::string damage;  // protected by mutex
  };
  std::unique_ptr<State> state_ = std::make_unique<State>();
};

}  // namespace plimsoll::store
