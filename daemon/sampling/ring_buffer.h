// The kernel's ring buffer of one event on one CPU.
#pragma once

#include <linux/perf_event.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/byte_reader.h"
#include "base/result.h"

namespace plimsoll::perf {

// Reads the records of a ring buffer, which it maps and unmaps. Move-only; one thread at a time.
class RingBuffer {
 public:
  // Maps `data_pages` (a power of two) of the event's buffer and its control page. kTooLarge where this user may lock no more
  // memory: each may lock kernel.perf_event_mlock_kb for each CPU, and the limit of locked memory beyond that; root, who has
  // no limit by CAP_IPC_LOCK, gives that up as well (confine()).
  static Result<RingBuffer> map(int event_fd, uint32_t data_pages);

  RingBuffer(RingBuffer&& other) noexcept;
  RingBuffer& operator=(RingBuffer&& other) noexcept;
  RingBuffer(const RingBuffer&) = delete;
  RingBuffer& operator=(const RingBuffer&) = delete;
  ~RingBuffer();

  // Hands every complete record there is now, header included, to `consume`, with the position behind it. Records stay in
  // the buffer, and valid, until they are released or this is called again. One that wraps around the end is copied;
  // others are not.
  void peek(const std::function<void(Bytes record, uint64_t end)>& consume);

  // Of records whose size could not be right, and of all behind them at the time: what peek() has passed over until now.
  uint64_t dropped_bytes() const { return dropped_bytes_; }

  // Gives the room before `end`, a position that peek() told, back to the kernel.
  void release(uint64_t end);

 private:
  RingBuffer(void* mapping, size_t mapping_bytes);

  perf_event_mmap_page* control_ = nullptr;
  size_t mapping_bytes_ = 0;
  std::vector<std::byte> wrapped_;
  uint64_t dropped_bytes_ = 0;
  uint64_t dropped_to_ = 0;  // position behind the newest of them
};

struct RingRead {
  uint64_t tail;           // the new one
  uint64_t dropped_bytes;  // before it, that no record was read from
};

// The reading itself, over any memory: the records between `tail` and `head` of a ring `data`, whose size is
// a power of two. A record whose size cannot be right ends the reading: what is left, up to head, is dropped. `wrapped` takes
// the record that wraps around the end.
RingRead read_ring(Bytes data, uint64_t tail, uint64_t head, std::vector<std::byte>& wrapped,
                   const std::function<void(Bytes record, uint64_t end)>& consume);

}  // namespace plimsoll::perf
