// Writes gperftools' symbolized CPU profile, the only form of ours that Debian's google-pprof (in Perl) reads.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"

namespace plimsoll::formats {

// Collects stacks of names. The format knows addresses and one name for each: every distinct name gets an address of its
// own, so that inlined functions are frames like others. One thread; memory: up to three times the profile, of 8 bytes a frame.
class GperftoolsWriter {
 public:
  // kTooLarge is for profiles over `max_bytes`.
  explicit GperftoolsWriter(uint64_t max_bytes) : max_bytes_(max_bytes) {}

  // Names leaf first. Samples of more than 65,536 frames, which the reader refuses, lose their outermost. Or kTooLarge.
  Status add_sample(std::span<const std::string_view> names, uint64_t count);

  // `binary` stands in the header, for people. Counts are in the event's own unit; the period says 1.
  std::string finish(std::string_view binary);

 private:
  uint64_t address(std::string_view name);

  uint64_t max_bytes_;
  uint64_t bytes_ = 0;
  std::unordered_map<std::string, uint64_t> addresses_;
  std::vector<std::string> names_;  // in the order of their addresses
  std::vector<uint64_t> words_;
};

}  // namespace plimsoll::formats
