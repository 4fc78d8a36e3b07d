// What the store keeps of a profile beside its rows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace plimsoll::store {

// A row of the table origin_event, without its key's origin: what was counted of one event, in a profile or in those that were summed
// into an hour.
struct EventRecord {
  uint32_t event = 0;  // dictionary ID
  double scale = 0;
  uint64_t hits = 0;
  uint64_t lost = 0;
  uint64_t throttles = 0;
  double counter_total = 0;
  int64_t time_enabled_ns = 0;
  int64_t time_running_ns = 0;
  std::string note = {};
  uint64_t samples = 0;
  // Of hours (table rolled_up_event).
  uint64_t profiles = 1;
  int64_t observed_ns = 0;
  double effective_samples = 0;

  // False: its counters never got their turn, so that no hits mean nothing.
  bool ran() const { return time_enabled_ns == 0 || time_running_ns > 0; }
};

// What an origin does not say of its profile.
struct ProfileRecord {
  std::string id;        // 16 bytes
  int64_t sequence = 0;  // of the archive
  std::vector<EventRecord> events = {};
};

}  // namespace plimsoll::store
