// The rows of another server's data directory, which are in ClickHouse, for a process that answers questions beside it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "store/door/source.h"
#include "store/identity/directory_identity.h"

namespace plimsoll::store {

// Any thread. What it knows of rows stays while copies of the fleet come and go.
class FollowedRows : public Source {
 public:
  // Keeps in `folder`, which must be there, whose rows they are.
  explicit FollowedRows(std::string folder, std::function<int64_t()> monotonic_ns = monotonic_now_ns);

  // The directory that the rows are of, and where they are by now. kConflict where it followed another directory before; kUnsupported where
  // rows are in the directory itself.
  Status settle(const DirectoryIdentity& identity);

  // Whether ClickHouse answers, and has rows of that directory. One short statement; with shards one more, and one for each.
  Status check() const;

  // kUnavailable until it is settled. kConflict where the rows are of another directory.
  Result<Contents> newest(const TimeSpans& times) override;
  void forget_dropped() override { source_->forget_dropped(); }
  std::vector<uint64_t> lineages() const override { return source_->lineages(); }

  // When rows were last read, by the monotonic clock: what a question has of rows is no newer. 0: never.
  int64_t last_read_ns() const { return last_read_ns_; }

 private:
  const std::string folder_;
  const std::function<int64_t()> monotonic_ns_;
  const std::unique_ptr<Source> source_;
  std::mutex settling_;
  std::atomic<uint64_t> settled_ = 1;  // goes up where settle() changes something
  std::atomic<uint64_t> checked_ = 0;  // of these, the one whose rows were found to be the directory's
  std::atomic<int64_t> last_read_ns_ = 0;
};

}  // namespace plimsoll::store
