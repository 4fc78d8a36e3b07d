// Names of code that a JIT compiler has made: the text file /tmp/perf-PID.map, lines of "START SIZE name" in hexadecimal,
// which the process writes itself. Hostile: any process can write one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "capture/identity/proc_fs.h"

namespace plimsoll::identity {

struct PerfMapNames {
  std::vector<std::string> names;  // one for each address; empty: no entry holds it
  size_t malformed = 0;            // lines that are not entries, left out
};

// `addresses` ascend. Where entries overlap the last one in the text holds, since compilers use memory again. A last line
// without its end is still being written, and left out; so are lines of over kLongestPerfMapLine, which are malformed. Time: about
// linear in text and addresses, whatever they hold.
PerfMapNames look_up_perf_map(std::string_view text, std::span<const uint64_t> addresses);
inline constexpr size_t kLongestPerfMapLine = 64 << 10;

// A process's map, open. Reading it takes memory for a block of it at a time, and for the names that are found.
class PerfMap {
 public:
  // From the /tmp of the process's own root and under its PID in its own PID namespace. kNotFound where it has none. Refused (kDenied)
  // unless it is a regular file, no link, of the process's user or root's; kTooLarge past 64 MiB.
  static Result<PerfMap> open(const ProcFs& proc_fs, uint32_t pid);

  uint64_t size_bytes() const { return size_bytes_; }
  // As look_up_perf_map(), of what there was of it when it was opened. Where it has become shorter, nothing.
  Result<PerfMapNames> names_at(std::span<const uint64_t> addresses) const;

 private:
  PerfMap(UniqueFd fd, std::string name, uint64_t size_bytes)
      : fd_(std::move(fd)), name_(std::move(name)), size_bytes_(size_bytes) {}

  UniqueFd fd_;
  std::string name_;
  uint64_t size_bytes_;
};

}  // namespace plimsoll::identity
