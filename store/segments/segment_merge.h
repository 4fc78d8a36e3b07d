// Several segments into one.
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/segments/segment_writer.h"
#include "store/segments/sorted_rows.h"

namespace plimsoll::store {

struct MergedSegment {
  uint64_t rows = 0;
  std::string content;  // of the file
};

// Rows of equal keys become one, with the sum of their hits. Borrows the order, which knows all workloads of the inputs. Memory: a
// chunk of each input (5 MiB) and what is made. About 100 ns a row. One thread.
class SegmentMerge {
 public:
  SegmentMerge(const std::vector<std::shared_ptr<const Segment>>& inputs, const RowOrder& order);

  // Once. Gives up once `stop` is requested: then there is nothing of use.
  Result<MergedSegment> run(const std::stop_token& stop);

  // Where run() failed: which input is to blame.
  size_t failed_input() const { return failed_input_; }

 private:
  Status advance(size_t input);
  Status write_run(size_t input, const SortedRows* next);
  void add(const Row& row);

  const RowOrder& order_;
  std::vector<SortedRows> inputs_;
  size_t failed_input_ = 0;
  Row sum_;  // of the rows of one key, until another comes; no hits: there is none
  SegmentWriter writer_;
};

}  // namespace plimsoll::store
