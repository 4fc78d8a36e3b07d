// The files of a leased build on a worker's disk, in a folder of their own that is laid out by build ID as the search for symbols expects it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <stop_token>
#include <string>

#include "base/result.h"
#include "proto/symbolizer.pb.h"
#include "symbolizer/remote/lease_client.h"

namespace plimsoll::symbolizer {

// The bytes that files of all jobs may take. Any thread.
class WorkerRoom {
 public:
  explicit WorkerRoom(uint64_t max_bytes) : max_bytes_(max_bytes) {}

  uint64_t max_bytes() const { return max_bytes_; }
  // Waits until there is room. False: it is to stop.
  bool take(uint64_t bytes, const std::stop_token& stop);
  void give_back(uint64_t bytes);

 private:
  const uint64_t max_bytes_;
  std::mutex mutex_;
  std::condition_variable_any freed_;
  uint64_t taken_ = 0;  // guarded by mutex_
};

// One build's. Removed with this.
class LeasedFiles {
 public:
  // Makes the folder, which must not be there.
  static Result<LeasedFiles> create(std::string folder);
  LeasedFiles(LeasedFiles&& other) noexcept : folder_(std::exchange(other.folder_, {})) {}
  LeasedFiles& operator=(LeasedFiles&&) = delete;
  LeasedFiles(const LeasedFiles&) = delete;
  LeasedFiles& operator=(const LeasedFiles&) = delete;
  ~LeasedFiles();

  // All files of the lease. A transfer that is cut goes on where it ended, a few times. Errors: kCorrupt for content with another hash, and those of the
  // client.
  Status fetch(const wire::LeasedBinary& binary, LeaseClient& client, const std::stop_token& stop);

  // For SymbolRoots::debug_folders.
  const std::string& folder() const { return folder_; }

 private:
  explicit LeasedFiles(std::string folder) : folder_(std::move(folder)) {}
  Status fetch_file(const wire::LeasedBinary& binary, const wire::LeasedBinary::File& file,
                    LeaseClient& client, const std::stop_token& stop) const;

  std::string folder_;  // empty: it was moved from
};

}  // namespace plimsoll::symbolizer
