#include "query/registry/fleet_views.h"

#include <utility>

#include "query/operations/audit.h"
#include "query/operations/collection.h"
#include "query/operations/jobs.h"
#include "query/operations/status.h"
#include "query/operations/store_status.h"
#include "query/registry/answers.h"
#include "query/registry/binary_views.h"
#include "query/registry/common_parameters.h"
#include "query/views/compare.h"
#include "query/views/coverage.h"
#include "store/draws/draw_outcome.h"

namespace plimsoll::query {
namespace {

View compare_view() {
  return {
      .name = "compare",
      .command = "compare",
      .summary = "Compare IPC (or another ratio) between two selections, for jobs present in both",
      .details =
          R"(The first row is the mean over the jobs present in both selections, each with its weight on the base side (CPU
quotas where known): a change of the mix of jobs does not change it. The second row is the ratio over all samples, which
depends on the mix.
)",
      .parameters = joined(
          {{ratio_spec("ipc", "What to compare: two events (instructions/cycles), or " + ratio_names())},
           filter_specs(),
           side_specs(),
           {by_spec("job", "Rows to match between both sides"),
            limit_spec("20"),
            {"margin", ValueKind::kShare,
             "Margin wanted; the column machines_needed has the number of machines for it", "1%"}}}),
      .columns = joined_columns(
          {{dimension_columns(),
            {"weight", "share", "Weight in the mean: share of all CPU quotas, or of use"}},
           estimate_columns({"base_ratio", "{ratio}", "Ratio on the base side"}),
           estimate_columns({"new_ratio", "{ratio}", "Ratio on the new side"}),
           estimate_columns({"ratio_change", "share", "Change relative to the base side", kAlwaysShown}),
           {{"change_p", "p", "Probability of so large a change by chance in any of the jobs", kAlwaysShown},
            {"verdict", "", "higher, lower, cannot tell, or why a job is left out", kAlwaysShown},
            {"machines_needed", "count", "Machines needed for the margin wanted"},
            {"base_machines", "count", "Machines on the base side", kDetail},
            {"new_machines", "count", "Machines on the new side", kDetail}}}),
      .examples =
          {{"plimsoll compare --data DIR --base-where platform=skylake --new-where platform=rome",
            "two hardware generations"},
           {"plimsoll compare --data DIR --base-where revision=41 --new-where revision=42 --where job=search "
            "--ratio cpi",
            "two revisions of one job"},
           {"plimsoll compare --data DIR --since 1d --earlier 7d --ratio LLC-load-misses/instructions",
            "today against a week ago"}},
      .answer = ask_profiles_and_fleet<parse_compare, compare>,
  };
}

View coverage_view() {
  return {
      .name = "coverage",
      .command = "coverage",
      .summary = "Show which part of the fleet, and of its CPU time, the answers cover",
      .parameters =
          joined({selection_specs(),
                  {by_spec("platform", "Parts of the fleet: platform, cluster, kernel, machine, ..."),
                   limit_spec("20")}}),
      .columns = {dimension_columns(),
                  {"machines", "count", "Machines that are live or have profiles in the selection"},
                  {"machines_seen", "count", "Machines with profiles of the event in the selection"},
                  {"machines_seen_share", "share", "machines_seen as a share of the machines", kAlwaysShown},
                  {"cpus_used", "CPUs", "CPUs busy, by the newest censuses"},
                  {"cpus_seen_share", "share", "Share of cpus_used on machines with profiles", kAlwaysShown},
                  {"observed", "ns", "Length of the profiles' windows, over all machines"},
                  {"samples", "count", "Samples"},
                  {"stackless_share", "share", "Samples without a stack", kDetail},
                  {"unsymbolized_share", "share", "Value without function names"}},
      .examples = {{"plimsoll coverage --data DIR --since 1d", "coverage of the last day"},
                   {"plimsoll coverage --data DIR --by machine --where cluster=eu-1", "machine by machine"},
                   {"plimsoll coverage --data DIR --by daemon_version", "by version of plimsolld"}},
      .answer = ask_profiles_and_fleet<parse_coverage, coverage>,
  };
}

