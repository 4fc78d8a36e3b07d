// `plimsolld --once SECONDS --output FILE`: one profile of this machine, into a file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/daemon_config.h"
#include "daemon/machine/machine.h"

namespace plimsoll {

struct OnceOptions {
  double seconds = 0;
  std::string output;
  uint32_t rate_hz = 0;             // 0: the default
  std::vector<std::string> events;  // "cycles", "page-faults:1" (name and period); none: the default events
  std::vector<std::string>
      event_sets;            // "cycles,instructions": events at once; several sets, and `events`, take turns
  double turn_seconds = 0;   // of a set; 0: the default
  uint32_t ring_pages = 0;   // of each CPU's sample ring; 0: the default
  uint32_t stack_bytes = 0;  // of the user stack, where it is taken; 0: the default
  uint32_t stack_rate_hz = 0;   // samples with a stack, at most rate_hz; 0: all
  uint32_t branch_rate_hz = 0;  // recordings of branches; 0: none
  config::CountSettings count;  // no groups: nothing is counted besides
  identity::MachineSettings machine;
};

// Prints what it did on standard output, its progress on standard error if that is a terminal. SIGINT and
// SIGTERM end the window early and keep what was collected. Says READY=1 to who listens at NOTIFY_SOCKET (sd_notify(3)) once it samples.
Status collect_once(const OnceOptions& options);

}  // namespace plimsoll
