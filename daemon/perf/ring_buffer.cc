#include "daemon/perf/ring_buffer.h"

#include <sys/mman.h>
#include <unistd.h>

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

uint64_t read_ring(Bytes data, uint64_t tail, uint64_t head,
                   const std::function<void(Bytes record)>& consume) {
  std::vector<std::byte> scratch;
  while (tail + sizeof(perf_event_header) <= head) {
    ByteReader reader(contiguous(data, tail, sizeof(perf_event_header), scratch));
    const auto header = reader.read<perf_event_header>();
    if (header.size < sizeof header || header.size > head - tail || header.size > data.size()) {
      return head;
    }
    consume(contiguous(data, tail, header.size, scratch));
    tail += header.size;
  }
  return tail;
}

Result<RingBuffer> RingBuffer::map(int event_fd, uint32_t data_pages) {
  const auto page_bytes = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t mapping_bytes = (size_t{data_pages} + 1) * page_bytes;
  void* mapping = ::mmap(nullptr, mapping_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, event_fd, 0);
  if (mapping == MAP_FAILED) {
    const int error_number = errno;
    auto failure = fail_errno(error_number, "mapping a ring buffer of {} KiB", mapping_bytes >> 10U);
    return error_number == EPERM
               ? with_hint(failure, "raise kernel.perf_event_mlock_kb or grant CAP_IPC_LOCK")
               : failure;
  }
  return RingBuffer(mapping, mapping_bytes);
}

RingBuffer::RingBuffer(void* mapping, size_t mapping_bytes)
    : control_(static_cast<perf_event_mmap_page*>(mapping)), mapping_bytes_(mapping_bytes) {}

RingBuffer::RingBuffer(RingBuffer&& other) noexcept
    : control_(std::exchange(other.control_, nullptr)),
      mapping_bytes_(std::exchange(other.mapping_bytes_, 0)) {}

RingBuffer& RingBuffer::operator=(RingBuffer&& other) noexcept {
  std::swap(control_, other.control_);
  std::swap(mapping_bytes_, other.mapping_bytes_);
  return *this;
}

RingBuffer::~RingBuffer() {
  if (control_ != nullptr) {
    ::munmap(control_, mapping_bytes_);
  }
}

void RingBuffer::drain(const std::function<void(Bytes record)>& consume) {
  const auto* base = reinterpret_cast<const std::byte*>(control_);
  const Bytes data(base + control_->data_offset, control_->data_size);
  // The kernel publishes data_head with a release; our tail tells it, likewise, that we have read.
  const uint64_t head = std::atomic_ref(control_->data_head).load(std::memory_order_acquire);
  const uint64_t tail = read_ring(data, control_->data_tail, head, consume);
  std::atomic_ref(control_->data_tail).store(tail, std::memory_order_release);
}

}  // namespace plimsoll::perf
