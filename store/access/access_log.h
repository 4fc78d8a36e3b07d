// Who has asked for what.
#pragma once

#include <cstdint>
#include <string>

namespace plimsoll::store {

// Requests that differ in nothing but when they came.
struct AskedFor {
  int64_t first_ns = 0;
  int64_t last_ns = 0;
  std::string caller;
  std::string host;     // the address that they came from, without a port
  std::string request;  // "GET /api/v1/top?by=job"
  unsigned status = 0;  // of the answer
  uint64_t count = 0;
};

// All that one caller has asked for, as far as it is kept.
struct CallerUse {
  std::string caller;
  int64_t first_ns = 0;
  int64_t last_ns = 0;
  uint64_t count = 0;
  uint64_t refused = 0;  // of those: status 400 to 499
};

}  // namespace plimsoll::store