View machines_view() {
  return {
      .name = "machines",
      .command = "machines",
      .summary = "List machines, their state, and their instances",
      .parameters = {{.name = "by",
                      .kind = ValueKind::kChoice,
                      .help = "A row per machine, or per instance with its quota and CPU time",
                      .default_value = "machine",
                      .choices = {"machine", "instance"}},
                     at_spec("Show the machines as they were at this time: RFC 3339, or an age such as 1h")},
      .columns = {{"machine", "", "ID", kAlwaysShown},
                  {"hostname", "", "Host name", kAlwaysShown},
                  {"state", "", "live, gone, or profiles (never registered)", kAlwaysShown},
                  {"platform", "", "Hardware generation"},
                  {"cores", "CPUs", "CPUs"},
                  {"architecture", "", "Architecture", kMinorDetail},
                  {"kernel", "", "Kernel release", kDetail},
                  {"datacenter", "", "Datacenter", kDetail},
                  {"cluster", "", "Cluster"},
                  {"rack", "", "Rack", kDetail},
                  {"owner", "", "Owner", kDetail},
                  {"version", "", "Version of plimsolld"},
                  {"first_seen", "", "First heartbeat or profile", kMinorDetail},
                  {"last_seen", "", "Last heartbeat or profile"},
                  {"instances", "count", "Instances in the newest census"},
                  {"cpu_quota", "CPUs", "CPU quota; of a machine the sum over its instances"},
                  {"cpu_used", "CPUs", "CPUs busy over the census's interval", kAlwaysShown},
                  {"missing_events", "", "Events that plimsolld knows and the machine cannot count", kDetail},
                  {"refused", "count", "Profiles refused because their claims are implausible"},
                  {"refused_why", "", "Reason of the newest refusal", kDetail},
                  {"job", "", "With --by instance: the job", kAlwaysShown},
                  {"instance", "", "With --by instance: the instance", kAlwaysShown},
                  {"container", "", "With --by instance: the container", kMinorDetail},
                  {"weight", "weight", "With --by instance: its CPU weight"},
                  {"seen", "", "With --by instance: time of the census", kMinorDetail}},
      .examples = {{"plimsoll machines --server ADDR", "all machines"},
                   {"plimsoll machines --data DIR --by instance --json", "all instances, for a script"}},
      .orders = {{"machines/revoke",
                  "--revoke",
                  "Revoke this machine's access: its token and its certificate are refused from now on",
                  {{"machine", ValueKind::kMachine, "The machine's ID", ""}}},
                 {"machines/readmit",
                  "--readmit",
                  "Forget this machine's token and its revocation, so that it can enrol again",
                  {{"machine", ValueKind::kMachine, "The machine's ID", ""}}}},
      .answer = ask_profiles_and_fleet<parse_machines, machines>,
  };
}

View jobs_view() {
  return {
      .name = "jobs",
      .command = "jobs",
      .summary = "List jobs: machines, instances, CPU quotas and use",
      .parameters = {at_spec("Show the jobs at this time: RFC 3339, or an age such as 1h"), limit_spec("20")},
      .columns = {{"job", "", "Name", kAlwaysShown},
                  {"machines", "count", "Machines with an instance of it"},
                  {"instances", "count", "Instances"},
                  {"cpu_quota", "CPUs", "Sum of its instances' quotas; absent: unlimited"},
                  {"unlimited", "count", "Instances without a quota"},
                  {"cpu_used", "CPUs", "CPUs busy with the job", kAlwaysShown},
                  {"cpu_used_share", "share", "Share of the CPUs that all jobs use"}},
      .examples = {{"plimsoll jobs --server ADDR", "jobs by CPU time"},
                   {"plimsoll jobs --data DIR --limit 1000000 --csv", "all jobs"},
                   {"plimsoll jobs --server ADDR --at 1h", "an hour ago"}},
      .answer = [](const Question& question, ViewSources& sources) -> Result<Answer> {
        const auto request = parse_jobs(question.parameters, question.now_ns);
        const auto fleet = request ? LiveFleet::load(*request, sources.fleet()) : propagate(request);
        return fleet ? Result<Answer>(jobs(*request, *fleet)) : propagate(fleet);
      },
  };
}

std::vector<ColumnSpec> outcome_columns() {
  std::vector<ColumnSpec> columns;
  for (size_t outcome = 0; outcome < store::kDrawOutcomes; ++outcome) {
    columns.push_back({std::string(store::name_of(static_cast<store::DrawOutcome>(outcome))), "count",
                       "Drawn machines with this outcome"});
  }
  return columns;
}

