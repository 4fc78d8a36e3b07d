#include "appprof/site_table.h"

#include <sys/mman.h>

#include <algorithm>
#include <cmath>

#include "appprof/mapped_once.h"

namespace plimsoll::appprof {
namespace {

constexpr size_t kMaxProbes = 64;

}  // namespace

uint64_t hash_of_words(std::span<const uintptr_t> words, uint64_t more) noexcept {
  uint64_t hash = 0xCBF29CE484222325 ^ more;
  for (const uintptr_t word : words) {
    hash = (hash ^ word) * 0x100000001B3;
    hash ^= hash >> 29;
  }
  // The low bits choose the place.
  hash *= 0x9E3779B97F4A7C15;
  hash ^= hash >> 32;
  return hash == 0 ? 1 : hash;
}

bool SiteTable::allocate() noexcept {
  return map_once(sites_, kCapacity);  // zeroed memory is a free site
}

void SiteTable::clear_in_child() noexcept {
  if (Site* sites = sites_.load(std::memory_order_acquire)) {
    ::madvise(sites, kCapacity * sizeof(Site),
              MADV_DONTNEED);  // private memory without a file reads as zeros then
  }
  overflow_count_.store(0, std::memory_order_relaxed);
  overflow_amount_.store(0, std::memory_order_relaxed);
}

void SiteTable::add(std::span<const uintptr_t> frames, uint32_t labels, double count,
                    double amount) noexcept {
  const auto count_parts = static_cast<uint64_t>(std::llround(count * static_cast<double>(kOne)));
  const auto whole_amount = static_cast<uint64_t>(std::llround(amount));
  frames = frames.first(std::min(frames.size(), kMaxFrames));
  const uint64_t hash = hash_of_words(frames, labels);
  Site* sites = sites_.load(std::memory_order_acquire);
  for (size_t probe = 0; sites != nullptr && probe < kMaxProbes; ++probe) {
    Site& site = sites[(hash + probe) % kCapacity];
    uint64_t found = site.hash.load(std::memory_order_acquire);
    if (found == 0 && site.hash.compare_exchange_strong(found, hash, std::memory_order_acq_rel)) {
      std::ranges::copy(frames, site.frames);
      site.depth = static_cast<uint32_t>(frames.size());
      site.labels = labels;
      site.is_ready.store(true, std::memory_order_release);
      found = hash;
    }
    if (found == hash) {
      site.count.fetch_add(count_parts, std::memory_order_relaxed);
      site.amount.fetch_add(whole_amount, std::memory_order_relaxed);
      return;
    }
  }
  overflow_count_.fetch_add(count_parts, std::memory_order_relaxed);
  overflow_amount_.fetch_add(whole_amount, std::memory_order_relaxed);
}

SiteTable::Sums SiteTable::overflow() const noexcept {
  return {overflow_count_.load(std::memory_order_relaxed), overflow_amount_.load(std::memory_order_relaxed)};
}

}  // namespace plimsoll::appprof
