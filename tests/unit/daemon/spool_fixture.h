// A spool under test: small profiles with readable names, a clock that stands still, and a disk that can fail.
#pragma once

#include <gtest/gtest.h>

#include <cerrno>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/checksum.h"
#include "daemon/spool/spool.h"
#include "tests/framed.h"

namespace plimsoll::spool {

// What a profile below takes of the disk, unless it says more.
inline constexpr uint64_t kBlock = 4096;

// "a" has the ID "aaaaaaaaaaaaaaaa".
inline std::string id_of(char name) {
  return std::string(kIdBytes, name);
}

// Its file takes `blocks` blocks.
inline std::string encoded_profile(std::string_view content, uint64_t blocks = 1) {
  std::string body(content);
  body.resize((blocks - 1) * kBlock + 16, '.');
  return wire::framed(body);
}

inline Result<uint64_t> push(Spool& spool, char name, uint64_t blocks = 1) {
  return spool.push(id_of(name), as_bytes(encoded_profile(std::string_view(&name, 1), blocks)), false);
}

// Of the oldest; empty where there is none.
inline std::string oldest_name(Spool& spool) {
  const auto oldest = spool.oldest();
  EXPECT_TRUE(oldest) << oldest.error().text();
  return oldest && *oldest ? (*oldest)->id.substr(0, 1) : std::string();
}

// Delivers everything: the names, in order.
inline std::string deliver_all(Spool& spool) {
  std::string names;
  for (auto oldest = spool.oldest(); oldest && *oldest; oldest = spool.oldest()) {
    names += (*oldest)->id.front();
    EXPECT_TRUE(spool.settle((*oldest)->sequence, Fate::kDelivered));
  }
  return names;
}

inline void expect_exact_sum(const SpoolStatus& status) {
  EXPECT_EQ(status.spooled, status.counts.all() + status.waiting);
}

inline std::unique_ptr<Spool> open_spool(SpoolOptions options) {
  auto spool = Spool::open(std::move(options));
  EXPECT_TRUE(spool) << spool.error().text();
  return spool ? std::move(*spool) : nullptr;
}

// The disk as the spool calls it. One at a time: the calls are plain functions.
class TestDisk {
 public:
  enum class Call : uint8_t { kWrite, kFsync, kRename, kPwrite, kUnlink };

  TestDisk() { current_ = this; }
  TestDisk(const TestDisk&) = delete;
  TestDisk& operator=(const TestDisk&) = delete;
  ~TestDisk() { current_ = nullptr; }

  // Asked before each call: the error that it fails with, or 0.
  std::function<int(Call)> fails = [](Call) { return 0; };
  // Called where a process may be killed: before each call, and in the middle of one that writes.
  std::function<void()> may_be_killed = [] {};

  const FileCalls& calls() const {
    static constexpr FileCalls kCalls{&write, &fsync, &rename, &pwrite, &unlink};
    return kCalls;
  }

 private:
  // Whether the call goes on.
  static bool enter(Call call) {
    current_->may_be_killed();
    errno = current_->fails(call);
    return errno == 0;
  }
  static ssize_t write(int fd, const void* bytes, size_t size) {
    if (!enter(Call::kWrite)) {
      return -1;
    }
    const ssize_t written = ::write(fd, bytes, (size + 1) / 2);  // the spool asks again for the rest
    current_->may_be_killed();
    return written;
  }
  static ssize_t pwrite(int fd, const void* bytes, size_t size, off_t offset) {
    if (!enter(Call::kPwrite)) {
      return -1;
    }
    const auto half = static_cast<off_t>(size / 2);
    if (::pwrite(fd, bytes, size / 2, offset) < 0) {
      return -1;
    }
    current_->may_be_killed();
    const auto* const rest = static_cast<const char*>(bytes) + half;
    const ssize_t written = ::pwrite(fd, rest, size - size / 2, offset + half);
    return written < 0 ? written : static_cast<ssize_t>(size);
  }
  // Nothing here outlives the machine.
  static int fsync(int /*fd*/) { return enter(Call::kFsync) ? 0 : -1; }
  static int rename(const char* from, const char* to) {
    return enter(Call::kRename) ? ::rename(from, to) : -1;
  }
  static int unlink(const char* path) { return enter(Call::kUnlink) ? ::unlink(path) : -1; }

  static inline TestDisk* current_ = nullptr;
};

}  // namespace plimsoll::spool
