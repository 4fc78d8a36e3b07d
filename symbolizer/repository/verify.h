// Reading the repository of binaries again, for damage.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace plimsoll::symbolizer {

struct DamagedBinary {
  std::string path;
  std::string why;
};

struct VerifiedBinaries {
  uint64_t builds = 0;
  uint64_t files = 0;
  uint64_t bytes = 0;
  std::vector<DamagedBinary> damaged = {};
};

// Reads every record and every kept file: its build ID, its kind and its content are those that its record has. Changes nothing; may run beside the process that
// writes. `progress` is told after each build how many bytes of how many were read.
Result<VerifiedBinaries> verify_binaries(
    std::string_view data_dir, const std::function<void(uint64_t bytes, uint64_t all_bytes)>& progress);

}  // namespace plimsoll::symbolizer
