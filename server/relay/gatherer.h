// Requests of daemons that wait for a connection to the primary.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <utility>
#include <vector>

#include "http/byte_budget.h"
#include "http/later_answer.h"
#include "proto/relay.pb.h"
#include "server/relay/relay_limits.h"

namespace plimsoll::server {

// Bytes of a budget, which gets them back when this is destroyed. Borrows the budget.
class HeldBytes {
 public:
  HeldBytes() = default;
  // They have been taken already.
  HeldBytes(http::ByteBudget& budget, size_t bytes) : budget_(&budget), bytes_(bytes) {}
  HeldBytes(HeldBytes&& other) noexcept
      : budget_(std::exchange(other.budget_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  HeldBytes& operator=(HeldBytes&& other) noexcept {
    std::swap(budget_, other.budget_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  HeldBytes(const HeldBytes&) = delete;
  HeldBytes& operator=(const HeldBytes&) = delete;
  ~HeldBytes() {
    if (budget_ != nullptr) {
      budget_->give_back(bytes_);
    }
  }

  size_t bytes() const { return bytes_; }

 private:
  http::ByteBudget* budget_ = nullptr;
  size_t bytes_ = 0;
};

// A request of a daemon, and whom the answer goes to.
struct RelayEntry {
  wire::Relayed request;
  http::LaterAnswer answer;
  HeldBytes held = {};  // as long as the entry lives, also while it is on its way
};

struct GatherLimits {
  size_t max_bytes =
      size_t{256} << 20;  // of those that wait, or are on their way; one that is larger has it alone
  size_t max_batch_entries = kMaxRelayedEntries;
  size_t max_batch_bytes = kMaxRelayedBytes;  // one that is larger is a batch by itself
};

// A batch is what has gathered while the connections were busy: nothing waits for more to come. Any thread may call. Outlives its entries.
class Gatherer {
 public:
  explicit Gatherer(const GatherLimits& limits) : limits_(limits), held_(limits.max_bytes) {}

  // Where there is no room, or after stop(), it is answered at once with 503 and a Retry-After.
  void add(RelayEntry entry);

  // The oldest, as many as make a batch, once there is one. Empty after `max_wait`, or stop().
  std::vector<RelayEntry> take(std::chrono::nanoseconds max_wait);

  // Those that wait are answered with 503. May be called again.
  void stop();
  bool is_stopped() const;

  size_t waiting() const;
  size_t held_bytes() const { return held_.used_bytes(); }

 private:
  const GatherLimits limits_;
  http::ByteBudget held_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<RelayEntry> waiting_;  // guarded by mutex_
  bool is_stopped_ = false;         // guarded by mutex_
};

}  // namespace plimsoll::server
