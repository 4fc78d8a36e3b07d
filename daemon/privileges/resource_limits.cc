#include "daemon/privileges/resource_limits.h"

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>

namespace plimsoll {
namespace {

// Sample rings take at most 64 MiB together (perf::ring_pages), side-band rings less than perf_event_mlock_kb permits anyway.
constexpr rlim_t kLockedBytes = rlim_t{64} << 20;

Status raise_to_hard_limit(__rlimit_resource resource, rlim_t wanted_hard, const char* name) {
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0) {
    return fail_errno(errno, "reading the limit of {}", name);
  }
  const rlimit widest{.rlim_cur = std::max(limit.rlim_max, wanted_hard),
                      .rlim_max = std::max(limit.rlim_max, wanted_hard)};
  if (::setrlimit(resource, &widest) == 0) {
    return {};
  }
  limit.rlim_cur = limit.rlim_max;
  return ::setrlimit(resource, &limit) == 0 ? Status() : fail_errno(errno, "raising the limit of {}", name);
}

}  // namespace

Status set_resource_limits() {
  constexpr rlimit kNone{.rlim_cur = 0, .rlim_max = 0};
  if (::setrlimit(RLIMIT_CORE, &kNone) != 0) {
    return fail_errno(errno, "forbidding core files");
  }
  if (auto raised = raise_to_hard_limit(RLIMIT_NOFILE, 0, "open files"); !raised) {
    return raised;
  }
  return raise_to_hard_limit(RLIMIT_MEMLOCK, kLockedBytes, "locked memory");
}

}  // namespace plimsoll
