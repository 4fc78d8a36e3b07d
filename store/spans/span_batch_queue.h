// Group commit: batches of spans that arrive while others are being stored share the next transaction, and so its fsync.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <span>
#include <vector>

#include "base/result.h"
#include "store/door/spans.h"

namespace plimsoll::store {

struct SpanGroupLimits {
  // A group takes what waits, in the order in which it came, up to so many spans; at least what came first.
  uint64_t max_group_spans = 65'536;
  // Of all that waits behind the group that is being stored. One call that is larger than that waits if it is alone.
  uint64_t max_waiting_spans = 1'000'000;
  size_t max_waiting_calls = 512;
};

// Threads that want to store something queue up. The one at the head stores for itself and for others behind it, while the next ones gather.
// No call waits for another: one that comes alone is stored at once.
class SpanBatchQueue {
 public:
  // Stores a group in one transaction, all of it or nothing. What was kept of each batch, in their order; a failure is that of all of them.
  using Commit = std::function<Result<std::vector<SpansKept>>(std::span<const SpanBatch> group)>;

  explicit SpanBatchQueue(const SpanGroupLimits& limits) : limits_(limits) {}
  SpanBatchQueue(const SpanBatchQueue&) = delete;
  SpanBatchQueue& operator=(const SpanBatchQueue&) = delete;

  // Any thread; returns once the batches are stored, or that has failed. `commit` is called by at most one thread at a time, perhaps by another
  // than this one. All callers give one that does the same. kUnavailable where too much waits already.
  Result<SpansKept> add(std::span<const SpanBatch> batches, const Commit& commit);

  // Calls behind the group that is being stored.
  size_t waiting_calls() const;

 private:
  struct Call;
  class Turn;

  std::list<Call*> take_group() noexcept;

  const SpanGroupLimits limits_;
  mutable std::mutex mutex_;
  std::condition_variable turn_ended_;
  // Protected by mutex_:
  // Of threads that are in add(). A list, which gives up its head without memory: a call that was lost then would wait for ever.
  std::list<Call*> waiting_;
  uint64_t waiting_spans_ = 0;
  bool is_committing_ = false;
};

}  // namespace plimsoll::store
