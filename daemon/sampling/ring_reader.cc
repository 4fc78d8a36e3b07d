#include "daemon/sampling/ring_reader.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

namespace plimsoll::perf {
namespace {

// Holds the largest record there is (64 KiB) and some more.
constexpr size_t kChunkBytes = size_t{256} << 10;

}  // namespace

Result<std::unique_ptr<RingReader>> RingReader::make(size_t max_bytes) {
  UniqueFd ready(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  UniqueFd stopping(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!ready.valid() || !stopping.valid()) {
    return fail_errno(errno, "making an eventfd for the reader of ring buffers");
  }
  return std::unique_ptr<RingReader>(new RingReader(max_bytes, std::move(ready), std::move(stopping)));
}

RingReader::RingReader(size_t max_bytes, UniqueFd ready, UniqueFd stopping)
    : max_chunks_(std::max<size_t>(2, max_bytes / kChunkBytes)),
      ready_(std::move(ready)),
      stopping_(std::move(stopping)) {}

RingReader::~RingReader() {
  if (thread_.joinable()) {
    ::eventfd_write(stopping_.get(), 1);
    thread_.join();
  }
}

void RingReader::add(RingBuffer ring, int fd) {
  rings_.push_back(std::move(ring));
  fds_.push_back(fd);
}

void RingReader::start() {
  if (!thread_.joinable()) {
    thread_ = std::thread([this] { run(); });
  }
}

void RingReader::run() {
  std::vector<pollfd> polled;
  for (const int fd : fds_) {
    polled.push_back({fd, POLLIN, 0});
  }
  polled.push_back({stopping_.get(), POLLIN, 0});
  while (true) {
    if (::poll(polled.data(), polled.size(), -1) < 0 && errno != EINTR) {
      return;  // the collector reads the rings too, only later
    }
    if (polled.back().revents != 0) {
      return;
    }
    for (pollfd& ring : polled) {
      // Of an event whose CPU went away: it would be reported for good.
      if ((ring.revents & (POLLERR | POLLHUP | POLLNVAL)) != 0) {
        ring.fd = -1;
      }
    }
    {
      const std::lock_guard lock(mutex_);
      read_all();
    }
    ::eventfd_write(ready_.get(), 1);
  }
}

bool RingReader::read_all() {
  bool is_all = true;
  for (size_t ring = 0; ring < rings_.size(); ++ring) {
    is_all = read(ring) && is_all;
  }
  return is_all;
}

bool RingReader::read(size_t ring) {
  std::optional<uint64_t> read_to;
  bool has_room = true;
  rings_[ring].peek([&](Bytes record, uint64_t end) {
    Chunk* const chunk = has_room ? chunk_for(record.size()) : nullptr;
    has_room = chunk != nullptr;
    if (!has_room) {
      return;
    }
    std::byte* const place = chunk->memory.get() + chunk->used;
    std::memcpy(place, record.data(), record.size());
    chunk->used += record.size();
    ++chunk->held;
    records_.push_back({ring, Bytes(place, record.size()), chunk});
    read_to = end;
  });
  if (read_to) {
    rings_[ring].release(*read_to);
  }
  return has_room;
}

RingReader::Chunk* RingReader::chunk_for(size_t bytes) {
  if (current_ != nullptr && kChunkBytes - current_->used >= bytes) {
    return current_;
  }
  if (current_ != nullptr && current_->held == 0) {
    current_->used = 0;
    return current_;
  }
  if (free_.empty() && chunks_.size() < max_chunks_) {
    add_chunk();
  }
  if (free_.empty()) {
    return nullptr;
  }
  current_ = free_.back();
  free_.pop_back();
  return current_;
}

// Populated, since each page fault here would be a sample more where page faults are sampled.
void RingReader::add_chunk() {
  void* const memory =
      ::mmap(nullptr, kChunkBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory != MAP_FAILED) {
    chunks_.push_back(std::make_unique<Chunk>());
    chunks_.back()->memory.reset(static_cast<std::byte*>(memory));
    free_.push_back(chunks_.back().get());
  }
}

void RingReader::Chunk::Unmap::operator()(std::byte* mapped) const {
  ::munmap(mapped, kChunkBytes);
}

bool RingReader::take(std::vector<Record>& records) {
  eventfd_t times = 0;
  ::eventfd_read(ready_.get(), &times);
  const std::lock_guard lock(mutex_);
  const bool is_all = read_all();
  records.insert(records.end(), records_.begin(), records_.end());
  records_.clear();
  return is_all;
}

void RingReader::give_back(std::vector<Record>& records) {
  const std::lock_guard lock(mutex_);
  for (const Record& record : records) {
    if (--record.chunk->held == 0 && record.chunk != current_) {
      record.chunk->used = 0;
      free_.push_back(record.chunk);
    }
  }
  records.clear();
}

uint64_t RingReader::dropped_bytes() {
  const std::lock_guard lock(mutex_);
  uint64_t bytes = 0;
  for (const RingBuffer& ring : rings_) {
    bytes += ring.dropped_bytes();
  }
  return bytes;
}

}  // namespace plimsoll::perf
