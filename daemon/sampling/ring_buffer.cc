#include "daemon/sampling/ring_buffer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

namespace plimsoll::perf {
namespace {

// `size` bytes from `position`, from both ends of the ring where they wrap around.
Bytes contiguous(Bytes data, uint64_t position, size_t size, std::vector<std::byte>& scratch) {
  const size_t start = position & (data.size() - 1);
  if (start + size <= data.size()) {
    return data.subspan(start, size);
  }
  const Bytes front = data.subspan(start);
  scratch.assign(front.begin(), front.end());
  const Bytes back = data.subspan(0, size - front.size());
  scratch.insert(scratch.end(), back.begin(), back.end());
  return scratch;
}

}  // namespace

RingRead read_ring(Bytes data, uint64_t tail, uint64_t head, std::vector<std::byte>& wrapped,
                   const std::function<void(Bytes record, uint64_t end)>& consume) {
  // More than the ring holds: only once around it is there no more than one record that wraps.
  if (head - tail > data.size()) {
    return {head, head - tail};
  }
  while (tail + sizeof(perf_event_header) <= head) {
    ByteReader reader(contiguous(data, tail, sizeof(perf_event_header), wrapped));
    const auto header = reader.read<perf_event_header>();
    if (header.size < sizeof header || header.size > head - tail || header.size > data.size()) {
      return {head, head - tail};
    }
    const Bytes record = contiguous(data, tail, header.size, wrapped);
    tail += header.size;
    consume(record, tail);
  }
  return {tail, 0};
}

Result<RingBuffer> RingBuffer::map(int event_fd, uint32_t data_pages) {
  const auto page_bytes = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t mapping_bytes = (size_t{data_pages} + 1) * page_bytes;
  void* mapping = ::mmap(nullptr, mapping_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, event_fd, 0);
  if (mapping == MAP_FAILED) {
    const int error_number = errno;
    auto failure = fail_errno(error_number, "mapping a ring buffer of {} KiB", mapping_bytes >> 10U);
    if (error_number != EPERM) {
      return failure;
    }
    failure.error().code = ErrorCode::kTooLarge;
    return with_hint(failure,
                     "the limit of locked memory is reached: raise it (LimitMEMLOCK= of the unit, ulimit -l) "
                     "or kernel.perf_event_mlock_kb");
  }
  return RingBuffer(mapping, mapping_bytes);
}

RingBuffer::RingBuffer(void* mapping, size_t mapping_bytes)
    : control_(static_cast<perf_event_mmap_page*>(mapping)), mapping_bytes_(mapping_bytes) {}

RingBuffer::RingBuffer(RingBuffer&& other) noexcept
    : control_(std::exchange(other.control_, nullptr)),
      mapping_bytes_(std::exchange(other.mapping_bytes_, 0)),
      wrapped_(std::move(other.wrapped_)),
      dropped_bytes_(other.dropped_bytes_),
      dropped_to_(other.dropped_to_) {}

RingBuffer& RingBuffer::operator=(RingBuffer&& other) noexcept {
  std::swap(control_, other.control_);
  std::swap(mapping_bytes_, other.mapping_bytes_);
  std::swap(wrapped_, other.wrapped_);
  std::swap(dropped_bytes_, other.dropped_bytes_);
  std::swap(dropped_to_, other.dropped_to_);
  return *this;
}

RingBuffer::~RingBuffer() {
  if (control_ != nullptr) {
    ::munmap(control_, mapping_bytes_);
  }
}

void RingBuffer::peek(const std::function<void(Bytes record, uint64_t end)>& consume) {
  const auto* base = reinterpret_cast<const std::byte*>(control_);
  const Bytes data(base + control_->data_offset, control_->data_size);
  // Pairs with the kernel's write barrier before it advances data_head: records below `head` are complete (perf_event_open(2),
  // "data_head"). The tail is written by this thread only, so that it needs no ordering.
  const uint64_t head = std::atomic_ref(control_->data_head).load(std::memory_order_acquire);
  uint64_t last_end = control_->data_tail;
  const RingRead read = read_ring(data, last_end, head, wrapped_, [&](Bytes record, uint64_t end) {
    last_end = end;
    consume(record, end);
  });
  if (read.dropped_bytes > 0) {
    // Records before them may keep the tail where it is: the next peek() then finds the same bytes, and more.
    dropped_bytes_ += read.tail - std::max(read.tail - read.dropped_bytes, dropped_to_);
    dropped_to_ = read.tail;
  }
  // Dropped bytes have no record whose end a caller could release.
  if (last_end == control_->data_tail && read.tail != last_end) {
    release(read.tail);
  }
}

void RingBuffer::release(uint64_t end) {
  // Our reads of the records must be over before the kernel sees the new tail, since it then overwrites them.
  std::atomic_ref(control_->data_tail).store(end, std::memory_order_release);
}

}  // namespace plimsoll::perf
