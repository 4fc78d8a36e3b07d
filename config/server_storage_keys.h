// Tables of the server's configuration for what it keeps: where rows are, how long data stays, the copy in an object store, and request traces.
#pragma once

#include <cstdint>
#include <vector>

#include "base/time.h"
#include "config/server_config.h"
#include "config/settings.h"

namespace plimsoll::config {

// The largest value of a key that says how long something is kept.
inline constexpr int64_t kLongestAgeNs = int64_t{20} * 365 * 24 * kNsPerHour;

// The keys of the table that the function is named after, in the order of the file. They point into `config`.
std::vector<Key> store_keys(ServerConfig& config);
std::vector<Key> retention_keys(ServerConfig& config);
std::vector<Key> objects_keys(ServerConfig& config);
std::vector<Key> traces_keys(ServerConfig& config);

}  // namespace plimsoll::config
