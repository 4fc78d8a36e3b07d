// What a profile says of the things that this user's privileges keep from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace plimsoll {

struct Reach {
  size_t unread_mappings = 0;        // of processes, for want of permission
  size_t unread_binaries = 0;        // likewise
  bool is_in_pid_namespace = false;  // of its own
};

// One note for each that is not 0.
void add_reach_notes(const Reach& reach, std::vector<std::string>& notes);

// One for each missing capability whose loss nothing else tells: CAP_PERFMON fails the sampling, and without CAP_SYSLOG the
// kernel's addresses are seen to be hidden.
void add_capability_notes(std::vector<std::string>& notes);

// Sample rings of fewer pages than wanted.
std::string smaller_rings_note(uint32_t pages, uint32_t wanted_pages);

}  // namespace plimsoll
