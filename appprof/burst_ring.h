// Events of bursts that the application tells of, until the daemon fetches them (docs/bursts.md). A ring of 1 MiB, which is mapped with
// the first event.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace plimsoll::appprof {

enum class BurstEventKind : uint8_t {
  kRpcIn = 1,   // a request of a peer has come: text the method, peer, number of bytes
  kRpcOut = 2,  // a request is sent to a peer, likewise
  kRpcEnd = 3,  // the answer is sent, or has come: `call` is that of the begin, number of bytes
  kAnnotation = 4,
  kPhase = 5,  // as the mark, with more of its name
};

// As it is handed to the daemon: 120 bytes without padding, little-endian.
struct BurstRecord {
  int64_t time_ns = 0;   // CLOCK_MONOTONIC
  uint64_t request = 0;  // that the thread works for; 0: none that it told of
  uint64_t number = 0;
  uint64_t call = 0;  // of the begin of an RPC its own sequence number
  uint32_t thread = 0;
  uint8_t kind = 0;
  uint8_t text_size = 0;
  uint8_t peer_size = 0;
  uint8_t reserved = 0;
  std::array<char, 48> text{};
  std::array<char, 32> peer{};
};
static_assert(sizeof(BurstRecord) == 120);

// Of this thread, now. Longer texts are cut before a character that does not fit. Null texts are empty.
BurstRecord burst_record(BurstEventKind kind, const char* text, const char* peer, uint64_t number) noexcept;

// Never destroyed. Takes no lock, waits for nobody: writers of two places do not know of each other, and who finds its place taken by a
// thread that still writes there, one round later, gives its event up. New events replace old ones.
class BurstRing {
 public:
  static constexpr size_t kPlaces = 8192;

  struct Taken {
    std::vector<BurstRecord> records;
    uint64_t next = 0;  // the newest sequence number: to be asked for next
    uint64_t lost = 0;  // events after `after` that are not among these
  };

  // Returns its sequence number, from 1. Any thread, signal handlers too; a cut by a fork delays no other.
  uint64_t put(BurstRecord record) noexcept;
  // Those after a sequence number, oldest first. Any thread.
  Taken take_after(uint64_t sequence) const;
  // In a forked child, whose parent hands over what is in the ring.
  void clear_in_child() noexcept;

 private:
  static constexpr size_t kWords = sizeof(BurstRecord) / sizeof(uint64_t);
  // `state` is twice the sequence number of the event that is there, less one while it is written; 0: none was.
  struct Place {
    std::atomic<uint64_t> state;
    std::array<std::atomic<uint64_t>, kWords> words;
  };

  std::atomic<Place*> places_{nullptr};
  std::atomic<uint64_t> newest_{0};
  std::atomic<uint64_t> before_fork_{0};  // the newest of the parent
};

// That of the process.
inline constinit BurstRing g_burst_ring;

// What the endpoint answers: "PLIMAEV1" | next u64 | lost u64 | count u32 | bytes of a record u32 | records.
std::string write_burst_records(const BurstRing::Taken& taken);

}  // namespace plimsoll::appprof
