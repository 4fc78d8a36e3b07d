// Sums by stack and labels, in memory of a fixed size.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "appprof/unwind.h"

namespace plimsoll::appprof {

// Any thread and any signal handler may add: no lock, no allocation, no loop that waits for another thread, so that a thread that
// was stopped or forked away in the middle holds up no other. What finds no place is summed as overflow.
//
// A site is known by a hash of 64 bits of its stack and labels. The thread that takes a place writes the stack there; others add
// to the sums before it is there, and readers leave a site out until it is. Two of 4096 sites have the same hash once in 2 * 10^12
// programs.
class SiteTable {
 public:
  static constexpr size_t kCapacity = 4096;  // a power of two
  static constexpr uint64_t kOne = 1 << 16;  // counts are kept in parts of 1/65536

  struct Sums {
    uint64_t count = 0;  // in units of 1 / kOne
    uint64_t amount = 0;
  };

  constexpr SiteTable() = default;
  SiteTable(const SiteTable&) = delete;
  SiteTable& operator=(const SiteTable&) = delete;

  // Maps memory, 2 MiB of addresses; false: there is none. What is not allocated takes nothing, and counts as overflow.
  bool allocate() noexcept;

  // Empties it, in one system call. Only where no other thread can add: in a child that has just been forked.
  void clear_in_child() noexcept;

  void add(std::span<const uintptr_t> frames, uint32_t labels, double count, double amount) noexcept;

  // visit(frames, labels, sums). Sums of a site may be a sample apart while threads add.
  template <typename Visit>
  void for_each(Visit visit) const {
    const Site* sites = sites_.load(std::memory_order_acquire);
    for (size_t i = 0; sites != nullptr && i < kCapacity; ++i) {
      const Site& site = sites[i];
      if (site.is_ready.load(std::memory_order_acquire)) {
        visit(std::span<const uintptr_t>(site.frames, site.depth), site.labels, sums_of(site));
      }
    }
  }

  Sums overflow() const noexcept;

 private:
  struct Site {
    std::atomic<uint64_t> hash;  // 0: free
    std::atomic<bool> is_ready;
    uint32_t depth;
    uint32_t labels;
    std::atomic<uint64_t> count;
    std::atomic<uint64_t> amount;
    uintptr_t frames[kMaxFrames];
  };

  static Sums sums_of(const Site& site) noexcept {
    return {site.count.load(std::memory_order_relaxed), site.amount.load(std::memory_order_relaxed)};
  }

  std::atomic<Site*> sites_{nullptr};
  std::atomic<uint64_t> overflow_count_{0};
  std::atomic<uint64_t> overflow_amount_{0};
};

// FNV-1a, never 0.
uint64_t hash_of_words(std::span<const uintptr_t> words, uint64_t more) noexcept;

}  // namespace plimsoll::appprof
