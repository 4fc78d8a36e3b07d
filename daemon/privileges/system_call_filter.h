// An allow-list of the system calls that plimsolld makes once it runs (seccomp(2), by libseccomp).
//
// What is not on the list fails with EPERM and does nothing: programs cannot be run, processes neither made nor traced,
// nothing mounted, no module or BPF program loaded, no identity changed, no memory made writable and executable. It fails rather
// than ends the process: a call that a library newly makes then costs one feature, with a message, not the daemon; and what
// would attack it gains nothing by being told. clone3 alone says ENOSYS, upon which the C library makes threads by clone, whose
// flags a filter can read.
#pragma once

#include <string>

#include "base/result.h"

namespace plimsoll {

// Binds all threads of the process, and those to come, for good. Does nothing in a build with sanitizers, which need other
// calls (describe_system_call_filter() then says so).
Status filter_system_calls();

struct SystemCallFilterState {
  bool in_force = false;
  std::string text;  // for people
};
SystemCallFilterState describe_system_call_filter();

}  // namespace plimsoll
