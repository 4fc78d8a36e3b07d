// The endpoints of this machine: those of the configuration, those that processes announce, and listening sockets by rules.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "capture/identity/proc_fs.h"
#include "capture/identity/workload_namer.h"
#include "config/daemon_config.h"
#include "config/scrape_endpoint.h"
#include "daemon/scrape/announcements.h"
#include "daemon/scrape/start_of_counts.h"

namespace plimsoll::scrape {

// Kinds of profiles, as policies name them.
class WantedKinds {
 public:
  // Whatever an endpoint serves, of no known kind too.
  static WantedKinds everything() { return WantedKinds({}, true); }
  static WantedKinds only(std::vector<std::string> kinds) { return WantedKinds(std::move(kinds), false); }

  bool has(std::string_view kind) const;

 private:
  WantedKinds(std::vector<std::string> kinds, bool is_everything)
      : kinds_(std::move(kinds)), is_everything_(is_everything) {}

  std::vector<std::string> kinds_;
  bool is_everything_;
};

struct FoundEndpoint {
  std::optional<Owner> owner;  // nothing of a configured one: whatever process answers there
  config::ScrapeEndpoint endpoint;
};

struct FoundEndpoints {
  std::map<std::string, FoundEndpoint> endpoints;  // by process and URL
  std::vector<std::string> problems;
};

// One thread at a time. Borrows proc_fs.
class EndpointFinder {
 public:
  // `rules` say who processes work for; null: there are none.
  EndpointFinder(const config::DaemonConfig& config, const identity::ProcFs& proc_fs,
                 std::shared_ptr<const identity::JobRules> rules);

  // How many are configured, and whether others may be found.
  size_t configured() const { return configured_.size(); }
  bool looks_for_more() const { return !announcements_.empty() || !listening_.empty(); }

  // What there is now: reads /proc and the folder of announcements, some milliseconds on a busy machine. Of what was found, and not
  // configured, at most 100.
  FoundEndpoints find(const WantedKinds& kinds);
  // Those that announce themselves, require no token and are of scrape.announced_jobs, whatever kinds they have, configured or not.
  std::vector<AnnouncedProcess> announced_processes();

 private:
  struct Search {
    const WantedKinds& kinds;
    FoundEndpoints found = {};
    std::set<std::string> announced = {};  // programs that say themselves what they have
    size_t of_processes = 0;
    size_t beyond = 0;  // how many were too many
  };

  void find_announced(Search& search);
  void find_listening(Search& search);
  static void add(const Owner& owner, const std::string& url, Search& search);
  bool is_wanted(const AnnouncedProcess& process);
  bool is_of_announced_jobs(uint32_t pid);
  bool is_configured(const std::string& base_url, uint32_t pid) const;
  std::string job_of(uint32_t pid);

  const std::string announcements_;
  const std::vector<std::string> announced_kinds_;
  const std::vector<std::string> announced_jobs_;
  const std::vector<config::ListeningRule> listening_;
  const identity::ProcFs& proc_fs_;
  identity::WorkloadNamer namer_;
  std::vector<config::ScrapeEndpoint> configured_;
};

}  // namespace plimsoll::scrape
