// The four capabilities that plimsolld works with, what each is for, and what is lost without it. capabilities(7) has the
// kernel's side. Any thread; capabilities are each thread's own.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace plimsoll {

struct Capability {
  int number;             // of linux/capability.h
  std::string_view name;  // "CAP_PERFMON"
  std::string_view purpose;
  std::string_view loss;  // what does not work without it
};

// In a fixed order: CAP_PERFMON, CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, CAP_SYSLOG.
std::span<const Capability> needed_capabilities();

// Whether the calling thread may use it now.
bool holds_capability(int number);

// "CAP_PERFMON is missing: " and its loss.
std::string missing_capability_text(const Capability& capability);

// How an administrator grants one.
std::string_view grant_hint();

// Leaves the calling thread with those of the four that it was permitted, all of them in effect, and with nothing to inherit
// or to gain: every other capability is gone for good. Threads made afterwards are as poor.
Status keep_only_needed_capabilities();

}  // namespace plimsoll
