// Names of code that a JIT compiler has made: the text file /tmp/perf-PID.map, lines of "START SIZE name" in hexadecimal,
// which the process writes itself. Hostile: any process can write one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "daemon/identity/proc_fs.h"

namespace plimsoll::identity {

struct PerfMapNames {
  // One for each address, borrowed from the text; empty: no entry holds it.
  std::vector<std::string_view> names;
  size_t malformed = 0;  // lines that are not entries, left out
};

// `addresses` ascend. Where entries overlap the last one in the text holds, since compilers use memory again. A last line
// without its end is still being written, and left out. Time: about linear in text and addresses, whatever they hold.
PerfMapNames look_up_perf_map(std::string_view text, std::span<const uint64_t> addresses);

// The text of a process's map, from the /tmp of its own root and under its PID in its own PID namespace. kNotFound where
// it has none. Refused (kDenied) unless it is a regular file, no link, of the process's user or root's; kTooLarge past
// 64 MiB.
Result<std::string> read_perf_map(const ProcFs& proc_fs, uint32_t pid);

}  // namespace plimsoll::identity
