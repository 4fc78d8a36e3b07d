#include "config/server_config.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/printable.h"
#include "base/time.h"
#include "config/binary_content.h"
#include "config/scrape_endpoint.h"

namespace plimsoll::config {
namespace {

// Keys that no span can have: names of traces are printable, and cut at 256 bytes (traces::kMaxNameBytes).
Status check_trace_attributes(const std::vector<std::string>& keys) {
  constexpr size_t kMaxTraceAttributes = 32;
  constexpr size_t kMaxKeyBytes = 256;
  if (keys.size() > kMaxTraceAttributes) {
    return fail(ErrorCode::kInvalid, "{} attributes, where at most {} are kept", keys.size(),
                kMaxTraceAttributes);
  }
  for (const std::string& key : keys) {
    if (key.empty()) {
      return fail(ErrorCode::kInvalid, "an attribute has an empty key");
    }
    if (key.size() > kMaxKeyBytes) {
      return fail(ErrorCode::kInvalid, "the key of an attribute has {} bytes, where at most {} are kept",
                  key.size(), kMaxKeyBytes);
    }
    if (printable(key) != key) {
      return fail(ErrorCode::kInvalid, "the key of an attribute is not printable: {}", printable(key));
    }
  }
  return {};
}

constexpr int64_t kMillisecondNs = kNsPerSecond / 1000;
constexpr int64_t kLongestAgeNs = int64_t{20} * 365 * 24 * kNsPerHour;
constexpr int64_t kLargestStoreBytes = int64_t{1} << 50;

// The keys of each table of the file, in its order.
std::vector<Key> server_keys(ServerConfig& config) {
  return {
      {"server.data", "Data directory. Required here or as --data; there is no default.", &config.data_dir},
      {"server.listen",
       "Address and port of the API, for users and the command line. Default: loopback only.",
       &config.listen},
      {"server.fleet_listen", "Address and port for daemons. Default: loopback only.", &config.fleet_listen},
      {"server.hosts",
       "Host names that clients may use, besides addresses, localhost and the name of this machine. Without "
       "authentication, requests\nfor other names are refused: otherwise any web page could send requests "
       "here (DNS rebinding). Default: none.",
       &config.hosts},
      {"server.certificate",
       "Server certificate, a PEM file, followed by its intermediate certificates. Enables TLS (https://) on "
       "both addresses.\nDefault: none.",
       &config.certificate},
      {"server.key", "Key of that certificate, a PEM file without a password.", &config.key},
  };
}

std::vector<Key> access_keys(ServerConfig& config) {
  return {
      {"access.tokens",
       "Tokens of users, one table per token; \"plimsoll token\" prints them. With a token here, or with "
       "access.machine_ca, every client\nmust authenticate. Only in this file, not as a variable "
       "(docs/security.md):",
       TableList(&config.access_tokens)},
      {"access.machine_ca",
       "Certificate authorities that sign certificates of machines, a PEM file. A daemon with such a "
       "certificate (daemon.certificate) is\nthe machine in its common name. Requires server.certificate. "
       "Default: none.",
       &config.access_machine_ca},
      {"access.allow_unauthenticated",
       "Permits non-loopback addresses without authentication: every client that reaches them may do "
       "everything.",
       &config.access_allow_unauthenticated},
      {"access.max_requests_per_minute",
       "Request limit per authenticated machine. Requests over it get 429 with Retry-After. 0: unlimited.",
       &config.access_max_requests_per_minute, Range{0, 1'000'000}},
      {"access.max_requests_per_minute_per_token",
       "Request limit per token with the role read, admin, upload or fdo. Orders are not limited. 0: "
       "unlimited.",
       &config.access_max_requests_per_minute_per_token, Range{0, 1'000'000}},
  };
}

std::vector<Key> query_keys(ServerConfig& config) {
  return {
      {"query.threads",
       "Threads that answer queries. No caller (a token, or an address without one) has all of them, nor "
       "more of "
       "the places to wait\nthan are free. Default: 0, one more than there are CPUs, at least 3.",
       &config.query_threads, Range{0, 1024}},
      {"query.sql_threads",
       "Threads of low priority that answer SQL statements, shared in the same way. Other queries do not "
       "wait for them.",
       &config.query_sql_threads, Range{1, 1024}},
      {"query.max_pending",
       "Maximum queries that wait or are answered at once, and as many SQL statements. Others get 503 with "
       "Retry-After, or 429 where\ntheir caller has its share of the places.",
       &config.query_max_pending, Range{1, 100'000}},
      {"query.max_time", "Time limit of a query. SQL statements have their own.",
       DurationNs{&config.query_max_time_ns}, Range{kNsPerSecond, 24 * kNsPerHour}},
      {"query.sql_max_time", "Time limit of an SQL statement.", DurationNs{&config.query_sql_max_time_ns},
       Range{kNsPerSecond, 24 * kNsPerHour}},
      {"query.sql_max_memory_bytes",
       "Memory limit of an SQL statement, without what it sorts in temporary files; its answer has a quarter "
       "of "
       "that at\nmost. Statements that do not fit into a quarter of the server's memory together wait for "
       "each "
       "other.",
       SizeBytes{&config.query_sql_max_memory_bytes}, Range{int64_t{1} << 20, int64_t{64} << 30}},
  };
}

std::vector<Key> collect_keys(ServerConfig& config) {
  return {
      {"collect.events",
       "Events that drawn machines collect, such as \"cycles\". Default: none, which leaves the choice "
       "to\nthe daemon: cycles where the machine can count them, else cpu-clock.",
       &config.collect_events},
      {"collect.rate_hz", "Samples per second and CPU.", &config.collect_rate_hz, Range{1, 10'000}},
      {"collect.stack_rate_hz",
       "Samples per second and CPU with a stack, at most rate_hz. The other samples cost a fraction and have "
       "the instruction\naddress only. Default: 0, all samples have stacks.",
       &config.collect_stack_rate_hz, Range{0, 10'000}},
      {"collect.stack_bytes", "Bytes of a thread's stack copied with a sample. Deeper stacks are truncated.",
       SizeBytes{&config.collect_stack_bytes}, Range{int64_t{8} << 10, int64_t{64} << 10}},
      {"collect.branch_rate_hz",
       "Recordings of the branches of user code per second and CPU, for compiler profiles (docs/fdo.md), on "
       "machines that have\nthem (Intel LBR, AMD LbrExtV2, Arm BRBE; \"plimsolld probe\" says it). Default: "
       "0, "
       "none.",
       &config.collect_branch_rate_hz, Range{0, 10'000}},
      {"collect.window", "Length of a raw profile: how long a drawn machine is profiled.",
       DurationNs{&config.collect_window_ns}, Range{100 * kMillisecondNs, kNsPerHour}},
      {"collect.application_kinds",
       "Profiles that applications serve of themselves, which the machines collect too whose daemons have "
       "scrape.schedule =\n\"assigned\": heap, allocs, growth, contention or mutex, block, profile, wall, "
       "such as "
       "[\"heap\", \"contention\"]\n(docs/application-profiles.md). Default: none.",
       &config.collect_application_kinds},
  };
}

std::vector<Key> burst_keys(ServerConfig& config) {
  return {
      {"bursts.config",
       "Burst-config \"M,N\" of the bursts that drawn machines record, on machines whose daemons permit it "
       "(docs/bursts.md,\n\"plimsoll bursts plan\"). Default: none.",
       &config.bursts_config},
      {"bursts.duration",
       "How long a drawn machine records bursts, from the start of its window. At least a period and a "
       "burst, "
       "at most\ndraw.interval and 6h.",
       DurationNs{&config.bursts_duration_ns}, Range{100 * kMillisecondNs, 6 * kNsPerHour}},
      {"bursts.events",
       "Events of bursts, besides switches, wake-ups and marks: \"system-calls\" (their numbers), "
       "\"page-faults\", \"disk\",\n\"network\", \"samples\" (stacks of the threads that run), "
       "\"applications\" (what these tell of: RPCs, annotations). Default:\nnone.",
       &config.bursts_events},
      {"bursts.max_bytes",
       "Maximum size of a machine's recordings of one draw, as they are sent. Default: 0, the limit of each "
       "daemon.",
       SizeBytes{&config.bursts_max_bytes}, Range{0, int64_t{1} << 30}},
      {"bursts.max_overhead_percent",
       "Maximum CPU time that recording takes, in percent of the machine's CPU time within bursts.duration. "
       "Recording ends when it\nis used up. Default: 0, the limit of each daemon.",
       &config.bursts_max_overhead_percent, Range{0, 100}},
  };
}

std::vector<Key> draw_keys(ServerConfig& config) {
  return {
      {"draw.interval",
       "How often random machines are drawn, in whole seconds. Each drawn machine is profiled once in the "
       "interval.\nDefault: 0, every machine is profiled all the time.",
       DurationNs{&config.draw_interval_ns}, Range{0, 168 * kNsPerHour}},
      {"draw.percent", "Percentage of the live machines that is drawn.", &config.draw_percent, Range{0, 100}},
      {"draw.machines",
       "Number of machines that is drawn, instead of draw.percent. Default: 0, use draw.percent.",
       &config.draw_machines, Range{0, 10'000'000}},
      {"draw.strata",
       "Attributes that partition the fleet into strata. Machines are drawn per stratum, so that every draw "
       "includes rare\nhardware: platform, datacenter, cluster, architecture, cpu_model, kernel, os, "
       "daemon_version.",
       &config.draw_strata},
      {"draw.min_per_stratum", "Minimum machines drawn per stratum; all machines of a smaller stratum.",
       &config.draw_min_per_stratum, Range{1, 1'000'000}},
      {"draw.min_per_job", "Minimum machines per job, expected per draw. Default: 0, no minimum.",
       &config.draw_min_per_job, Range{0, 1'000'000}},
      {"draw.max_percent_per_job",
       "Maximum percentage of a job's instances that is profiled at once; one always may be. Machines over "
       "the limit are profiled\nlater in the interval, or skipped (withheld) in this draw.",
       &config.draw_max_percent_per_job, Range{0, 100}},
      {"draw.max_percent_per_platform",
       "Maximum percentage of a platform's machines that is profiled at once; one always may be.",
       &config.draw_max_percent_per_platform, Range{0, 100}},
      {"draw.max_percent_per_rack",
       "Maximum percentage of a rack's machines that is profiled at once; one always may be. Racks are from "
       "the inventory.",
       &config.draw_max_percent_per_rack, Range{0, 100}},
      {"draw.max_overhead_percent",
       "Maximum share of the fleet's CPU time that daemons may use, in percent, averaged over an hour, by "
       "what they report. Over it,\ndrawn machines are withheld; one is always profiled.",
       &config.draw_max_overhead_percent, Range{0, 100}},
      {"draw.cooldown",
       "Time during which a drawn machine is not drawn again. Machines then take turns, which limits the "
       "probability of each,\nwhatever the minima. Default: 0, no cooldown.",
       DurationNs{&config.draw_cooldown_ns}, Range{0, 168 * kNsPerHour}},
      {"draw.event_sets",
       "Sets of events that take turns over draws, each as names separated by spaces, such as\n[\"cycles "
       "instructions\", \"cache-misses branch-misses\"]. Default: none, use collect.events.",
       &config.draw_event_sets},
      {"draw.late_after",
       "Time after the window in which profiles arrive on time. Profiles that arrive later count too, and "
       "are marked late.",
       DurationNs{&config.draw_late_after_ns}, Range{0, 24 * kNsPerHour}},
      {"draw.stop_percent",
       "Maximum percentage of profiled machines that may fail within an hour. Above it, the event set, "
       "daemon version or platform\nthat fails is stopped, or everything if failures spread. \"plimsoll "
       "draws\" shows stops.",
       &config.draw_stop_percent, Range{1, 100}},
      {"draw.stop_min_failures", "Minimum failures before anything is stopped.",
       &config.draw_stop_min_failures, Range{1, 1'000'000}},
      {"draw.stop_pause",
       "Pause after a stop. Then one machine is tried, then a tenth, then all. Doubles with every repeated "
       "failure.",
       DurationNs{&config.draw_stop_pause_ns}, Range{kNsPerSecond, 24 * kNsPerHour}},
  };
}

std::vector<Key> inventory_keys(ServerConfig& config) {
  return {
      {"inventory.machines",
       "Inventory of machines: a file or a URL (http://, https://). CSV with a header line, or a JSON list "
       "of objects, with the columns\nmachine, datacenter, cluster, rack, platform, owner. Overrides what "
       "machines report. Default: none.",
       &config.inventory_machines},
      {"inventory.jobs",
       "Inventory of jobs, from a cluster manager: machine, job, instance (empty: all instances of the job "
       "on that machine), quota_cpus,\nweight. Overrides the census of machines. Job names must match the "
       "names in profiles.",
       &config.inventory_jobs},
      {"inventory.interval", "How often the inventory is read again.",
       DurationNs{&config.inventory_interval_ns}, Range{kNsPerSecond, 24 * kNsPerHour}},
  };
}

std::vector<Key> fleet_keys(ServerConfig& config) {
  return {
      {"fleet.heartbeat", "How often a daemon asks for work.", DurationNs{&config.heartbeat_ns},
       Range{100 * kMillisecondNs, kNsPerHour / 6}},
      {"fleet.max_connections",
       "Maximum daemons connected at once; others wait. With heartbeats every 30 s or more often, daemons "
       "keep their connections.\nNeeds one open file and about 20 KiB per connection.",
       &config.fleet_max_connections, Range{16, 1'000'000}},
      {"fleet.machine_ttl",
       "Retention of machines that are offline, and of the history of the fleet: attributes, inventory, "
       "placement of jobs, quotas.\nProfiles are kept.",
       DurationNs{&config.fleet_machine_ttl_ns}, Range{kNsPerHour, int64_t{10} * 365 * 24 * kNsPerHour}},
  };
}

std::vector<Key> limits_keys(ServerConfig& config) {
  return {
      {"limits.max_profile_bytes", "Maximum size of a raw profile.", SizeBytes{&config.max_profile_bytes},
       Range{int64_t{4} << 10, int64_t{1} << 30}},
  };
}

std::vector<Key> store_keys(ServerConfig& config) {
  return {
      {"store.address",
       "Where rows are: clickhouse://[USER@]HOST[:PORT]/DATABASE, or clickhouses:// for TLS "
       "(docs/clickhouse.md). A data directory keeps\nits address; \"plimsoll store copy\" moves the "
       "rows of one that has some. Default: in the data directory.",
       &config.store_address},
      {"store.password_file",
       "File with the password for store.address in its first line. Default: no password.",
       &config.store_password_file},
      {"store.ca",
       "PEM file of the authority that store.address is signed by. Default: those that this machine trusts.",
       &config.store_ca},
      {"store.max_segment_rows",
       "Maximum rows of a merged segment. Merging needs 1 to 3 bytes of memory per row.",
       &config.store_max_segment_rows, Range{int64_t{1} << 16, int64_t{1} << 30}},
      {"store.max_block_bytes",
       "Maximum size of a block: the part of the store that takes rows until it is this large or "
       "store.max_block_age old.\nBuilding rows and answering questions need memory for the blocks they "
       "touch: "
       "about as much as their catalogues take.",
       SizeBytes{&config.store_max_block_bytes}, Range{int64_t{16} << 20, int64_t{1} << 40}},
      {"store.max_block_age",
       "Maximum time that a block takes rows. Questions read the blocks of their times only.",
       DurationNs{&config.store_max_block_age_ns}, Range{kNsPerHour, int64_t{31} * 24 * kNsPerHour}},
  };
}

std::vector<Key> retention_keys(ServerConfig& config) {
  return {
      {"retention.raw_max_age",
       "Maximum age of raw profiles, from which rows can be built again. Counted from when they came.",
       DurationNs{&config.retention_raw_max_age_ns}, Range{kNsPerHour, kLongestAgeNs}},
      {"retention.raw_max_bytes",
       "Maximum size of all raw profiles, with the IDs of those that are remembered. The oldest are dropped "
       "first.\nDefault: 0, 15 % of the file system.",
       SizeBytes{&config.retention_raw_max_bytes}, Range{0, kLargestStoreBytes}},
      {"retention.rows_max_age",
       "Maximum age of rows, which answer questions. They are dropped by whole blocks, once the latest "
       "profile of a block is that old.",
       DurationNs{&config.retention_rows_max_age_ns}, Range{kNsPerHour, kLongestAgeNs}},
      {"retention.rows_max_bytes",
       "Maximum size of all blocks. The oldest are dropped first, the newest never: blocks get an eighth of "
       "this size at most.\nDefault: 0, 45 % of the file system.",
       SizeBytes{&config.retention_rows_max_bytes}, Range{0, kLargestStoreBytes}},
      {"retention.full_max_age",
       "Maximum age of full rows. Once the latest profile of a block is that old, it is rolled up: its "
       "profiles are summed by\nhour, and threads and instances are dropped. 0: rows are never rolled up.",
       DurationNs{&config.retention_full_max_age_ns}, Range{0, kLongestAgeNs}},
      {"retention.full_max_bytes",
       "Maximum size of all blocks with full rows. Over it the oldest are rolled up.\nDefault: 0, 35 % of "
       "the "
       "file system.",
       SizeBytes{&config.retention_full_max_bytes}, Range{0, kLargestStoreBytes}},
      {"retention.symbols_max_bytes",
       "Maximum size of all symbol tables. Those that were not used for the longest time are dropped first, "
       "and made\nagain when they are needed and the binary can still be found. Default: 0, 5 % of the file "
       "system.",
       SizeBytes{&config.retention_symbols_max_bytes}, Range{0, kLargestStoreBytes}},
      {"retention.traces_max_age",
       "Maximum age of request traces. Counted from when they came; they are dropped by whole blocks, of six "
       "hours at most.",
       DurationNs{&config.retention_traces_max_age_ns}, Range{kNsPerHour, kLongestAgeNs}},
      {"retention.traces_max_bytes",
       "Maximum size of all request traces. The oldest are dropped first.\nDefault: 0, 15 % of the file "
       "system.",
       SizeBytes{&config.retention_traces_max_bytes}, Range{0, kLargestStoreBytes}},
      {"retention.bursts_max_age", "Maximum age of recordings of bursts. Counted from when they came.",
       DurationNs{&config.retention_bursts_max_age_ns}, Range{kNsPerHour, kLongestAgeNs}},
      {"retention.bursts_max_bytes",
       "Maximum size of all recordings of bursts. The oldest are dropped first.\nDefault: 0, 5 % of the file "
       "system.",
       SizeBytes{&config.retention_bursts_max_bytes}, Range{0, kLargestStoreBytes}},
      {"retention.min_free_bytes",
       "Minimum of the file system that stays free. Under it the oldest raw profiles, blocks and request "
       "traces are\ndropped, and where nothing is left to drop, uploads and traces get 503, and daemons keep "
       "their profiles. Orders\nstill work. Default: 0, 10 % of the file system, at most 10 GiB.",
       SizeBytes{&config.retention_min_free_bytes}, Range{0, kLargestStoreBytes}},
      {"retention.max_upload_age",
       "Maximum age of profiles that daemons send, counted from the end of their windows; older ones are "
       "refused. The server\nremembers the IDs of profiles for a day longer. Must exceed "
       "limits.max_spool_age "
       "of the daemons.",
       DurationNs{&config.retention_max_upload_age_ns}, Range{kNsPerHour, kLongestAgeNs}},
  };
}

std::vector<Key> objects_keys(ServerConfig& config) {
  return {
      {"objects.address",
       "Object store that the data directory is copied to: s3://BUCKET or s3://BUCKET/PREFIX, or "
       "file:///FOLDER "
       "(docs/operations.md).\nEach server has a prefix of its own. A folder must exist. Default: none.",
       &config.objects_address},
      {"objects.endpoint", "URL of the S3 server: https://HOST or https://HOST:PORT. Required with s3://.",
       &config.objects_endpoint},
      {"objects.region", "Region of the S3 server.", &config.objects_region},
      {"objects.credentials_file",
       "File with the ID of an access key in its first line and the secret in its second. Required with "
       "s3://.",
       &config.objects_credentials_file},
      {"objects.ca",
       "PEM file of the authority that objects.endpoint is signed by. Default: those that this machine "
       "trusts.",
       &config.objects_ca},
      {"objects.interval",
       "Time between two passes, each of which copies what is new. What came since the last one is lost with "
       "the disk.",
       DurationNs{&config.objects_interval_ns}, Range{kNsPerSecond, 24 * kNsPerHour}},
      {"objects.keep_dropped",
       "How long the object store keeps what retention has dropped from the data directory.",
       DurationNs{&config.objects_keep_dropped_ns}, Range{kNsPerHour, kLongestAgeNs}},
  };
}

std::vector<Key> traces_keys(ServerConfig& config) {
  return {
      {"traces.sample",
       "How many traces one that is kept stands for: 20 keeps one in 20, chosen by the trace's ID. 1: all "
       "are kept.",
       &config.traces_sample, Range{1, 1'000'000}},
      {"traces.attributes",
       "Attributes of spans and their resources that are kept, by key, at most 32: hardware and kinds of "
       "request, by which\nplimsoll regressions compares versions. [] keeps none.",
       &config.traces_attributes},
      {"traces.diagnose",
       "Diagnoses each hour of request traces, ten minutes after its end (plimsoll findings).",
       &config.traces_diagnose},
      {"traces.findings_max_age",
       "Maximum age of findings, and of the statistics of each hour's requests, which stay longer than the "
       "traces.",
       DurationNs{&config.traces_findings_max_age_ns}, Range{kNsPerHour, kLongestAgeNs}},
  };
}

std::vector<Key> symbols_keys(ServerConfig& config) {
  return {
      {"symbols.roots", "Folders whose files the symbolizer may open when a profile refers to them.",
       &config.symbol_roots},
      {"symbols.debug_roots",
       "Folders of separate debug files, laid out as Debian's -dbgsym packages do: by build "
       "ID\n(.build-id/xx/yyyy.debug), or by the path of the binary.",
       &config.symbol_debug_roots},
      {"symbols.retry", "How often to look for better symbols of binaries that lack some.",
       DurationNs{&config.symbol_retry_ns}, Range{kNsPerSecond, 24 * kNsPerHour}},
      {"symbols.max_memory_bytes",
       "Memory limit of the process that reads a binary's symbols, without mapped files. A binary that needs "
       "more is\nsymbolized from its symbol table only, without files and lines.",
       SizeBytes{&config.symbol_max_memory_bytes}, Range{int64_t{16} << 20, int64_t{64} << 30}},
      {"symbols.debuginfod",
       "URLs of debuginfod servers (http://, https://), asked in this order for debug files and binaries "
       "that "
       "the server lacks. They learn\nwhich build IDs are sampled. Only these hosts are contacted, redirects "
       "included. Default: none.",
       &config.symbol_debuginfod},
      {"symbols.debuginfod_max_bytes", "Maximum bytes fetched for a build ID, over all servers.",
       SizeBytes{&config.symbol_debuginfod_max_bytes}, Range{int64_t{1} << 20, int64_t{64} << 30}},
      {"symbols.debuginfod_max_time", "Maximum time spent on a build ID, over all servers.",
       DurationNs{&config.symbol_debuginfod_max_time_ns}, Range{kNsPerSecond, kNsPerHour / 2}},
      {"symbols.debuginfod_retry",
       "Time after which servers are asked again for a file that they did not have.",
       DurationNs{&config.symbol_debuginfod_retry_ns}, Range{kNsPerSecond, 8760 * kNsPerHour}},
      {"symbols.worker_lease",
       "How long a symbolizer worker (plimsoll server --role symbolizer) has a build unless it renews its "
       "lease. Then another gets the build.",
       DurationNs{&config.symbol_worker_lease_ns}, Range{kNsPerSecond, kNsPerHour / 6}},
      {"symbols.worker_grace",
       "How long a build waits for a symbolizer worker, while workers ask, before the server makes its "
       "symbol "
       "table itself.",
       DurationNs{&config.symbol_worker_grace_ns}, Range{0, kNsPerHour}},
  };
}

std::vector<Key> sources_keys(ServerConfig& config) {
  return {
      {"sources.roots",
       "Folders whose source files plimsoll annotate may show to users with the role read. Paths in debug "
       "information are looked up below\nthese folders only. \"/build/dir = /srv/src\": what the compiler "
       "knew as /build/dir is in /srv/src. Default: none.",
       &config.source_roots},
      {"sources.urls",
       "Servers that are asked for source files of annotated code that no root has. \"/build/dir = "
       "https://HOST/raw/{revision}/{path}\":\nwhat the compiler knew as /build/dir. {revision} is the label "
       "of the binary (plimsoll binaries add --revision). Only these\nhosts are contacted, without "
       "credentials, and no redirect is followed. Default: none.",
       &config.source_urls},
  };
}

std::vector<Key> binaries_keys(ServerConfig& config) {
  return {
      {"binaries.max_bytes",
       "Maximum size of all binaries and debug files that were added (plimsoll binaries add). Those that no "
       "recent row\nuses are dropped first; beyond it no more are taken.",
       SizeBytes{&config.binaries_max_bytes}, Range{int64_t{1} << 20, int64_t{1} << 50}},
      {"binaries.max_file_bytes", "Maximum size of one binary or debug file.",
       SizeBytes{&config.binaries_max_file_bytes}, Range{int64_t{1} << 20, int64_t{64} << 30}},
      {"binaries.max_age", "How long a binary is kept after it was added while no recent row uses it.",
       DurationNs{&config.binaries_max_age_ns}, Range{kNsPerHour, kLongestAgeNs}},
      {"binaries.from_machines",
       "Takes binaries from daemons whose configuration permits it (binaries.upload), of builds that lack "
       "symbols.",
       &config.binaries_from_machines},
      {"binaries.content",
       "What daemons are asked for: \"symbols\", \"debug\" (symbols and DWARF), or \"code\" (whole files, "
       "which annotated code\nand profiles for compilers need).",
       &config.binaries_content},
  };
}

std::vector<Key> symbolizer_keys(ServerConfig& config) {
  return {
      {"symbolizer.server",
       "Of plimsoll server --role symbolizer, which uses this table and symbols.max_memory_bytes alone: "
       "address "
       "of\nthe API of the server that it makes symbol tables for (server.listen there).",
       &config.symbolizer_server},
      {"symbolizer.token_file", "File with a token of the role symbolizer. Default: none.",
       &config.symbolizer_token_file},
      {"symbolizer.server_ca",
       "Authorities that sign the server's certificate, a PEM file. Default: those that this machine trusts.",
       &config.symbolizer_server_ca},
      {"symbolizer.name",
       "Name of this worker in the server's lists, different for each. Default: the name of this machine.",
       &config.symbolizer_name},
      {"symbolizer.folder",
       "Folder for files of the server and tables that are made. Its content can be deleted at any time.",
       &config.symbolizer_folder},
      {"symbolizer.parallel", "Symbol tables that are made at once. Default: 0, the number of CPUs.",
       &config.symbolizer_parallel, Range{0, 32}},
      {"symbolizer.max_bytes",
       "Maximum size of files in symbolizer.folder, without tables. A build that is larger is left to the "
       "server.",
       SizeBytes{&config.symbolizer_max_bytes}, Range{int64_t{1} << 20, int64_t{1} << 50}},
      {"symbolizer.listen",
       "Address and port for /healthz, /readyz and /metrics, which ask for no token:\n"
       "beyond loopback only with access.allow_unauthenticated.",
       &config.symbolizer_listen},
  };
}

std::vector<Key> ingest_keys(ServerConfig& config) {
  return {
      {"ingest.server",
       "Of plimsoll server --role ingest, which uses this table, [server] without server.data, "
       "access.machine_ca,\naccess.allow_unauthenticated, fleet.max_connections and "
       "limits.max_profile_bytes alone: address for daemons of\nthe server that has the data "
       "(server.fleet_listen there).",
       &config.ingest_server},
      {"ingest.token_file", "File with a token of the role relay. Default: none.", &config.ingest_token_file},
      {"ingest.server_ca",
       "Authorities that sign the server's certificate, a PEM file. Default: those that this machine trusts.",
       &config.ingest_server_ca},
      {"ingest.connections",
       "Connections to the server. A quarter of them, at least one, is for registrations and heartbeats, the "
       "others are for\nprofiles. Recordings of bursts have one more.",
       &config.ingest_connections, Range{2, 64}},
      {"ingest.max_waiting_bytes",
       "Maximum size of profiles that wait for the server or are on their way to it, and a quarter of it for "
       "each of the other\nkinds of requests, at most a quarter of the memory. Beyond it daemons get 503, "
       "and keep what they have.",
       SizeBytes{&config.ingest_max_waiting_bytes}, Range{int64_t{1} << 20, int64_t{64} << 30}},
  };
}

std::vector<Key> primary_keys(ServerConfig& config) {
  return {
      {"primary.server",
       "Of plimsoll server --role query, which answers questions beside the server that has the data "
       "directory (docs/scaling.md):\naddress of the API of that server (server.listen there).",
       &config.primary_server},
      {"primary.token_file", "File with a token of the role replica. Default: none.",
       &config.primary_token_file},
      {"primary.server_ca",
       "Authorities that sign that server's certificate, a PEM file. Default: those that this machine "
       "trusts.",
       &config.primary_ca},
      {"primary.interval",
       "How often machines and draws are copied from that server, if they have changed. At most a tenth of "
       "the time is spent on it.",
       DurationNs{&config.primary_interval_ns}, Range{kNsPerSecond, kNsPerHour}},
  };
}

}  // namespace

std::vector<Key> ServerConfig::keys() {
  std::vector<Key> all;
  for (const auto keys_of_table :
       {server_keys, access_keys, query_keys, collect_keys, draw_keys, burst_keys, inventory_keys, fleet_keys,
        limits_keys, store_keys, retention_keys, objects_keys, traces_keys, symbols_keys, sources_keys,
        binaries_keys, symbolizer_keys, ingest_keys, primary_keys}) {
    std::ranges::move(keys_of_table(*this), std::back_inserter(all));
  }
  return all;
}

Result<ServerConfig> load_server_config(const LoadInputs& inputs) {
  ServerConfig config;
  if (const auto sources = load(config.keys(), inputs); !sources) {
    return propagate(sources);
  }
  if (config.collect_stack_rate_hz > config.collect_rate_hz) {
    return with_field(fail(ErrorCode::kInvalid, "{} stacks per second is more than {} samples per second",
                           config.collect_stack_rate_hz, config.collect_rate_hz),
                      "collect.stack_rate_hz");
  }
  if (const auto checked = check_tokens(config.access_tokens); !checked) {
    return with_field(propagate(checked), "access.tokens");
  }
  if (const auto checked = check_trace_attributes(config.traces_attributes); !checked) {
    return with_field(propagate(checked), "traces.attributes");
  }
  if (const auto checked = check_application_kinds(config.collect_application_kinds); !checked) {
    return with_field(propagate(checked), "collect.application_kinds");
  }
  if (const auto checked = check_binary_content(config.binaries_content); !checked) {
    return propagate(checked);
  }
  if (!config.bursts_config.empty() && config.draw_interval_ns == 0) {
    return with_field(
        fail(ErrorCode::kInvalid, "bursts are recorded by draws: bursts.config requires draw.interval"),
        "bursts.config");
  }
  if (!config.objects_address.empty() && !config.store_address.empty()) {
    return with_field(fail(ErrorCode::kInvalid,
                           "objects.address requires rows in the data directory: it cannot be combined with "
                           "store.address"),
                      "objects.address");
  }
  if (!config.access_machine_ca.empty() && config.certificate.empty()) {
    return with_field(fail(ErrorCode::kInvalid, "access.machine_ca requires server.certificate"),
                      "server.certificate");
  }
  return config;
}

}  // namespace plimsoll::config
