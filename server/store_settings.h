// From the server's configuration to the limits of its store.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "config/server_config.h"
#include "objects/object_store.h"
#include "store/ingest.h"
#include "store/retention/retention_limits.h"

namespace plimsoll::server {

// All of them, where the configuration leaves sizes to the disk that `data_dir` is on, or will be. kInvalid where no store would fit.
Result<store::RetentionLimits> retention_limits(const config::ServerConfig& config,
                                                const std::string& data_dir);

// Without an address where the configuration names none. Paths of files are absolute: the data directory keeps them, for processes that are
// started elsewhere.
store::RowsAddress rows_address(const config::ServerConfig& config);

store::IngestOptions ingest_options(const config::ServerConfig& config, const store::RetentionLimits& limits);

// Free bytes of the disk that the data directory is on. What these two return may be called from any thread.
std::function<Result<int64_t>()> free_bytes(const config::ServerConfig& config);

// Without an address where the configuration names none.
objects::StoreAddress object_store_address(const config::ServerConfig& config);

// Fails where objects.address is a folder in the data directory, which would be lost with it.
Status check_object_folder(const config::ServerConfig& config);

// Whether objects.address is a folder on the disk of the data directory; false where that cannot be told.
bool is_object_folder_on_data_disk(const config::ServerConfig& config);

// Fails where the disk has no room for so many bytes besides those that stay free.
std::function<Status(uint64_t bytes)> room_check(const config::ServerConfig& config);

}  // namespace plimsoll::server
