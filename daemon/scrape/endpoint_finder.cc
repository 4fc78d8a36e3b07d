#include "daemon/scrape/endpoint_finder.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "daemon/scrape/listening_processes.h"

namespace plimsoll::scrape {
namespace {

constexpr size_t kMaxFound = 100;

// Two processes may have a Unix socket of the same path, in two containers.
std::string program_of(const config::ScrapeEndpoint& endpoint, uint32_t pid) {
  return endpoint.socket_path.empty() ? endpoint.program() : fmt::format("{}@{}", endpoint.program(), pid);
}

}  // namespace

bool WantedKinds::has(std::string_view kind) const {
  return is_everything_ || std::ranges::find(kinds_, kind) != kinds_.end();
}

EndpointFinder::EndpointFinder(const config::DaemonConfig& config, const identity::ProcFs& proc_fs,
                               std::shared_ptr<const identity::JobRules> rules)
    : announcements_(config.scrape_announcements),
      announced_kinds_(config.scrape_announced_kinds),
      announced_jobs_(config.scrape_announced_jobs),
      listening_(config.scrape_listening),
      proc_fs_(proc_fs),
      namer_(proc_fs, std::move(rules)) {
  for (const std::string& url : config.scrape_endpoints) {
    // Others were refused with the configuration.
    if (auto endpoint = config::parse_scrape_endpoint(url)) {
      configured_.push_back(std::move(*endpoint));
    }
  }
}

bool EndpointFinder::is_configured(const std::string& base_url, uint32_t pid) const {
  const auto endpoint = config::parse_scrape_endpoint(base_url);
  const bool is_elsewhere = endpoint && !endpoint->socket_path.empty() && !proc_fs_.shares_root(pid);
  return endpoint && !is_elsewhere &&
         std::ranges::any_of(configured_, [&](const config::ScrapeEndpoint& configured) {
           return configured.program() == endpoint->program();
         });
}

std::string EndpointFinder::job_of(uint32_t pid) {
  return std::string(namer_.name(pid, proc_fs_.cgroup(pid)).job);
}

bool EndpointFinder::is_wanted(const AnnouncedProcess& process) {
  // Where it is configured too, the configuration says what is scraped: twice would count twice.
  return !is_configured(process.base_url, process.pid) && is_of_announced_jobs(process.pid);
}

bool EndpointFinder::is_of_announced_jobs(uint32_t pid) {
  return announced_jobs_.empty() || std::ranges::find(announced_jobs_, job_of(pid)) != announced_jobs_.end();
}

std::vector<AnnouncedProcess> EndpointFinder::announced_processes() {
  std::vector<AnnouncedProcess> processes;
  if (!announcements_.empty()) {
    processes = read_announcements(announcements_, proc_fs_).processes;
    std::erase_if(processes, [this](const AnnouncedProcess& process) {
      return process.requires_token || !is_of_announced_jobs(process.pid);
    });
  }
  return processes;
}

void EndpointFinder::add(const Owner& owner, const std::string& url, Search& search) {
  auto endpoint = config::parse_scrape_endpoint(url);
  if (!endpoint || !search.kinds.has(config::kind_of_endpoint(*endpoint))) {
    return;
  }
  if (search.of_processes == kMaxFound) {
    ++search.beyond;
    return;
  }
  std::string key = fmt::format("{} {} {}", owner.pid, owner.started_ns, endpoint->name());
  // Not new: a kind that is configured twice.
  const bool is_new =
      search.found.endpoints.try_emplace(std::move(key), FoundEndpoint{owner, std::move(*endpoint)}).second;
  search.of_processes += is_new ? 1 : 0;
}

void EndpointFinder::find_announced(Search& search) {
  Announcements announced = read_announcements(announcements_, proc_fs_);
  size_t with_token = 0;
  for (const AnnouncedProcess& process : announced.processes) {
    if (!is_wanted(process)) {
      continue;
    }
    with_token += process.requires_token ? 1 : 0;
    if (const auto endpoint = config::parse_scrape_endpoint(process.base_url)) {
      search.announced.insert(
          program_of(*endpoint, process.pid));  // of one with a token too: a rule would be refused
    }
    for (const std::string& kind : announced_kinds_) {
      if (!process.requires_token && std::ranges::find(process.kinds, kind) != process.kinds.end()) {
        add({process.pid, process.started_ns},
            process.base_url + std::string(config::path_of_announced_kind(kind)), search);
      }
    }
  }
  std::ranges::move(announced.problems, std::back_inserter(search.found.problems));
  if (with_token != 0) {
    search.found.problems.push_back(fmt::format("{} announced processes require a token", with_token));
  }
}

void EndpointFinder::find_listening(Search& search) {
  ListeningProcesses listening =
      find_listening_processes(listening_, proc_fs_, [this](uint32_t pid) { return job_of(pid); });
  for (const ListeningProcess& process : listening.processes) {
    const auto endpoint = config::parse_scrape_endpoint(process.base_url);
    if (!endpoint || is_configured(process.base_url, process.pid) ||
        search.announced.contains(program_of(*endpoint, process.pid))) {
      continue;
    }
    for (const std::string& path : process.paths) {
      add({process.pid, process.started_ns}, process.base_url + path, search);
    }
  }
  std::ranges::move(listening.problems, std::back_inserter(search.found.problems));
}

FoundEndpoints EndpointFinder::find(const WantedKinds& kinds) {
  Search search{.kinds = kinds};
  for (const config::ScrapeEndpoint& endpoint : configured_) {
    if (kinds.has(config::kind_of_endpoint(endpoint))) {
      search.found.endpoints.try_emplace(endpoint.name(), FoundEndpoint{std::nullopt, endpoint});
    }
  }
  if (!announcements_.empty()) {
    find_announced(search);
  }
  if (!listening_.empty()) {
    find_listening(search);
  }
  if (search.beyond != 0) {
    search.found.problems.push_back(
        fmt::format("{} profiles that were found are not scraped: at most {} are", search.beyond, kMaxFound));
  }
  return std::move(search.found);
}

}  // namespace plimsoll::scrape
