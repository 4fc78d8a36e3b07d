// What start() starts: sampling, the server, the announcement; and what becomes of them in forked children.
#pragma once

#include <cstdint>
#include <string>

#include "appprof/labels.h"

namespace plimsoll::appprof {

struct AgentSettings {
  std::string listen = "127.0.0.1:0";
  uint32_t socket_mode = 0600;  // permissions of a Unix socket
  std::string token;
  bool is_announced = false;
  bool must_be_announced = false;  // else it serves where it cannot be announced, and the index page says why
  std::string announcement_folder;
  Labels labels;
  bool serves_children = false;
  std::string dump_folder;  // of oom_dump.h; empty: no dump
  uint64_t heap_period_bytes = uint64_t{512} << 10;
  uint64_t lock_period_ns = 1'000'000;
  // Of allocations, and of waits for locks. A sample takes some 15 us: 0.4 % of a CPU.
  uint32_t max_samples_per_second = 250;
  bool with_heap = true;
  bool with_locks = true;
  uint32_t max_seconds = 60;
  uint32_t max_requests_per_minute = 120;
  std::string refusal;  // of the environment: why nothing may be started; empty: it may
};

// Any thread. Returns why not; empty: it serves.
std::string start_agent(const AgentSettings& settings);
void stop_agent();
// Empty while nothing is served.
std::string agent_address();

// PLIMSOLL_APPPROF_*: true where they ask for a start in this program.
bool settings_of_environment(AgentSettings& settings);

// "job=search,revision=42": what has no '=' is left out.
Labels parse_labels(const std::string& text);

}  // namespace plimsoll::appprof
