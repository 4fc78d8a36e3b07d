#include "appprof/burst_ring.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "appprof/mapped_once.h"
#include "appprof/profile.h"
#include "appprof/thread_state.h"

namespace plimsoll::appprof {
namespace {

template <size_t kMax>
uint8_t copy_cut(const char* text, std::array<char, kMax>& to) noexcept {
  if (text == nullptr) {
    return 0;
  }
  size_t size = ::strnlen(text, kMax + 1);
  if (size > kMax) {
    size = kMax;
    // Of UTF-8, the first byte of a character is none of 10xxxxxx.
    while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xC0U) == 0x80U) {
      --size;
    }
  }
  std::memcpy(to.data(), text, size);
  return static_cast<uint8_t>(size);
}

template <typename Number>
void append_number(std::string& bytes, Number number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
}

}  // namespace

BurstRecord burst_record(BurstEventKind kind, const char* text, const char* peer, uint64_t number) noexcept {
  BurstRecord record;
  record.time_ns = monotonic_ns();
  record.request = t_state.request;
  record.number = number;
  // Not the number that the thread keeps: without a start, nothing corrects that in a forked child.
  record.thread = static_cast<uint32_t>(::gettid());
  record.kind = static_cast<uint8_t>(kind);
  record.text_size = copy_cut(text, record.text);
  record.peer_size = copy_cut(peer, record.peer);
  return record;
}

uint64_t BurstRing::put(BurstRecord record) noexcept {
  const uint64_t sequence = newest_.fetch_add(1, std::memory_order_acq_rel) + 1;
  if (!map_once(places_, kPlaces)) {
    return sequence;
  }
  const auto kind = static_cast<BurstEventKind>(record.kind);
  if (kind == BurstEventKind::kRpcIn || kind == BurstEventKind::kRpcOut) {
    record.call = sequence;
  }
  Place& place = places_.load(std::memory_order_acquire)[(sequence - 1) % kPlaces];
  uint64_t before = place.state.load(std::memory_order_relaxed);
  const bool is_taken = before % 2 != 0 || before > 2 * sequence;
  if (is_taken || !place.state.compare_exchange_strong(before, 2 * sequence - 1, std::memory_order_acq_rel)) {
    return sequence;
  }
  // Each release and acquire, in place of fences, which ThreadSanitizer does not know: who reads a new word finds the new state, too.
  const auto words = std::bit_cast<std::array<uint64_t, kWords>>(record);
  for (size_t i = 0; i < kWords; ++i) {
    place.words[i].store(words[i], std::memory_order_release);
  }
  place.state.store(2 * sequence, std::memory_order_release);
  return sequence;
}

BurstRing::Taken BurstRing::take_after(uint64_t sequence) const {
  Taken taken;
  taken.next = newest_.load(std::memory_order_acquire);
  const uint64_t after = std::max(sequence, before_fork_.load(std::memory_order_acquire));
  if (after >= taken.next) {
    return taken;
  }
  const Place* const places = places_.load(std::memory_order_acquire);
  const uint64_t oldest = taken.next > kPlaces ? taken.next - kPlaces : 0;
  for (uint64_t one = std::max(after, oldest) + 1; places != nullptr && one <= taken.next; ++one) {
    const Place& place = places[(one - 1) % kPlaces];
    if (place.state.load(std::memory_order_acquire) != 2 * one) {
      continue;
    }
    std::array<uint64_t, kWords> words{};
    for (size_t i = 0; i < kWords; ++i) {
      words[i] = place.words[i].load(std::memory_order_acquire);
    }
    if (place.state.load(std::memory_order_acquire) == 2 * one) {
      taken.records.push_back(std::bit_cast<BurstRecord>(words));
    }
  }
  taken.lost = taken.next - after - taken.records.size();
  return taken;
}

void BurstRing::clear_in_child() noexcept {
  before_fork_.store(newest_.load(std::memory_order_acquire), std::memory_order_release);
  // A place that another thread was writing would stay taken for good.
  if (Place* const places = places_.load(std::memory_order_acquire); places != nullptr) {
    ::madvise(static_cast<void*>(places), kPlaces * sizeof(Place), MADV_DONTNEED);
  }
}

std::string write_burst_records(const BurstRing::Taken& taken) {
  std::string bytes = "PLIMAEV1";
  bytes.reserve(bytes.size() + 24 + taken.records.size() * sizeof(BurstRecord));
  append_number(bytes, taken.next);
  append_number(bytes, taken.lost);
  append_number(bytes, static_cast<uint32_t>(taken.records.size()));
  append_number(bytes, static_cast<uint32_t>(sizeof(BurstRecord)));
  for (const BurstRecord& record : taken.records) {
    bytes.append(reinterpret_cast<const char*>(&record), sizeof record);
  }
  return bytes;
}

}  // namespace plimsoll::appprof
