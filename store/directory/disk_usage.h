// How much room files take.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>

#include "base/result.h"

namespace plimsoll::store {

// Allocated to a file, or to a folder and all below it; 0 where there is none. Files may come and go meanwhile.
Result<int64_t> allocated_bytes(const std::string& path);

// By a file's attributes.
int64_t allocated_bytes_of(const struct stat& attributes);

// Free on the file system of a path, for users without privileges.
Result<int64_t> free_bytes(const std::string& path);

// kUnavailable where less than that is free, the minimum of retention.min_free_bytes. A disk that cannot be measured passes, and so does a
// minimum of 0.
Status expect_free_bytes(const std::string& path, int64_t min_bytes);

// Of that file system, used or free.
Result<int64_t> disk_bytes(const std::string& path);

}  // namespace plimsoll::store
