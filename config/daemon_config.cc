#include "config/daemon_config.h"

#include "base/time.h"

namespace plimsoll::config {

std::vector<Key> DaemonConfig::keys() {
  constexpr int64_t kHourNs = 3600 * kNsPerSecond;
  return {
      {"daemon.server", "Address and port (or URL) of the server's fleet listener. Default: this machine.",
       &server},
      {"machine.id",
       "Name of this machine, unique in the fleet. Default: none, which derives one from /etc/machine-id.",
       &machine_id},
      {"machine.datacenter", "Where this machine stands. Default: unknown.", &datacenter},
      {"machine.cluster", "The group of machines that it belongs to. Default: unknown.", &cluster},
      {"limits.max_rate_hz", "Most samples a second and CPU that a server may ask for.", &max_rate_hz,
       Range{1, 10'000}},
      {"limits.max_window", "Longest raw profile that a server may ask for.", DurationNs{&max_window_ns},
       Range{kNsPerSecond, 24 * kHourNs}},
      {"limits.events",
       "Events that a server may ask for, such as \"cycles\". Default: none named, which permits all known.",
       &events},
      {"limits.max_spool_bytes", "Most bytes of profiles kept while the server is away.",
       SizeBytes{&max_spool_bytes}, Range{int64_t{1} << 20, int64_t{1} << 40}},
  };
}

Result<DaemonConfig> load_daemon_config(const LoadInputs& inputs) {
  DaemonConfig config;
  if (const auto sources = load(config.keys(), inputs); !sources) {
    return propagate(sources);
  }
  return config;
}

}  // namespace plimsoll::config
