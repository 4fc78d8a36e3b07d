#include "server/door_settings.h"

#include <algorithm>

#include "base/process_memory.h"
#include "store/directory/disk_usage.h"

namespace plimsoll::server {
namespace {

// Of the memory: requests with traces while they are read, and a recording of bursts while it is checked.
constexpr unsigned kPartOfTraces = 8;
constexpr unsigned kPartOfRecording = 8;

std::function<Status()> check_of_room(const config::ServerConfig& config, int64_t min_free_bytes) {
  return
      [folder = config.data_dir, min_free_bytes] { return store::expect_free_bytes(folder, min_free_bytes); };
}

}  // namespace

TraceDoorOptions trace_door_options(const config::ServerConfig& config, int64_t min_free_bytes) {
  TraceDoorOptions options{.sample_one_in = static_cast<uint32_t>(config.traces_sample),
                           .attributes = config.traces_attributes};
  options.max_body_bytes = std::min(options.max_body_bytes, static_cast<size_t>(config.max_profile_bytes));
  options.max_memory_bytes = memory_share(options.max_memory_bytes, kPartOfTraces);
  options.check_room = check_of_room(config, min_free_bytes);
  return options;
}

BurstDoorOptions burst_door_options(const config::ServerConfig& config, int64_t min_free_bytes) {
  BurstDoorOptions options;
  options.limits.max_encoded_bytes =
      std::min(options.limits.max_encoded_bytes, static_cast<uint64_t>(config.max_profile_bytes));
  options.limits.max_decoded_bytes = memory_share(options.limits.max_decoded_bytes, kPartOfRecording);
  options.limits.max_events =
      memory_share(options.limits.max_events * sizeof(traces::BurstEvent), kPartOfRecording) /
      sizeof(traces::BurstEvent);
  options.check_room = check_of_room(config, min_free_bytes);
  return options;
}

}  // namespace plimsoll::server