View draws_view() {
  return {
      .name = "draws",
      .command = "draws",
      .summary = "List draws (random selections of machines), or explain one",
      .details =
          R"(Outcomes of a drawn machine:
  answered   a profile was received; of these:
    partial    the profile covers less than the window
    late       the profile was received after it was due
  pending    the profile is not due yet
  withheld   too many machines of its job, rack or platform would have measured at once
  unreached  the machine did not contact the server before the window
  refused    the machine's own limits refused the assignment
  failed     the machine reported a failure
  vanished   the machine went offline
  lost       no profile was received
)",
      .parameters = {{.name = "draw",
                      .kind = ValueKind::kDraw,
                      .help = "The draw to explain, as the list names it",
                      .is_positional = true},
                     {.name = "by",
                      .kind = ValueKind::kChoice,
                      .help = "With DRAW: a row per machine, or per stratum drawn from",
                      .default_value = "machine",
                      .choices = {"machine", "stratum"}},
                     {"verify", ValueKind::kFlag,
                      "With DRAW: repeat the draw from its seed, and fail if it selects other machines",
                      "no"},
                     limit_spec("20")},
      .columns = joined_columns(
          {{{"draw", "", "ID", kAlwaysShown},
            {"made", "", "When the draw was made", kDetail},
            {"window_start", "", "When measuring starts"},
            {"window", "ns", "How long a machine measures", kDetail},
            {"events", "", "Events collected; default: the daemon's choice", kDetail},
            {"bursts", "", "Burst-config M,N of the bursts that machines record; empty: none", kDetail},
            {"machines", "count", "Machines drawn from"},
            {"expected", "count", "Expected number of drawn machines", kDetail},
            {"drawn", "count", "Drawn machines", kAlwaysShown},
            {"machine", "", "With DRAW: the drawn machine", kAlwaysShown},
            {"stratum", "", "With DRAW: the stratum"},
            {"inclusion_probability", "share", "With DRAW: the machine's probability of being drawn"},
            {"outcome", "", "With DRAW: outcome of the machine (docs/scheduling.md)", kAlwaysShown},
            {"detail", "", "With DRAW: more about the outcome"},
            {"assigned_at", "", "With DRAW: when the machine got the assignment", kDetail},
            {"answered_at", "", "With DRAW: when its profile was received", kDetail},
            {"observed", "ns", "With DRAW: how long the machine measured"}},
           outcome_columns()}),
      .examples = {{"plimsoll draws --server ADDR", "the newest"},
                   {"plimsoll draws --data DIR fleet-2026-11-23T06:00:00Z", "machines and their outcomes"},
                   {"plimsoll draws --data DIR fleet-2026-11-23T06:00:00Z --by stratum", "by stratum"},
                   {"plimsoll draws --data DIR fleet-2026-11-23T06:00:00Z --verify",
                    "prove that the draw was random"}},
      .answer = [](const Question& question, ViewSources& sources) -> Result<Answer> {
        const auto request = parse_draws(question.parameters, question.now_ns);
        const auto known =
            request ? KnownDraws::load(*request, sources.fleet(), sources.draw_again()) : propagate(request);
        return known ? Result<Answer>(draws(*request, *known)) : propagate(known);
      },
  };
}

View collection_view() {
  return {
      .name = "collection",
      .command = "collection",
      .summary = "Pause, resume and inspect collection (kill switch)",
      .details =
          R"(Events, versions and platforms that fail too often are stopped automatically and resumed step by step
(draw.stop_percent in the server's configuration).
)",
      .parameters = {},
      .columns = {{"stopped", "", "everything, or a kind: event set, daemon version, platform", kAlwaysShown},
                  {"which", "", "Name of the event set, daemon version or platform", kAlwaysShown},
                  {"measured", "", "What is still collected", kAlwaysShown},
                  {"by", "", "hand (an operator) or failures"},
                  {"since", "", "When it was stopped"},
                  {"next", "", "When more is collected again, if it works"},
                  {"reason", "", "Why", kAlwaysShown}},
      .examples = {{"plimsoll collection --server ADDR", "what is stopped, since when and why"},
                   {"plimsoll collection --server ADDR --stop \"latency of search\"", "stop everything"},
                   {"plimsoll collection --server ADDR --resume", "collect again"}},
      .effort = Effort::kShort,
      .orders = {{"collection/stop",
                  "--stop",
                  "Stop all collection from each machine's next heartbeat on, until --resume",
                  {{"reason", ValueKind::kText, "Shown to users who look for missing profiles", ""}}},
                 {"collection/resume", "--resume", "Resume what was stopped, by hand or by failures"}},
      .answer = [](const Question& question, ViewSources& sources) -> Result<Answer> {
        const auto request = parse_collection(question.parameters, question.now_ns);
        const auto stops = request ? sources.fleet().stops() : propagate(request);
        return stops ? Result<Answer>(collection(*stops)) : propagate(stops);
      },
  };
}

