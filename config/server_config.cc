#include "config/server_config.h"

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <string_view>

#include "base/time.h"

namespace plimsoll::config {
namespace {

Status check_token(const AccessToken& token) {
  // What "sha256sum </dev/null" prints, and a script that lost its token.
  constexpr std::string_view kHashOfNothing =
      "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
  constexpr std::array<std::string_view, 4> kRoles{"read", "admin", "upload", "enrol"};
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  if (token.name.empty()) {
    return fail(ErrorCode::kInvalid, "a token without a name");
  }
  if (token.sha256.size() != 64 || !std::ranges::all_of(token.sha256, is_digit)) {
    return with_hint(fail(ErrorCode::kInvalid,
                          "the token of {}: sha256 is to be 64 hexadecimal digits in lower case", token.name),
                     "plimsoll token prints them");
  }
  if (token.sha256 == kHashOfNothing) {
    return with_hint(
        fail(ErrorCode::kInvalid, "the token of {}: sha256 is that of an empty text", token.name),
        "plimsoll token makes a token, and prints its sha256");
  }
  if (auto expires = token.expires_ns(); !expires) {
    return propagate(expires, "the token of {}", token.name);
  }
  return std::ranges::find(kRoles, token.role) != kRoles.end()
             ? Status()
             : with_hint(fail(ErrorCode::kInvalid, "the token of {}: there is no role \"{}\"", token.name,
                              token.role),
                         "roles are read, admin, upload and enrol");
}

Status check_tokens(const std::vector<AccessToken>& tokens) {
  std::set<std::string> seen;
  for (const AccessToken& token : tokens) {
    if (auto checked = check_token(token); !checked) {
      return checked;
    }
    if (!seen.insert(token.sha256).second) {
      return fail(ErrorCode::kInvalid, "the token of {} is given twice", token.name);
    }
  }
  return {};
}

}  // namespace

std::vector<Key> AccessToken::keys() {
  return {
      {"name", "Whose it is: what the log of requests calls him.", &name},
      {"sha256", "SHA-256 of the token, as plimsoll token prints it.", &sha256},
      {"role",
       "What it permits: \"read\" (to ask), \"admin\" (to ask, to give orders, to see who asked for what), "
       "\"upload\" (to hand in profiles\n"
       "of any machine), \"enrol\" (machines that are new here to make themselves known).",
       &role},
      {"expires",
       "When it counts no more, such as \"2027-12-31\" or \"2027-12-31T18:00:00Z\". Default: never.",
       &expires},
  };
}

Result<int64_t> AccessToken::expires_ns() const {
  if (expires.empty()) {
    return std::numeric_limits<int64_t>::max();
  }
  const bool is_day = expires.size() == std::string_view("2027-12-31").size();
  const auto time_ns = parse_time_ns(is_day ? expires + "T00:00:00Z" : expires, 0);
  return time_ns && *time_ns > 0
             ? Result<int64_t>(*time_ns)
             : with_hint(fail(ErrorCode::kInvalid, "expires is \"{}\", which is no day and no time", expires),
                         "write \"2027-12-31\" or \"2027-12-31T18:00:00Z\"");
}

std::vector<Key> ServerConfig::keys() {
  constexpr int64_t kMillisecondNs = kNsPerSecond / 1000;
  return {
      {"server.data",
       "Folder that holds everything the server keeps. Needed here or as --data; there is no default.",
       &data_dir},
      {"server.listen",
       "Address and port for people: command line, API and web page. Default: this machine only.", &listen},
      {"server.fleet_listen", "Address and port for daemons. Default: this machine only.", &fleet_listen},
      {"server.hosts",
       "Names by which clients reach it, besides addresses, localhost and this machine's own name. Others "
       "are refused where "
       "nobody\n"
       "is asked for a token, since any page on the Internet may have a name that leads here. Default: none.",
       &hosts},
      {"server.certificate",
       "File of the server's certificate, in PEM, with those that vouch for it after it. With it both "
       "addresses "
       "speak TLS (https://).\n"
       "Default: none.",
       &certificate},
      {"server.key", "File of the key of that certificate, in PEM, without a password.", &key},
      {"access.tokens",
       "Who may ask for what: one table a token, as plimsoll token makes them. Where there is one, or "
       "access.machine_ca, everybody is\n"
       "asked who he is. In this file alone (docs/security.md):",
       TableList(&access_tokens)},
      {"access.machine_ca",
       "File of the certificates, in PEM, of those who sign machines' certificates: a daemon that shows one "
       "(daemon.certificate) is the\n"
       "machine that its common name says. Takes server.certificate. Default: none.",
       &access_machine_ca},
      {"access.allow_unauthenticated",
       "Listens beyond loopback even if nobody is asked who he is: whoever reaches the addresses may do "
       "everything.",
       &access_allow_unauthenticated},
      {"access.max_requests_per_minute",
       "Of each machine that is known by a token or a certificate; what is more it hears it is to send "
       "later. "
       "0: no limit.",
       &access_max_requests_per_minute, Range{0, 1'000'000}},
      {"access.max_requests_per_minute_per_token",
       "The same of each token that permits to ask or to hand in; orders never wait. 0: no limit.",
       &access_max_requests_per_minute_per_token, Range{0, 1'000'000}},
      {"collect.events",
       "Events that drawn machines collect, such as \"cycles\". Default: none, which leaves the choice to\n"
       "each daemon: cycles where the machine counts them, else cpu-clock.",
       &collect_events},
      {"collect.rate_hz", "Samples a second and CPU.", &collect_rate_hz, Range{1, 10'000}},
      {"collect.stack_rate_hz",
       "Samples a second and CPU that come with their stack, at most rate_hz; the others, which cost a "
       "fraction, say\n"
       "only where the program was. Default: 0, which means all.",
       &collect_stack_rate_hz, Range{0, 10'000}},
      {"collect.stack_bytes",
       "How much of a thread's stack is copied with a sample. Deeper stacks end unfinished.",
       SizeBytes{&collect_stack_bytes}, Range{int64_t{8} << 10, int64_t{64} << 10}},
      {"collect.window", "Length of one raw profile: for how long a drawn machine measures.",
       DurationNs{&collect_window_ns}, Range{100 * kMillisecondNs, kNsPerHour}},
      {"draw.interval",
       "How often random machines are drawn, in whole seconds; those measure once in the interval, as many "
       "as may at the same time.\n"
       "Default: 0, which means that every machine collects all the time.",
       DurationNs{&draw_interval_ns}, Range{0, 168 * kNsPerHour}},
      {"draw.percent", "Of the machines that are alive, how many are drawn, in percent.", &draw_percent,
       Range{0, 100}},
      {"draw.machines", "How many are drawn, in place of percent. Default: 0, which means by percent.",
       &draw_machines, Range{0, 10'000'000}},
      {"draw.strata",
       "Attributes that part the fleet into strata, each of which is drawn from separately, so that rare "
       "hardware is\n"
       "there in every draw: platform, datacenter, cluster, architecture, cpu_model, kernel, os, "
       "daemon_version.",
       &draw_strata},
      {"draw.min_per_stratum", "Machines of each stratum that are drawn at least; all of one that has fewer.",
       &draw_min_per_stratum, Range{1, 1'000'000}},
      {"draw.min_per_job",
       "Of the machines that run a job, how many are drawn at least, on average, for each job. Default: 0, "
       "as they come.",
       &draw_min_per_job, Range{0, 1'000'000}},
      {"draw.max_percent_per_job",
       "Of the instances of a job, how many may be measured at once, in percent; one always may. Machines "
       "for which there is no room\n"
       "measure later in the interval, or not at all.",
       &draw_max_percent_per_job, Range{0, 100}},
      {"draw.max_percent_per_platform", "The same of the machines of a platform.",
       &draw_max_percent_per_platform, Range{0, 100}},
      {"draw.max_percent_per_rack", "The same of the machines of a rack, as the inventory has them.",
       &draw_max_percent_per_rack, Range{0, 100}},
      {"draw.max_overhead_percent",
       "How much of the fleet's CPU time daemons may take on average over an hour, in percent, by what they "
       "report. Where they take more,\n"
       "fewer of the machines that are drawn measure, at least one.",
       &draw_max_overhead_percent, Range{0, 100}},
      {"draw.cooldown",
       "For how long a machine that was drawn is not drawn again. Machines then take turns, and none is "
       "drawn "
       "with a larger probability\n"
       "than turns allow, whatever minima ask for. Default: 0, which means that chance alone decides.",
       DurationNs{&draw_cooldown_ns}, Range{0, 168 * kNsPerHour}},
      {"draw.event_sets",
       "Sets of events that take turns over draws, each as names with spaces between, such as\n"
       "[\"cycles instructions\", \"cache-misses branch-misses\"]. Default: none, which means collect.events "
       "always.",
       &draw_event_sets},
      {"draw.late_after",
       "How long after its window a draw waits for profiles. Those that come later count as well, and are "
       "called late.",
       DurationNs{&draw_late_after_ns}, Range{0, 24 * kNsPerHour}},
      {"draw.stop_percent",
       "Of the machines told to measure within an hour, how many may fail, in percent. Where more do, the "
       "event set, daemon version\n"
       "or platform that fails is stopped, or everything if it spreads; plimsoll draws says so.",
       &draw_stop_percent, Range{1, 100}},
      {"draw.stop_min_failures", "Failures that there must be at least, before anything is stopped.",
       &draw_stop_min_failures, Range{1, 1'000'000}},
      {"draw.stop_pause",
       "How long what was stopped is let alone before one machine of it is tried again, then a tenth, then "
       "all. Doubles each\n"
       "time that it fails again.",
       DurationNs{&draw_stop_pause_ns}, Range{kNsPerSecond, 24 * kNsPerHour}},
      {"inventory.machines",
       "File, or URL with http:// or https://, of what is known of machines: CSV whose first line names "
       "columns, or a "
       "JSON list of objects:\n"
       "machine, datacenter, cluster, rack, platform, owner. What it says holds, whatever machines say of "
       "themselves. Default: none.",
       &inventory_machines},
      {"inventory.jobs",
       "The same of what a cluster manager runs on machines: machine, job, instance (empty: all of the job "
       "on "
       "that machine), quota_cpus,\n"
       "weight. It holds against what machines count themselves. Names are to be those that profiles have.",
       &inventory_jobs},
      {"inventory.interval", "How often it is read again.", DurationNs{&inventory_interval_ns},
       Range{kNsPerSecond, 24 * kNsPerHour}},
      {"fleet.heartbeat", "How often a daemon asks for work.", DurationNs{&heartbeat_ns},
       Range{100 * kMillisecondNs, kNsPerHour / 6}},
      {"fleet.max_connections",
       "Daemons that may be connected at once; others wait. Each keeps its connection where heartbeats come "
       "every 30 s or more\n"
       "often. Takes as many open files, and some 20 KiB each.",
       &fleet_max_connections, Range{16, 1'000'000}},
      {"fleet.machine_ttl",
       "Machines that were not heard of for so long are forgotten, and what the fleet was like so long ago: "
       "attributes, the inventory,\nwhich job ran where with which quota. What was measured stays.",
       DurationNs{&fleet_machine_ttl_ns}, Range{kNsPerHour, int64_t{10} * 365 * 24 * kNsPerHour}},
      {"limits.max_profile_bytes", "Largest raw profile that is accepted.", SizeBytes{&max_profile_bytes},
       Range{int64_t{4} << 10, int64_t{1} << 30}},
      {"store.max_segment_rows",
       "Largest segment that merging makes, in rows. Merging holds it in memory: 1 to 3 bytes for each of "
       "them.",
       &store_max_segment_rows, Range{int64_t{1} << 16, int64_t{1} << 30}},
      {"symbols.roots", "Folders whose files the symbolizer may open when a profile names them.",
       &symbol_roots},
      {"symbols.debug_roots",
       "Folders that hold separate debug files as Debian's -dbgsym packages install them: by build ID\n"
       "(.build-id/xx/yyyy.debug), or below the path of the binary's folder.",
       &symbol_debug_roots},
      {"symbols.retry", "How often to look whether better symbols have appeared for binaries that lack some.",
       DurationNs{&symbol_retry_ns}, Range{kNsPerSecond, 24 * kNsPerHour}},
      {"symbols.max_memory_bytes",
       "Most memory for the process that reads a binary's symbols; mapped files do not count. A binary that\n"
       "takes more has the names of its symbol table, without files and lines.",
       SizeBytes{&symbol_max_memory_bytes}, Range{int64_t{16} << 20, int64_t{64} << 30}},
  };
}

Result<ServerConfig> load_server_config(const LoadInputs& inputs) {
  ServerConfig config;
  if (const auto sources = load(config.keys(), inputs); !sources) {
    return propagate(sources);
  }
  if (config.collect_stack_rate_hz > config.collect_rate_hz) {
    return with_field(fail(ErrorCode::kInvalid, "{} stacks a second of {} samples a second",
                           config.collect_stack_rate_hz, config.collect_rate_hz),
                      "collect.stack_rate_hz");
  }
  if (const auto checked = check_tokens(config.access_tokens); !checked) {
    return with_field(propagate(checked), "access.tokens");
  }
  if (!config.access_machine_ca.empty() && config.certificate.empty()) {
    return with_field(
        fail(ErrorCode::kInvalid, "machines can show certificates only where the server has one"),
        "server.certificate");
  }
  return config;
}

}  // namespace plimsoll::config
