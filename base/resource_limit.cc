#include "base/resource_limit.h"

#include <algorithm>
#include <cerrno>

namespace plimsoll {

Result<uint64_t> raise_limit(__rlimit_resource resource, uint64_t wanted, std::string_view name) {
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0) {
    return fail_errno(errno, "reading the limit of {}", name);
  }
  const rlim_t widest = std::max<rlim_t>(limit.rlim_max, wanted);
  const rlimit raised{.rlim_cur = widest, .rlim_max = widest};
  if (::setrlimit(resource, &raised) == 0) {
    return widest;
  }
  limit.rlim_cur = limit.rlim_max;
  return ::setrlimit(resource, &limit) == 0 ? Result<uint64_t>(limit.rlim_max)
                                            : fail_errno(errno, "raising the limit of {}", name);
}

}  // namespace plimsoll
