// What a recording says of itself and its events, apart from its records.
#pragma once

#include <linux/perf_event.h>

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace plimsoll::perf_data {

struct RecordedEvent {
  perf_event_attr attr{};  // fields that its version of perf did not know are 0
  std::vector<uint64_t> ids;
  std::string name;  // as `perf report` shows it, with modifiers ("cycles:u")
};

// The build ID of a file that is mapped somewhere in the recording.
struct RecordedBuildId {
  std::string path;
  std::string build_id;  // binary
  bool is_kernel = false;
};

// Both clocks at one moment.
struct RecordedClock {
  int32_t clock_id = 0;
  int64_t wall_ns = 0;
  int64_t clock_ns = 0;
};

// Events that were counted together: `members` of them from `leader` (an index) on.
struct RecordedGroup {
  std::string name;
  uint32_t leader = 0;
  uint32_t members = 0;
};

// A name that is told apart from the event it belongs to.
struct EventDescription {
  std::string name;
  std::vector<uint64_t> ids;
};

struct Metadata {
  std::vector<RecordedEvent> events;
  boost::unordered_flat_map<uint64_t, uint32_t> event_of_first_id;
  std::vector<EventDescription> descriptions;                 // in the order of the events, or with their IDs
  std::vector<std::pair<uint64_t, std::string>> event_types;  // names by attr.config, before perf 3.10
  std::vector<RecordedBuildId> build_ids;
  std::vector<RecordedGroup> groups;
  std::optional<RecordedClock> clock;
  std::string hostname;
  std::string os_release;
  std::string perf_version;
  std::string architecture;
  std::string cpu_description;
  std::string cpu_id;
  uint32_t cpus_online = 0;
  uint64_t memory_kib = 0;
};

}  // namespace plimsoll::perf_data