View status_view() {
  return {
      .name = "status",
      .command = "status",
      .summary = "Show the health of the server and its fleet, and what needs attention",
      .details =
          R"(With --data it shows what the files of the data directory say: without a server there are no problems of daemons and
no background work to report. docs/monitoring.md has the same as metrics for Prometheus.
)",
      .parameters =
          {{.name = "by",
            .kind = ValueKind::kChoice,
            .help =
                "A row per subject, background work, view with its times of answers, budget, or symbolizer "
                "worker",
            .default_value = "subject",
            .choices = {"subject", "work", "question", "overhead", "symbolizer"}}},
      .columns = {{"subject", "", "Part of the server or its fleet", kAlwaysShown},
                  {std::string(kStatusColumn), "", "ok, warning or failed", kAlwaysShown},
                  {"value", "", "What it is now", kAlwaysShown},
                  {"work", "", "With --by work: the background work", kAlwaysShown},
                  {"newest_success", "", "With --by work: end of the newest pass without an error"},
                  {"running_since", "", "With --by work: start of the running pass"},
                  {"failing_since", "", "With --by work: since when passes fail"},
                  {"errors", "count", "With --by work: failed passes since the server's start"},
                  {"last_error_at", "", "With --by work: when a pass failed last"},
                  {"last_error", "", "With --by work: its error"},
                  {"view", "", "With --by question: the view", kAlwaysShown},
                  {"answers", "count", "With --by question: answers since the server's start"},
                  {"mean", "ns", "With --by question: mean time of an answer"},
                  {"p95_max", "ns",
                   "With --by question: 95 % of the answers took at most this long (absent: over 120 s)"},
                  {"over_1s", "count", "With --by question: answers that took over a second"},
                  {"over_10s", "count", "With --by question: answers that took over ten seconds"},
                  {"budget", "", "With --by overhead: the limit on what daemons take", kAlwaysShown},
                  {"spent", "share", "With --by overhead: share of the fleet's CPU time that daemons take"},
                  {"limit", "share", "With --by overhead: share that they may take"},
                  {"used_share", "share", "With --by overhead: spent as a share of the limit"},
                  {"worker", "", "With --by symbolizer: name of the symbolizer worker, and of its token",
                   kAlwaysShown},
                  {"leases", "count", "With --by symbolizer: builds that it works on"},
                  {"tables", "count",
                   "With --by symbolizer: symbol tables that it made since the server's start"},
                  {"failed", "count", "With --by symbolizer: builds of which it could make no table"},
                  {"refused", "count", "With --by symbolizer: tables of it that were refused"},
                  {"expired", "count", "With --by symbolizer: leases that it neither renewed nor ended"},
                  {"newest_request", "", "With --by symbolizer: its newest request"},
                  {"newest_failure", "", "With --by symbolizer: the newest build without a table, and why"},
                  {"detail", "", "Why, or what to do"}},
      .examples = {{"plimsoll status --server ADDR",
                    "before a shift, or in a probe: exit status 1 on failure"},
                   {"plimsoll status --server ADDR --by work", "background work, with its last errors"},
                   {"plimsoll status --server ADDR --by question", "which questions take long"},
                   {"plimsoll status --data DIR", "without a server"}},
      .effort = Effort::kShort,
      .fails_where = FailureRule{std::string(kStatusColumn), std::string(kFailedState)},
      .reads_directory = true,
      .answer = [](const Question& question, ViewSources& sources) -> Result<Answer> {
        const auto request = parse_status(question.parameters, question.now_ns);
        const auto facts =
            request ? StatusFacts::load(sources.data_dir(), sources.fleet(), sources.running_server())
                    : propagate(request);
        return facts ? Result<Answer>(status(*request, *facts)) : propagate(facts);
      },
  };
}

View store_view() {
  return {
      .name = "store",
      .command = "",
      .taken_by = "store status",
      .summary = "Show what the data directory holds, by block or by limit, and how it grows",
      .parameters = {{.name = "by",
                      .kind = ValueKind::kChoice,
                      .help = "A row per block, or per limit on what is kept",
                      .default_value = "block",
                      .choices = {"block", "limit"}}},
      .columns = {{"block", "", "Number of the block; of a merged one its first and last number",
                   kAlwaysShown},
                  {"state", "", "open, sealed, rolled up, or damaged", kAlwaysShown},
                  {"from", "", "Start of its first profile"},
                  {"to", "", "End of its last profile"},
                  {"profiles", "count", "Profiles"},
                  {"rows", "count", "Rows"},
                  {"segments", "count", "Files of rows", kDetail},
                  {"part", "", "With --by limit: what is limited", kAlwaysShown},
                  {"bytes", "bytes", "Disk space", kAlwaysShown},
                  {"max_bytes", "bytes", "With --by limit: the most that it may take"},
                  {"used_share", "share", "With --by limit: bytes as a share of max_bytes"},
                  {"bytes_a_day", "bytes", "With --by limit: growth, by the last 7 days"},
                  {"room", "days", "With --by limit: how much history fits at this growth"},
                  {"max_age", "days", "With --by limit: the longest that it is kept"},
                  {"key", "", "With --by limit: key of the server's configuration"},
                  {"at_limit", "", "With --by limit: what happens at the limit"}},
      .reads_directory = true,
      .answer = [](const Question& question, ViewSources& sources) -> Result<Answer> {
        const auto request = parse_store_status(question.parameters, question.now_ns);
        const auto account = request ? sources.store_account(question.now_ns) : propagate(request);
        const auto limits = account ? sources.retention_limits() : propagate(account);
        return limits ? Result<Answer>(store_status(*request, *account, *limits)) : propagate(limits);
      },
  };
}

