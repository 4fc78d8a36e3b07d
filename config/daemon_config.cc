#include "config/daemon_config.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "base/time.h"
#include "config/scrape_endpoint.h"

namespace plimsoll::config {
namespace {

// The keys of each table of the file, in its order.
std::vector<Key> daemon_keys(DaemonConfig& config) {
  return {
      {"daemon.server", "Address and port (or URL) of the server's fleet listener. Default: this machine.",
       &config.server},
      {"daemon.server_ca",
       "Certificate authorities that sign the server's certificate, a PEM file. Default: the trust store of "
       "this machine.",
       &config.server_ca},
      {"daemon.certificate",
       "Certificate of this machine, a PEM file; its common name is machine.id. Default: none.",
       &config.certificate},
      {"daemon.key", "Key of that certificate, a PEM file without a password.", &config.key},
      {"daemon.enrolment_file",
       "File of a token with the role enrol. With it the daemon registers once, under a token of its own, "
       "which it creates and keeps\nin state_dir. Default: none.",
       &config.enrolment_file},
      {"daemon.user",
       "User, by name or number, that the daemon switches to when root starts it. It keeps the four "
       "capabilities\nthat it needs. Default: none, the daemon stays root, without root's other "
       "capabilities.",
       &config.user},
      {"daemon.seccomp",
       "Permits only the system calls that the daemon needs, after start (docs/security.md).",
       &config.seccomp},
      {"daemon.state_dir",
       "Folder that only this daemon uses, writable by its user. Unsent profiles are in its "
       "\"spool\".\nCreated if missing.",
       &config.state_dir},
  };
}

std::vector<Key> machine_keys(DaemonConfig& config) {
  return {
      {"machine.id", "Name of this machine, unique in the fleet. Default: derived from /etc/machine-id.",
       &config.machine_id},
      {"machine.datacenter", "Datacenter of this machine. Default: unknown.", &config.datacenter},
      {"machine.cluster", "Cluster of this machine. Default: unknown.", &config.cluster},
  };
}

std::vector<Key> identity_keys(DaemonConfig& config) {
  return {
      {"identity.environment",
       "Environment variables that the rules below may read, such as [\"JOB_NAME\"]. No other variable is "
       "kept, and values leave\nthe machine only in the result of a rule, or as a label. Default: none.",
       &config.identity.environment},
      {"identity.labels",
       "Labels of each process in a profile: \"pod\", \"unit\", and names from identity.environment.",
       &config.identity.labels},
      {"identity.rules",
       "Job and instance of a process, where the container, the systemd unit and the executable do not "
       "identify it. The first\nrule whose patterns all match applies (docs/identity.md). Only in this file, "
       "one table per rule:",
       TableList(&config.identity.rules)},
  };
}

std::vector<Key> daemon_limits_keys(DaemonConfig& config) {
  return {
      {"limits.max_rate_hz", "Maximum samples per second and CPU that the server may request.",
       &config.max_rate_hz, Range{1, 10'000}},
      {"limits.max_stack_rate_hz",
       "Maximum samples per second and CPU with a stack. Samples over it have the instruction address only.",
       &config.max_stack_rate_hz, Range{1, 10'000}},
      {"limits.max_stack_bytes", "Maximum bytes of a thread's stack copied with a sample.",
       SizeBytes{&config.max_stack_bytes}, Range{int64_t{8} << 10, int64_t{64} << 10}},
      {"limits.max_cpu_percent",
       "Maximum CPU time of the daemon, in percent of one core, averaged over a minute. An assignment that "
       "needs more is sampled\nat a lower rate, with samples of a higher weight; if that is still too much, "
       "sampling pauses.",
       &config.max_cpu_percent, Range{0, 100}},
      {"limits.max_memory",
       "Maximum resident memory of the daemon. It ends a window early rather than exceed it.",
       SizeBytes{&config.max_memory_bytes}, Range{int64_t{16} << 20, int64_t{64} << 30}},
      {"limits.max_window", "Maximum length of a raw profile that the server may request.",
       DurationNs{&config.max_window_ns}, Range{kNsPerSecond, 24 * kNsPerHour}},
      {"limits.events",
       "Events that the server may request, by name: \"cycles\" does not permit "
       "\"cpu/event=0x3c/\".\nDefault: an empty list, which permits all (docs/events.md).",
       &config.events},
      {"limits.max_spool_bytes", "Disk limit for unsent profiles. The oldest is dropped first.",
       SizeBytes{&config.max_spool_bytes}, Range{int64_t{1} << 20, int64_t{1} << 40}},
      {"limits.max_spool_age",
       "Maximum age of unsent profiles. The server remembers accepted profiles for longer.",
       DurationNs{&config.max_spool_age_ns}, Range{60 * kNsPerSecond, int64_t{30} * 24 * kNsPerHour}},
  };
}

std::vector<Key> count_keys(DaemonConfig& config) {
  return {
      {"count.groups",
       "Control groups whose events are counted exactly, in addition to sampling: regular expressions, each "
       "for a part of\nthe path unless anchored, such as [\"^/system[.]slice/web@\"]. Earlier ones have "
       "precedence (docs/events.md).\nThe server cannot request this. Default: none.",
       &config.count.groups},
      {"count.events",
       "Events counted for them; limits.events applies to them too. The count of \"cycles\" is the event "
       "\"exact-cycles\" of the\nprofile.",
       &config.count.events},
      {"count.max_fds",
       "Maximum file descriptors for these counters: groups x events x CPUs. Groups over the limit are "
       "omitted, and profiles say so.",
       &config.count.max_fds, Range{1, 100'000}},
  };
}

std::vector<Key> scrape_keys(DaemonConfig& config) {
  return {
      {"scrape.endpoints",
       "URLs of heap and lock profiles of applications on this machine, such "
       "as\n[\"http://127.0.0.1:8080/pprof/heap\", \"http://127.0.0.1:8080/pprof/contention\"]. The format "
       "is detected from the\ncontent: pprof, or text of heap and contention profiles. Default: none.",
       &config.scrape_endpoints},
      {"scrape.interval", "Time between two scrapes of an endpoint, on average.",
       DurationNs{&config.scrape_interval_ns}, Range{kNsPerSecond, 24 * kNsPerHour}},
      {"scrape.timeout", "Timeout of one scrape.", DurationNs{&config.scrape_timeout_ns},
       Range{kNsPerSecond / 10, 300 * kNsPerSecond}},
      {"scrape.max_bytes", "Maximum size of an application's profile.", SizeBytes{&config.scrape_max_bytes},
       Range{1024, int64_t{64} << 20}},
      {"scrape.beyond_loopback",
       "Permits endpoints on other machines. Their profiles are attributed to this machine.",
       &config.scrape_beyond_loopback},
      {"scrape.announcements",
       "Folder in which processes announce profiles of themselves, such as "
       "\"/run/plimsoll/appprof\"\n(docs/appprof.md). Those of this machine's loopback are scraped like "
       "endpoints. Default: none.",
       &config.scrape_announcements},
      {"scrape.announced_kinds",
       "Kinds of announced profiles that are scraped, of: heap, allocs, growth, contention (by who waited "
       "for "
       "a lock) or mutex (by\nwho held it), block, profile, wall. The last two interrupt the program for 5 "
       "seconds of each interval.",
       &config.scrape_announced_kinds},
      {"scrape.announced_jobs",
       "Jobs whose announced profiles are scraped, as identity.rules name them. Default: an empty list, "
       "all jobs.",
       &config.scrape_announced_jobs},
  };
}

Status check_scrape_endpoints(const DaemonConfig& config) {
  constexpr size_t kMaxEndpoints = 100;
  if (config.scrape_endpoints.size() > kMaxEndpoints) {
    return fail(ErrorCode::kInvalid, "{} endpoints to scrape, over {}", config.scrape_endpoints.size(),
                kMaxEndpoints);
  }
  std::map<std::pair<std::string, ScrapeKind>, std::string> known;
  for (const std::string& url : config.scrape_endpoints) {
    const auto endpoint = parse_scrape_endpoint(url);
    if (!endpoint) {
      return propagate(endpoint);
    }
    if (!endpoint->is_loopback && !config.scrape_beyond_loopback) {
      return with_hint(fail(ErrorCode::kDenied, "{} is not on this machine's loopback", url),
                       "name 127.0.0.1, or permit others with scrape.beyond_loopback");
    }
    const ScrapeKind kind = scrape_kind(*endpoint);
    const auto [other, is_new] = known.try_emplace({endpoint->program(), kind}, url);
    if (!is_new && kind != ScrapeKind::kUnknown) {
      return with_hint(
          fail(ErrorCode::kInvalid, "{} and {} are the same profile of one program, which would count twice",
               other->second, url),
          "remove one of them");
    }
  }
  return {};
}

}  // namespace

std::vector<Key> DaemonConfig::keys() {
  std::vector<Key> all;
  for (const auto keys_of_table :
       {daemon_keys, machine_keys, identity_keys, daemon_limits_keys, count_keys, scrape_keys}) {
    std::ranges::move(keys_of_table(*this), std::back_inserter(all));
  }
  return all;
}

Result<DaemonConfig> load_daemon_config(const LoadInputs& inputs) {
  DaemonConfig config;
  if (const auto sources = load(config.keys(), inputs); !sources) {
    return propagate(sources);
  }
  if (config.max_cpu_percent <= 0) {
    return with_field(fail(ErrorCode::kInvalid,
                           "limits.max_cpu_percent must be above 0: the daemon could not even register"),
                      "limits.max_cpu_percent");
  }
  if (config.state_dir.empty()) {
    return with_field(fail(ErrorCode::kInvalid, "daemon.state_dir is empty"), "daemon.state_dir");
  }
  for (const std::string& kind : config.scrape_announced_kinds) {
    if (path_of_announced_kind(kind).empty()) {
      return with_field(
          fail(ErrorCode::kInvalid, "\"{}\" is no kind of announced profiles that are scraped", kind),
          "scrape.announced_kinds");
    }
  }
  const auto scrapes = [&](const char* kind) {
    return std::ranges::find(config.scrape_announced_kinds, kind) != config.scrape_announced_kinds.end();
  };
  if (scrapes("contention") && scrapes("mutex")) {
    return with_field(
        fail(ErrorCode::kInvalid,
             "contention and mutex have the same waits, which would count twice: give one of them"),
        "scrape.announced_kinds");
  }
  if (auto checked = check_scrape_endpoints(config); !checked) {
    return with_field(propagate(checked), "scrape.endpoints");
  }
  return config;
}

}  // namespace plimsoll::config
