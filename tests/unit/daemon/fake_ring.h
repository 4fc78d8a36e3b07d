// A ring buffer as the kernel makes one, in a file of memory.
#pragma once

#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/unique_fd.h"

namespace plimsoll::perf {

class FakeRing {
 public:
  static constexpr size_t kPageBytes = 4096;

  // `pages` of data, a power of two.
  explicit FakeRing(size_t pages = 1)
      : bytes_((1 + pages) * kPageBytes), fd_(::memfd_create("ring", MFD_CLOEXEC)) {
    EXPECT_EQ(::ftruncate(fd_.get(), static_cast<off_t>(bytes_)), 0);
    void* const mapped = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
    EXPECT_NE(mapped, MAP_FAILED);
    control_ = static_cast<perf_event_mmap_page*>(mapped);
    control_->data_offset = kPageBytes;
    control_->data_size = pages * kPageBytes;
  }
  FakeRing(const FakeRing&) = delete;
  FakeRing& operator=(const FakeRing&) = delete;
  ~FakeRing() { ::munmap(control_, bytes_); }

  // There must be room up to the end of the data: nothing is wrapped.
  void write(std::string_view bytes) {
    const uint64_t head = control_->data_head;
    std::ranges::copy(bytes, reinterpret_cast<char*>(control_) + kPageBytes + head);
    __atomic_store_n(&control_->data_head, head + bytes.size(), __ATOMIC_RELEASE);
  }
  int fd() const { return fd_.get(); }
  uint64_t tail() const { return __atomic_load_n(&control_->data_tail, __ATOMIC_ACQUIRE); }

 private:
  size_t bytes_;
  UniqueFd fd_;
  perf_event_mmap_page* control_ = nullptr;
};

}  // namespace plimsoll::perf
