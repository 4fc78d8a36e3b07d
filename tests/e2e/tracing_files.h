// The tracing file system, for tests that record tracepoints.
#pragma once

#include <string>

namespace plimsoll::testing {

// Why programs that this test starts have no tracepoints; empty: they have. Where the tracing file system is
// not mounted and this user may mount it, it is mounted in a mount namespace of this process and its
// children: the machine stays as it is. Call it before the process has other threads.
std::string why_no_tracepoints();

}  // namespace plimsoll::testing
