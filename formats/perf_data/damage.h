// What of a recording could not be read, for those who import it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace plimsoll::perf_data {

// One thread. Memory: a few lines, however damaged the recording is.
class DamageLog {
 public:
  // Bytes of the file that were passed over, from `offset` on, and why.
  void add_stretch(uint64_t offset, uint64_t size_bytes, const std::string& why);
  // What is missing apart from records: names of events, build IDs.
  void add(std::string what);

  bool empty() const { return lines_.empty(); }
  uint64_t stretches() const { return stretches_; }

  // Where what was lost, in the order in which it was found, ten stretches at most; then the sum of all stretches, of which
  // `all_bytes` are the whole.
  std::vector<std::string> lines(uint64_t all_bytes) const;

 private:
  std::vector<std::string> lines_;
  uint64_t stretches_ = 0;
  uint64_t lost_bytes_ = 0;
};

}  // namespace plimsoll::perf_data
