#include "daemon/privileges/resource_limits.h"

#include <sys/resource.h>

#include <cerrno>

#include "base/resource_limit.h"

namespace plimsoll {
namespace {

// Sample rings take at most 64 MiB together (perf::ring_pages), side-band rings less than perf_event_mlock_kb permits anyway.
constexpr rlim_t kLockedBytes = rlim_t{64} << 20;

}  // namespace

Status set_resource_limits() {
  constexpr rlimit kNone{.rlim_cur = 0, .rlim_max = 0};
  if (::setrlimit(RLIMIT_CORE, &kNone) != 0) {
    return fail_errno(errno, "disabling core files");
  }
  if (auto raised = raise_limit(RLIMIT_NOFILE, 0, "open files"); !raised) {
    return propagate(raised);
  }
  const auto raised = raise_limit(RLIMIT_MEMLOCK, kLockedBytes, "locked memory");
  return raised ? Status() : propagate(raised);
}

}  // namespace plimsoll