View measure_view() {
  return {
      .name = "collection/measure",
      .command = "measure",
      .summary = "Profile chosen machines on demand",
      .details =
          R"(Picks up to --max-machines matching machines at random and profiles them in the next free slot, within the limits
of the configuration ([draw]). See the results with --where draw=ID; other queries leave them out.
)",
      .parameters =
          {{"job", ValueKind::kJob, "Machines that run this job", "", true},
           {"machine", ValueKind::kMachine, "This machine", "", true},
           {"for", ValueKind::kDuration, "How long to measure, at most 10m", "30s"},
           {"max_machines", ValueKind::kCount, "Machines to measure at most, chosen at random", "10"},
           {"events", ValueKind::kEvents, "Events, instead of the configured ones", ""},
           {"rate", ValueKind::kCount, "Samples per second and CPU, instead of the configured rate", ""},
           {"bursts", ValueKind::kText,
            "Burst-config M,N of bursts to record, where daemons permit it (see plimsoll bursts plan)", ""},
           {"bursts_for", ValueKind::kDuration, "How long to record bursts (default: --for)", ""},
           {"bursts_events", ValueKind::kText,
            "Events of bursts besides switches, wake-ups and marks: system-calls, page-faults, disk, "
            "network, samples",
            ""}},
      .examples = {{"plimsoll measure --server ADDR --job web --for 30s", "a job"},
                   {"plimsoll measure --server ADDR --job web --bursts 7,8 --bursts-for 5m",
                    "with bursts of 256 ms in every 33 s"},
                   {"plimsoll measure --server ADDR --machine m17 --events cycles,llc-misses --rate 499",
                    "one machine, with other events"}},
      .audience = Audience::kOperators,
      .effort = Effort::kShort,
  };
}

View audit_view() {
  return {
      .name = "audit",
      .command = "audit",
      .summary = "List requests with their caller, address and result",
      .details =
          "Lists requests of users, orders, enrolments, and refused requests of daemons of the last 90 "
          "days.\n",
      .parameters = {{.name = "by",
                      .kind = ValueKind::kChoice,
                      .help = "A row per request, or per caller (token, machine) with its last use",
                      .default_value = "request",
                      .choices = {"request", "caller"}},
                     {"since", ValueKind::kTime, "Start: RFC 3339, or an age such as 1h", ""},
                     limit_spec("50")},
      .columns = {{"time", "", "Time of the last of these requests", kAlwaysShown},
                  {"count", "requests", "Identical requests within a minute", kDetail},
                  {"who", "", "The caller", kAlwaysShown},
                  {"from", "", "The caller's address", kDetail},
                  {"request", "", "Method, path and parameters", kAlwaysShown},
                  {"status", "", "HTTP status"},
                  {"answer", "", "granted, or the reason of the refusal", kAlwaysShown}},
      .examples = {{"plimsoll audit --server ADDR --since 1h", "the last hour"},
                   {"plimsoll audit --server ADDR --by caller", "when each token was last used"}},
      .audience = Audience::kOperators,
      .answer = [](const Question& question, ViewSources& sources) -> Result<Answer> {
        const auto request = parse_audit(question.parameters, question.now_ns);
        const Status written = request ? sources.write_audit_log() : propagate(request);
        return written ? as_answer(audit(*request, sources.fleet())) : propagate(written);
      },
  };
}

}  // namespace

std::vector<View> fleet_views() {
  return {compare_view(),  coverage_view(),         machines_view(), jobs_view(),
          draws_view(),    collection_view(),       status_view(),   store_view(),
          binaries_view(), missing_binaries_view(), measure_view(),  audit_view()};
}

}  // namespace plimsoll::query
