// Rows that a data directory keeps in a database of another program, for the process that writes it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "store/door/sink.h"
#include "store/door/symbols.h"

namespace plimsoll::store {

// How much history is kept.
struct RowStoreLimits {
  int64_t max_age_ns = INT64_MAX;  // of the latest window of an epoch
  uint64_t max_bytes = UINT64_MAX;
};

struct DroppedRows {
  uint64_t epochs = 0;
  uint64_t bytes = 0;
};

// A profile that has rows.
struct KnownProfile {
  std::string id;        // 16 bytes
  int64_t sequence = 0;  // of the archive
  int64_t to_ns = 0;     // end of its window, by its machine's clock
};

class RowStore {
 public:
  RowStore() = default;
  RowStore(const RowStore&) = delete;
  RowStore& operator=(const RowStore&) = delete;
  virtual ~RowStore() = default;

  // As people write it; without a password.
  virtual std::string address() const = 0;

  virtual Sink& sink() = 0;

  // It may outlive this.
  virtual std::unique_ptr<Symbols> symbols() = 0;

  // Hands over the profiles with rows that have these numbers in the archive, both included, in their order and in parts; without those that were
  // set aside or summed into hours. The first failure of `use` ends it. Any thread.
  using UseProfiles = std::function<Status(std::span<const KnownProfile> profiles)>;
  virtual Status for_each_profile(int64_t first, int64_t last, const UseProfiles& use) = 0;

  // Drops the oldest epochs that are over a limit, but not the newest one, and what is left of earlier ones that were not dropped completely. Any
  // thread; one at a time. Ages are measured by the clock, but no further than a day after the batch that was written last.
  virtual Result<DroppedRows> drop_old(const RowStoreLimits& limits) = 0;
};

}  // namespace plimsoll::store
