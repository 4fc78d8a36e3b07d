// Another server's machines and draws, by the newest copy of them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/fleet.h"
#include "store/replica/copied_directory.h"

namespace plimsoll::store {

// Copies that follow one another. Any thread.
class DirectoryFollower {
 public:
  DirectoryFollower() = default;
  DirectoryFollower(const DirectoryFollower&) = delete;
  DirectoryFollower& operator=(const DirectoryFollower&) = delete;
  virtual ~DirectoryFollower() = default;

  // Null: none has come yet.
  virtual std::shared_ptr<const CopiedDirectory> current() const = 0;
  // Fetches a copy, unless the current one has all that was committed by then (of the monotonic clock). kUnavailable where none can be had.
  virtual Status catch_up(int64_t since_ns) = 0;
};

// Each call sees one copy. Who asked for what is told of this process, by its own access.db.
//
// Rows are newer than the copy. A draw that has rows and is not in the copy may have been made since: its weights are asked for again before
// it counts as unknown, since a question that takes it for unknown gives its machines wrong weights, for as long as the rows are kept in
// memory. Where they cannot be had the question fails. For weights alone: what else is missing of such a draw comes with the next copy.
class CopiedFleet : public Fleet {
 public:
  // Borrows the follower. `rows_read_ns`: when rows were last read, by the monotonic clock.
  CopiedFleet(DirectoryFollower& follower, std::function<int64_t()> rows_read_ns, std::string access_path);

  Result<int64_t> count_machines() const override;
  Result<std::vector<LiveMachine>> machines() const override;
  Result<CurrentFleet> current() const override;
  Result<std::optional<PastFleet>> at(int64_t time_ns) const override;
  Result<std::optional<DrawWithMachines>> draw(std::string_view id) const override;
  Result<std::vector<DrawWithMachines>> newest_draws(size_t limit) const override;
  Result<int64_t> count_draws() const override;
  Result<std::vector<DrawnWeight>> drawn_weights(std::string_view draw) const override;
  Result<std::vector<Stop>> stops() const override;
  Result<std::vector<ExperimentDefinition>> experiments() const override;
  Result<std::vector<AskedFor>> newest_requests(size_t limit, int64_t since_ns) const override;
  Result<std::vector<CallerUse>> callers(size_t limit, int64_t since_ns) const override;

 private:
  DirectoryFollower& follower_;
  const std::function<int64_t()> rows_read_ns_;
  const std::string access_path_;
};

}  // namespace plimsoll::store
