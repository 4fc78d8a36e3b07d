#include "config/daemon_config.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "base/time.h"
#include "config/binary_content.h"
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
       "as\n[\"http://127.0.0.1:8080/pprof/heap\", \"unix:/run/job.sock:/pprof/contention\"]. The format "
       "is detected from the\ncontent: pprof, or text of heap and contention profiles. Default: none.",
       &config.scrape_endpoints},
      {"scrape.schedule",
       "When endpoints are scraped: \"interval\", each in every scrape.interval, or \"assigned\", only while "
       "the "
       "server asks for their\nkinds (collect.application_kinds): within the window of a draw, or in every "
       "scrape.interval where it draws no machines\n(docs/application-profiles.md).",
       &config.scrape_schedule},
      {"scrape.interval", "Time between two scrapes of an endpoint, on average.",
       DurationNs{&config.scrape_interval_ns}, Range{kNsPerSecond, 24 * kNsPerHour}},
      {"scrape.timeout", "Timeout of one scrape.", DurationNs{&config.scrape_timeout_ns},
       Range{kNsPerSecond / 10, 300 * kNsPerSecond}},
      {"scrape.max_bytes", "Maximum size of an application's profile.", SizeBytes{&config.scrape_max_bytes},
       Range{1024, int64_t{64} << 20}},
      {"scrape.parallel",
       "Maximum number of profiles that are fetched at the same time, each of another program. Each has "
       "the timeout and\nthe maximum size above, and memory for as many answers can be in use.",
       &config.scrape_parallel, Range{1, 64}},
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
      {"scrape.listening",
       "Listening sockets of processes that announce nothing: what answers there on loopback, or at an "
       "address of the process's\nown network namespace, is scraped. The first rule that a process and its "
       "port "
       "meet applies (docs/application-profiles.md).\nOnly in this file, one table per rule:",
       TableList(&config.scrape_listening)},
  };
}

std::vector<Key> burst_limits_keys(DaemonConfig& config) {
  return {
      {"bursts.permit",
       "Permits the server to have this machine record bursts within the limits below: which thread ran when "
       "and who woke it, with\nnames and IDs of all threads (docs/bursts.md). Default: not permitted.",
       &config.bursts_permit},
      {"bursts.events",
       "Events that the server may request besides switches, wake-ups and marks. Of system calls the number "
       "is recorded, and no\nargument; of disks sectors and sizes; of packets sizes; \"samples\" are stacks "
       "of the threads that run; of \"applications\",\nnot permitted by default, their own texts.",
       &config.bursts_events},
      {"bursts.max_share_percent", "Maximum share of the time in bursts: 2^-M of a burst-config M,N.",
       &config.bursts_max_share_percent, Range{0, 50}},
      {"bursts.max_burst", "Maximum length of a burst: 2^N ms.", DurationNs{&config.bursts_max_burst_ns},
       Range{kNsPerMs, 20 * kNsPerMinute}},
      {"bursts.max_duration", "Maximum time for which one assignment records bursts.",
       DurationNs{&config.bursts_max_duration_ns}, Range{kNsPerSecond, 6 * kNsPerHour}},
      {"bursts.max_bytes", "Maximum size of the recordings of one assignment, compressed. Then it ends.",
       SizeBytes{&config.bursts_max_bytes}, Range{int64_t{64} << 10, int64_t{1} << 30}},
      {"bursts.max_overhead_percent",
       "Maximum CPU time that recording takes, in percent of the machine's CPU time over an assignment. Then "
       "it "
       "ends. CPU time of\nthe daemon is also held within limits.max_cpu_percent: bursts are skipped while "
       "sampling would pause.",
       &config.bursts_max_overhead_percent, Range{0, 100}},
      {"bursts.max_memory",
       "Maximum memory of a recording while it is made, in addition to limits.max_memory. Events of a burst "
       "that do not fit are lost,\nand counted.",
       SizeBytes{&config.bursts_max_memory_bytes}, Range{int64_t{4} << 20, int64_t{1} << 30}},
      {"bursts.max_spool_bytes", "Disk limit for unsent recordings. The oldest is dropped first.",
       SizeBytes{&config.bursts_max_spool_bytes}, Range{int64_t{1} << 20, int64_t{1} << 40}},
  };
}

std::vector<Key> upload_keys(DaemonConfig& config) {
  return {
      {"binaries.upload",
       "Which binaries may be sent to the server: \"none\", or \"listed\", those of binaries.paths that were "
       "sampled and that the server lacks\n(docs/binaries.md).",
       &config.binaries_upload},
      {"binaries.paths",
       "Paths of these binaries, as patterns of a shell for the whole path, such as [\"/srv/*/bin/*\"]: *, ? "
       "and [...] match no \"/\".\nDefault: none.",
       &config.binaries_paths},
      {"binaries.content",
       "What of them may be sent, at most: \"symbols\", \"debug\" (symbols and DWARF), or \"code\" (whole "
       "files).",
       &config.binaries_content},
      {"binaries.ask_interval", "How often the server is asked whether it lacks a binary.",
       DurationNs{&config.binaries_ask_interval_ns}, Range{kNsPerSecond, 24 * kNsPerHour}},
      {"binaries.max_file_bytes", "Maximum size of a binary that is sent.",
       SizeBytes{&config.binaries_max_file_bytes}, Range{4096, int64_t{64} << 30}},
      {"binaries.max_bytes_per_second", "Rate limit of sending binaries, as compressed.",
       SizeBytes{&config.binaries_max_bytes_per_second}, Range{int64_t{16} << 10, int64_t{1} << 30}},
  };
}

Status check_uploads(const DaemonConfig& config) {
  const bool is_listed = config.binaries_upload == "listed";
  if (!is_listed && config.binaries_upload != "none") {
    return with_hint(with_field(fail(ErrorCode::kInvalid, "no such choice: \"{}\"", config.binaries_upload),
                                "binaries.upload"),
                     "write \"none\" or \"listed\"");
  }
  if (const Status known = check_binary_content(config.binaries_content); !known) {
    return known;
  }
  return is_listed && config.binaries_paths.empty()
             ? with_field(fail(ErrorCode::kInvalid, "binaries.upload = \"listed\" requires binaries.paths"),
                          "binaries.paths")
             : Status();
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
  for (const auto keys_of_table : {daemon_keys, machine_keys, identity_keys, daemon_limits_keys, count_keys,
                                   scrape_keys, burst_limits_keys, upload_keys}) {
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
  if (config.scrape_schedule != "interval" && config.scrape_schedule != "assigned") {
    return with_hint(with_field(fail(ErrorCode::kInvalid, "no such choice: \"{}\"", config.scrape_schedule),
                                "scrape.schedule"),
                     "write \"interval\" or \"assigned\"");
  }
  if (auto checked = check_application_kinds(config.scrape_announced_kinds); !checked) {
    return with_field(propagate(checked), "scrape.announced_kinds");
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
  for (const ListeningRule& rule : config.scrape_listening) {
    if (auto checked = check(rule); !checked) {
      return with_field(propagate(checked), "scrape.listening");
    }
  }
  if (auto checked = check_scrape_endpoints(config); !checked) {
    return with_field(propagate(checked), "scrape.endpoints");
  }
  const Status uploads = check_uploads(config);
  return uploads ? Result<DaemonConfig>(std::move(config)) : propagate(uploads);
}

}  // namespace plimsoll::config
