// A disk of a few hundred kilobytes, which tests can fill: a tmpfs in a mount namespace of this process's own.
#pragma once

#include <cstdint>
#include <string>

#include "tests/e2e/program.h"

namespace plimsoll::testing {

// Programs started afterwards see it too. One for each test program.
class SmallDisk {
 public:
  explicit SmallDisk(uint64_t bytes);
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  ~SmallDisk();

  // Why there is none, where this user may not mount; else empty.
  const std::string& missing() const { return missing_; }
  const std::string& path() const { return folder_.path(); }

  // Another user of the disk takes all that is left, or goes.
  void fill() const;
  void clear() const;

 private:
  TemporaryFolder folder_;
  std::string missing_;
};

}  // namespace plimsoll::testing
