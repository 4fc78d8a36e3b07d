// Puts records in the order of their times. A recording holds the buffers of several CPUs, one after the other; each round
// of reading them ends with a record that says so (FINISHED_ROUND): nothing older than what the round before it held can
// come after that.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/byte_reader.h"
#include "base/result.h"

namespace plimsoll::perf_data {

// One thread. Memory: records of about two rounds, at most the bound; beyond it the older half is handed on.
class TimeOrder {
 public:
  struct Record {
    uint64_t time_ns = 0;
    uint64_t offset = 0;    // in the file
    uint64_t sequence = 0;  // in which records were added
    std::string bytes;
  };
  using Consume = std::function<Status(const Record&)>;

  TimeOrder(size_t max_bytes, Consume consume) : max_bytes_(max_bytes), consume_(std::move(consume)) {}

  // Records without a time (0) are handed on at once.
  Status add(uint64_t time_ns, uint64_t offset, Bytes bytes);
  Status finish_round();
  Status finish();

  // Records that came after younger ones had been handed on.
  uint64_t late() const { return late_; }

 private:
  // Hands on what is not younger than `time_ns`.
  Status hand_on(uint64_t time_ns);

  const size_t max_bytes_;
  const Consume consume_;
  std::vector<Record> waiting_;
  size_t waiting_bytes_ = 0;
  uint64_t newest_ns_ = 0;
  uint64_t newest_of_round_before_ns_ = 0;
  uint64_t handed_on_ns_ = 0;
  uint64_t late_ = 0;
  uint64_t added_ = 0;
};

}  // namespace plimsoll::perf_data
