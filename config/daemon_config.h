// What `plimsolld` reads from its configuration. Its limits hold whatever a server asks for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/identity_rule.h"
#include "config/listening_rule.h"
#include "config/settings.h"

namespace plimsoll::config {

// What is counted exactly, for control groups of the operator's choice; checked by compile_exact_counts() in daemon/.
struct CountSettings {
  std::vector<std::string> groups;  // regular expressions over paths; none: nothing is counted
  std::vector<std::string> events = {"cycles", "instructions"};
  int64_t max_fds = 512;
};

struct DaemonConfig {
  std::string server = "127.0.0.1:7071";
  // Files; empty: none.
  std::string server_ca;
  std::string certificate;
  std::string key;
  std::string enrolment_file;
  std::string user;     // to become at start; empty: stay
  bool seccomp = true;  // filter system calls
  std::string state_dir = "/var/lib/plimsoll";

  std::string machine_id;  // empty: derived from /etc/machine-id
  std::string datacenter;
  std::string cluster;

  IdentitySettings identity;

  int64_t max_rate_hz = 1000;
  int64_t max_stack_rate_hz = 1000;
  int64_t max_stack_bytes = 64 << 10;
  double max_cpu_percent = 1;  // of one core
  int64_t max_memory_bytes = int64_t{64} << 20;
  int64_t max_window_ns = 300'000'000'000;
  std::vector<std::string> events;  // permitted ones; empty: all that are known
  int64_t max_spool_bytes = int64_t{64} << 20;
  int64_t max_spool_age_ns = int64_t{3} * 24 * 3600 * 1'000'000'000;

  CountSettings count;

  std::vector<std::string> scrape_endpoints;  // URLs, as parse_scrape_endpoint() takes them
  std::string scrape_schedule = "interval";   // or "assigned"
  int64_t scrape_interval_ns = 60'000'000'000;
  int64_t scrape_timeout_ns = 10'000'000'000;
  int64_t scrape_max_bytes = int64_t{64} << 20;
  int64_t scrape_parallel = 4;
  bool scrape_beyond_loopback = false;
  std::string scrape_announcements;  // a folder; empty: none are looked for
  std::vector<std::string> scrape_announced_kinds = {"heap", "allocs", "contention"};
  std::vector<std::string> scrape_announced_jobs;  // empty: all
  std::vector<ListeningRule> scrape_listening;

  bool bursts_permit = false;
  std::vector<std::string> bursts_events = {"system-calls", "page-faults", "disk", "network", "samples"};
  double bursts_max_share_percent = 2;
  int64_t bursts_max_burst_ns = 5'000'000'000;
  int64_t bursts_max_duration_ns = 3'600'000'000'000;
  int64_t bursts_max_bytes = int64_t{32} << 20;
  double bursts_max_overhead_percent = 0.5;
  int64_t bursts_max_memory_bytes = int64_t{32} << 20;
  int64_t bursts_max_spool_bytes = int64_t{32} << 20;

  std::string binaries_upload = "none";     // or "listed"
  std::vector<std::string> binaries_paths;  // patterns of a shell
  std::string binaries_content = "debug";   // check_binary_content()
  int64_t binaries_ask_interval_ns = 600'000'000'000;
  int64_t binaries_max_file_bytes = int64_t{256} << 20;
  int64_t binaries_max_bytes_per_second = int64_t{1} << 20;

  // The keys point into this object.
  std::vector<Key> keys();
};

// Endpoints that are none are kInvalid; those beyond loopback kDenied, unless permitted.
Result<DaemonConfig> load_daemon_config(const LoadInputs& inputs);

}  // namespace plimsoll::config
