#include "config/daemon_config.h"

#include <map>
#include <tuple>

#include "base/time.h"
#include "config/scrape_endpoint.h"

namespace plimsoll::config {

std::vector<Key> DaemonConfig::keys() {
  return {
      {"daemon.server", "Address and port (or URL) of the server's fleet listener. Default: this machine.",
       &server},
      {"daemon.server_ca",
       "File of the certificates, in PEM, of those who sign the server's certificate. Default: whom this "
       "machine "
       "trusts.",
       &server_ca},
      {"daemon.certificate",
       "File of this machine's certificate, in PEM; its common name is machine.id. Default: none.",
       &certificate},
      {"daemon.key", "File of the key of that certificate, in PEM, without a password.", &key},
      {"daemon.enrolment_file",
       "File of a token that permits machines to enrol at the server. The daemon makes a token of its own, "
       "which it "
       "keeps in its\n"
       "state_dir and is known by from then on. Default: none.",
       &enrolment_file},
      {"daemon.user",
       "User, by name or number, that the daemon becomes where root starts it. It keeps the four "
       "capabilities\n"
       "that it needs. Default: none, which stays root, without root's other capabilities.",
       &user},
      {"daemon.seccomp",
       "Refuses all system calls but those that the daemon needs, once it runs. (docs/security.md)",
       &seccomp},
      {"daemon.state_dir",
       "Folder of this daemon's own, which its user may write: profiles that wait to be sent are kept in its "
       "\"spool\".\n"
       "Created where it is missing.",
       &state_dir},
      {"machine.id",
       "Name of this machine, unique in the fleet. Default: none, which derives one from /etc/machine-id.",
       &machine_id},
      {"machine.datacenter", "Where this machine stands. Default: unknown.", &datacenter},
      {"machine.cluster", "The group of machines that it belongs to. Default: unknown.", &cluster},
      {"identity.environment",
       "Names of environment variables that the rules below may read, such as [\"JOB_NAME\"]. No other is "
       "kept, "
       "and none\n"
       "leaves the machine but in what rules make of it, or as a label. Default: none.",
       &identity.environment},
      {"identity.labels",
       "What goes along with each process of a profile: \"pod\", \"unit\", and names from "
       "identity.environment.",
       &identity.labels},
      {"identity.rules",
       "Who a process works for, where the control group's container or unit and the executable do not tell: "
       "the "
       "first\n"
       "rule of which all patterns match gives job and instance (docs/identity.md). In this file alone, one "
       "table "
       "a rule:",
       TableList(&identity.rules)},
      {"limits.max_rate_hz", "Most samples a second and CPU that a server may ask for.", &max_rate_hz,
       Range{1, 10'000}},
      {"limits.max_stack_rate_hz",
       "Most samples a second and CPU that come with their stack. A server may ask for more samples than "
       "that: the\n"
       "others say only where the program was.",
       &max_stack_rate_hz, Range{1, 10'000}},
      {"limits.max_stack_bytes", "Most of a thread's stack that is copied with a sample.",
       SizeBytes{&max_stack_bytes}, Range{int64_t{8} << 10, int64_t{64} << 10}},
      {"limits.max_cpu_percent",
       "CPU time that the daemon may have, in percent of one core, averaged over a minute. Where an "
       "assignment "
       "would need\n"
       "more, fewer samples are taken, each standing for more; where even that is too much, sampling pauses.",
       &max_cpu_percent, Range{0, 100}},
      {"limits.max_memory",
       "Memory that the daemon may have resident. Before it has more, it ends the window early.",
       SizeBytes{&max_memory_bytes}, Range{int64_t{16} << 20, int64_t{64} << 30}},
      {"limits.max_window", "Longest raw profile that a server may ask for.", DurationNs{&max_window_ns},
       Range{kNsPerSecond, 24 * kNsPerHour}},
      {"limits.events",
       "Events that a server may ask for, each by its name: \"cycles\" does not permit \"cpu/event=0x3c/\".\n"
       "Default: none named, which permits all (docs/events.md).",
       &events},
      {"limits.max_spool_bytes",
       "Most bytes of disk for profiles that wait to be sent. The oldest is dropped first.",
       SizeBytes{&max_spool_bytes}, Range{int64_t{1} << 20, int64_t{1} << 40}},
      {"limits.max_spool_age",
       "Longest time that a profile waits to be sent. The server knows profiles it has accepted for longer.",
       DurationNs{&max_spool_age_ns}, Range{60 * kNsPerSecond, int64_t{30} * 24 * kNsPerHour}},
      {"count.groups",
       "Control groups whose events are counted exactly, besides what is sampled: regular expressions, each "
       "for a part of\n"
       "the path unless anchored, such as [\"^/system[.]slice/web@\"]. The first ones have precedence "
       "(docs/events.md).\n"
       "No server can ask for it. Default: none.",
       &count.groups},
      {"count.events",
       "What is counted for them: names as in limits.events, which holds for these, too. The event "
       "\"exact-cycles\" of a\n"
       "profile is what \"cycles\" counted.",
       &count.events},
      {"count.max_fds",
       "Most file descriptors for that: groups x events x CPUs. Groups beyond are left out, and profiles say "
       "so.",
       &count.max_fds, Range{1, 100'000}},
      {"scrape.endpoints",
       "Where applications of this machine hand out profiles of their heap and locks, such as\n"
       "[\"http://127.0.0.1:8080/pprof/heap\", \"http://127.0.0.1:8080/pprof/contention\"]. The format is "
       "told by the\n"
       "content: pprof, or the text of heap and contention profiles. Default: none.",
       &scrape_endpoints},
      {"scrape.interval", "Time between two scrapes of an endpoint, on average.",
       DurationNs{&scrape_interval_ns}, Range{kNsPerSecond, 24 * kNsPerHour}},
      {"scrape.timeout", "Longest time that one scrape may take.", DurationNs{&scrape_timeout_ns},
       Range{kNsPerSecond / 10, 300 * kNsPerSecond}},
      {"scrape.max_bytes", "Largest profile that is taken from an application.", SizeBytes{&scrape_max_bytes},
       Range{1024, int64_t{64} << 20}},
      {"scrape.beyond_loopback",
       "Permits endpoints on other machines. Their profiles count as this machine's.",
       &scrape_beyond_loopback},
  };
}

namespace {

Status check_scrape_endpoints(const DaemonConfig& config) {
  constexpr size_t kMaxEndpoints = 100;
  if (config.scrape_endpoints.size() > kMaxEndpoints) {
    return fail(ErrorCode::kInvalid, "{} endpoints to scrape, over {}", config.scrape_endpoints.size(),
                kMaxEndpoints);
  }
  std::map<std::tuple<std::string, uint16_t, ScrapeKind>, std::string> known;
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
    const auto [other, is_new] = known.try_emplace({endpoint->host, endpoint->port, kind}, url);
    if (!is_new && kind != ScrapeKind::kUnknown) {
      return with_hint(
          fail(ErrorCode::kInvalid, "{} and {} tell the same things of one program, which would count twice",
               other->second, url),
          "leave one of them out");
    }
  }
  return {};
}

}  // namespace

Result<DaemonConfig> load_daemon_config(const LoadInputs& inputs) {
  DaemonConfig config;
  if (const auto sources = load(config.keys(), inputs); !sources) {
    return propagate(sources);
  }
  if (config.max_cpu_percent <= 0) {
    return with_field(fail(ErrorCode::kInvalid, "no CPU time at all: not even registering would be possible"),
                      "limits.max_cpu_percent");
  }
  if (config.state_dir.empty()) {
    return with_field(fail(ErrorCode::kInvalid, "daemon.state_dir is empty"), "daemon.state_dir");
  }
  if (auto checked = check_scrape_endpoints(config); !checked) {
    return with_field(propagate(checked), "scrape.endpoints");
  }
  return config;
}

}  // namespace plimsoll::config
