// What of a store cannot be read.
#pragma once

#include <cstdint>
#include <string>

namespace plimsoll::store {

struct DamagedPart {
  std::string path;
  uint64_t rows = 0;  // that are missing for it; 0: unknown
  // That they are of; everything where it is unknown.
  int64_t from_ns = INT64_MIN;
  int64_t to_ns = INT64_MAX;
  std::string why;  // names the file
};

}  // namespace plimsoll::store
