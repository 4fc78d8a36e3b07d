#include "config/server_collection_keys.h"

#include <cstdint>

#include "base/time.h"

namespace plimsoll::config {
namespace {

constexpr int64_t kMillisecondNs = kNsPerSecond / 1000;

}  // namespace

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

}  // namespace plimsoll::config
