// What /proc says of processes. The root is a parameter, so that tests hand in a folder of their own.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace plimsoll::identity {

// One line of /proc/PID/maps.
struct MapsEntry {
  uint64_t start = 0;
  uint64_t end = 0;
  bool executable = false;
  uint64_t file_offset = 0;
  uint64_t inode = 0;  // 0: no file
  std::string path;    // as the process sees it; " (deleted)" removed and told by `deleted`
  bool deleted = false;
};

// Lines that are not as the kernel writes them are left out.
std::vector<MapsEntry> parse_maps(std::string_view text);

// Valid UTF-8, with '?' for each byte that is none and for control characters: names of processes and paths
// may hold any byte, protocol strings may not.
std::string printable(std::string_view bytes);

class ProcFs {
 public:
  explicit ProcFs(std::string root = "/proc") : root_(std::move(root)) {}

  std::vector<uint32_t> pids() const;

  // Names are printable(), empty where the process is gone or out of reach.
  std::string comm(uint32_t pid) const;
  std::string thread_name(uint32_t pid, uint32_t tid) const;
  std::string executable(uint32_t pid) const;
  // By the flags in /proc/PID/stat; false where the process is gone.
  bool is_kernel_thread(uint32_t pid) const;

  // The text of /proc/PID/cgroup; empty where the process is gone.
  std::string cgroup(uint32_t pid) const;
  // Of /proc/PID/status.
  Result<std::string> status(uint32_t pid) const;
  Result<std::vector<MapsEntry>> maps(uint32_t pid) const;

  // Where a file of the process's mount namespace can be opened.
  std::string path_in_root(uint32_t pid, std::string_view path) const;

 private:
  std::string entry(uint32_t pid, std::string_view name) const;
  std::string root_;
};

}  // namespace plimsoll::identity
