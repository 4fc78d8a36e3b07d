// What `plimsolld` reads from its configuration. Its limits hold whatever a server asks for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/identity_rule.h"
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
  int64_t scrape_interval_ns = 60'000'000'000;
  int64_t scrape_timeout_ns = 10'000'000'000;
  int64_t scrape_max_bytes = int64_t{64} << 20;
  bool scrape_beyond_loopback = false;
  std::string scrape_announcements;  // a folder; empty: none are looked for
  std::vector<std::string> scrape_announced_kinds = {"heap", "allocs", "contention"};
  std::vector<std::string> scrape_announced_jobs;  // empty: all

  // The keys point into this object.
  std::vector<Key> keys();
};

// Endpoints that are none are kInvalid; those beyond loopback kDenied, unless permitted.
Result<DaemonConfig> load_daemon_config(const LoadInputs& inputs);

}  // namespace plimsoll::config
