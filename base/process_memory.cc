#include "base/process_memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string>

#include "base/file.h"

namespace plimsoll {
namespace {

constexpr uint64_t kMaxFileBytes = 64 << 10;

uint64_t machine_bytes() {
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page_bytes = ::sysconf(_SC_PAGESIZE);
  return pages <= 0 || page_bytes <= 0 ? UINT64_MAX
                                       : static_cast<uint64_t>(pages) * static_cast<uint64_t>(page_bytes);
}

// "max" where there is no limit.
uint64_t number_in(const std::string& path) {
  const auto text = read_file(path, kMaxFileBytes);
  uint64_t number = UINT64_MAX;
  if (text) {
    std::from_chars(text->data(), text->data() + text->size(), number);
  }
  return number;
}

// Of the process's own group of version 2 and all above it (cgroups(7)): "0::/system.slice/plimsoll.service".
uint64_t group_bytes() {
  const auto groups = read_file("/proc/self/cgroup", kMaxFileBytes);
  const size_t found = groups ? groups->find("0::/") : std::string::npos;
  if (found == std::string::npos) {
    return UINT64_MAX;
  }
  const size_t start = found + std::string("0::").size();
  std::string group = groups->substr(start, groups->find('\n', start) - start);
  uint64_t bytes = UINT64_MAX;
  while (!group.empty()) {
    bytes = std::min(bytes, number_in("/sys/fs/cgroup" + group + "/memory.max"));
    group.resize(group.rfind('/'));
  }
  return bytes;
}

}  // namespace

uint64_t max_memory_bytes() {
  rlimit space{};
  const bool is_limited = ::getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY;
  return std::min({machine_bytes(), group_bytes(), is_limited ? uint64_t{space.rlim_cur} : UINT64_MAX});
}

uint64_t memory_share(uint64_t bytes, unsigned parts) {
  return std::min(bytes, max_memory_bytes() / parts);
}

}  // namespace plimsoll
