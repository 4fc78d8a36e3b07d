#include "query/registry/trace_views.h"

#include <fmt/format.h>

#include "query/operations/bursts.h"
#include "query/operations/findings.h"
#include "query/registry/answers.h"
#include "query/registry/common_parameters.h"
#include "query/traces/diagnosis_table.h"
#include "query/traces/regressions_answer.h"
#include "query/traces/trace_table.h"
#include "store/store.h"

namespace plimsoll::query {
namespace {

// Longer ones are mistakes of an application, and take memory that many other answers could have.
constexpr uint64_t kMaxSpansOfTrace = 500'000;

std::vector<ColumnSpec> quantile_columns(std::string_view condition) {
  std::vector<ColumnSpec> columns;
  for (const char* const quantile : {"p50", "p95", "p99"}) {
    columns.push_back({quantile, "ns", fmt::format("{}: {} of the latencies", condition, quantile)});
    columns.push_back({fmt::format("{}_low", quantile), "ns", "The low end of its 95 % confidence interval"});
    columns.push_back(
        {fmt::format("{}_high", quantile), "ns", "The high end of its 95 % confidence interval"});
  }
  return columns;
}

std::vector<ColumnSpec> diagnosis_columns() {
  return {
      {"rank", "count", "Place in the order of scores, of each method", kAlwaysShown},
      {"service", "", "Service; by category that of the root, [other] for the smallest", kAlwaysShown},
      {"method", "", "Operation"},
      {"replica", "", "Replica; absent: no replica more than the others"},
      {"machine", "", "Machine of the replica"},
      {"kind", "",
       "slow itself, slow network to it, slow caller, another path; anomalous for the paper's methods; by "
       "category: anomalous (variation over 1), slower, faster, new",
       kAlwaysShown},
      {"score", "share", "How much of what changed the row explains", kAlwaysShown},
      {"confidence", "share", "That it is no noise; absent for the paper's methods"},
      {"by", "", "Method that found it: plimsoll, clouddiag, clouddiag-paper, pca", kDetail},
      {"evidence", "", "Why, in numbers"}};
}

// With by category and tree.
std::vector<ColumnSpec> kind_of_request_columns() {
  std::vector<ColumnSpec> reference;
  for (const char* const quantile : {"p50", "p95", "p99"}) {
    reference.push_back({fmt::format("reference_{}", quantile), "ns",
                         fmt::format("By category: {} of the latencies in the reference", quantile),
                         kDetail});
  }
  return joined_columns(
      {{{"begin", "", "By category, with every: start of the part of the window", kAlwaysShown},
        {"category", "", "By category: hash of the services and operations, or of the call tree", kDetail},
        {"requests", "count", "By category: requests", kAlwaysShown},
        {"weight", "count", "By category: requests that these stand for", kDetail},
        {"rate", "count/s", "By category: of these, while requests were observed"}},
       quantile_columns("By category"),
       {{"variation", "share", "By category: standard deviation as a share of the mean"},
        {"reference_requests", "count", "By category: requests of the reference", kDetail},
        {"reference_rate", "count/s", "By category: rate in the reference", kDetail}},
       reference,
       {{"reference_variation", "share", "By category: variation in the reference", kDetail}}});
}

View diagnosis_view() {
  return {
      .name = "diagnosis",
      .command = "",
      .taken_by = "diagnose",
      .summary = "Find the service, method and replica that makes requests slow, from their traces",
      .details =
          R"(Compares the requests that began in the window with those of the reference, and the replicas of each service with each
other (docs/diagnosis.md). Rows with a confidence below 50 % are no findings: `plimsoll diagnose` prints them with --json
and --csv only. By category and tree it lists kinds of request with their latencies instead, in the window and in the
reference.
)",
      .parameters =
          {{.name = "since",
            .kind = ValueKind::kTime,
            .help = "Start of the window to diagnose: RFC 3339, or an age such as 1h (default: the last "
                    "hour)"},
           {.name = "until", .kind = ValueKind::kTime, .help = "End of the window"},
           {.name = "reference_since",
            .kind = ValueKind::kTime,
            .help = "Start of the requests to compare with (default: the hour before the window)"},
           {.name = "reference_until",
            .kind = ValueKind::kTime,
            .help = "End of the requests to compare with"},
           {.name = "service", .kind = ValueKind::kText, .help = "Only findings of this service"},
           {.name = "by",
            .kind = ValueKind::kChoice,
            .help =
                "Method: replicas and services; robust PCA of self times; that as its paper prints it; the "
                "paper's peer; or all of them. Or a row per kind of request, by services and operations or "
                "by call tree",
            .default_value = "plimsoll",
            .choices = {"plimsoll", "clouddiag", "clouddiag-paper", "pca", "all", "category", "tree"}},
           {.name = "every",
            .kind = ValueKind::kDuration,
            .help = "With by category and tree: a row for each such part of the window"}},
      .columns = joined_columns({diagnosis_columns(), kind_of_request_columns()}),
      .max_spans = kMaxReadSpans,
      .bytes_per_span = kBytesOfReadSpan,
      .reads_directory = true,
      .answer = [](const Question& question, ViewSources& sources) -> Result<Answer> {
        const auto request = parse_diagnosis(question.parameters, question.now_ns);
        return request ? as_answer(diagnose_store(*request, sources.data_dir(), question.max_spans))
                       : propagate(request);
      },
  };
}

View regressions_view() {
  return {
      .name = "regressions",
      .command = "",
      .taken_by = "regressions",
      .summary = "Find the kinds of request in which a new version is slower, from their traces",
      .details =
          R"(Compares requests that ran a new version with those that ran another one, in every bucket: all requests with up to three
values of attributes in common (docs/regressions.md). Attributes are those that the server keeps (traces.attributes), and
machine.platform, machine.kernel and machine.datacenter as the machine database knew them then. The answer is a document
in Markdown, or JSON.
)",
      .parameters =
          {{.name = "since",
            .kind = ValueKind::kTime,
            .help = "Start of the requests: RFC 3339, or an age such as 1h (default: 24 hours)"},
           {.name = "until", .kind = ValueKind::kTime, .help = "End of the requests"},
           {.name = "by_hardware",
            .kind = ValueKind::kText,
            .help = "Attribute for generations of hardware (default: of host.type, host.cpu.model.name, "
                    "host.arch and machine.platform the first that half of the requests have, else the most "
                    "common)"},
           {.name = "by_workload",
            .kind = ValueKind::kText,
            .help = "Attribute for types of request (default: service and operation of the root)"},
           {.name = "version",
            .kind = ValueKind::kText,
            .help = "Attribute that has the version (default: version of the services that ran several)"},
           {.name = "attribute",
            .kind = ValueKind::kText,
            .help = "Attribute to search, at most 12 (default: the first 12, by name, with 2 to 32 values)",
            .is_repeatable = true},
           {.name = "new",
            .kind = ValueKind::kText,
            .help = "Version to judge (default: the one that came last)"},
           {.name = "base",
            .kind = ValueKind::kText,
            .help = "Version to compare it with (default: all others)"},
           {"json", ValueKind::kFlag, "JSON instead of Markdown", "no"}},
      .answer_kind = AnswerKind::kFile,
      .max_spans = kMaxReadSpans,
      .bytes_per_span = kBytesOfComparedSpan,
      .reads_directory = true,
      .answer = [](const Question& question, ViewSources& sources) -> Result<Answer> {
        const auto request = parse_regressions(question.parameters, question.now_ns);
        auto document = request ? regressions_of_store(*request, sources.data_dir(), question.max_spans)
                                : propagate(request);
        return document ? Result<Answer>(FileAnswer{*std::move(document)}) : propagate(document);
      },
  };
}

View trace_view() {
  return {
      .name = "trace",
      .command = "",
      .taken_by = "trace show",
      .summary = "Show one request as a tree of calls with their times",
      .parameters = {{.name = "id",
                      .kind = ValueKind::kText,
                      .help = "Trace ID in hexadecimal, all digits",
                      .is_positional = true}},
      .columns =
          {{"trace", "", "Trace ID", kDetail},
           {"began", "", "When the request began", kDetail},
           {"is_partial", "", "yes: spans of the trace are missing", kDetail},
           {"depth", "count", "Calls above it in the tree", kDetail},
           {"span", "", "Span ID", kDetail},
           {"parent", "", "Span ID of the caller; absent: a root", kDetail},
           {"service", "", "Service", kAlwaysShown},
           {"method", "", "Operation", kAlwaysShown},
           {"replica", "", "Replica"},
           {"machine", "", "Machine", kDetail},
           {"start", "ns", "Start, from the start of the trace", kAlwaysShown},
           {"duration", "ns", "Duration", kAlwaysShown},
           {"self", "ns", "Duration without the calls in it", kAlwaysShown},
           {"is_gap", "", "yes: the self time is network and queues", kDetail},
           {"is_error", "", "yes: the call reported an error"},
           {"repairs", "", "What was wrong with the span (docs/traces.md)"},
           {"attributes", "", "Attributes that are kept (traces.attributes): KEY=VALUE, one per line",
            kDetail},
           {"kind", "", "server, client, internal, producer or consumer", kDetail},
           {"version", "", "Version of the service", kDetail},
           {"profiles", "",
            "For `plimsoll top --where` at that time: instance=, label:KEY= or hostname=, of the replica "
            "where profiles carry it, else of the machine",
            kDetail}},
      .max_spans = kMaxSpansOfTrace,
      .bytes_per_span = kBytesOfShownSpan,
      .reads_directory = true,
      .answer = [](const Question& question, ViewSources& sources) -> Result<Answer> {
        const auto request = parse_trace(question.parameters, question.now_ns);
        const auto snapshot_of = [&sources](const store::TimeSpans& times) {
          return sources.snapshot(times);
        };
        return request ? as_answer(
                             show_stored_trace(*request, sources.data_dir(), question.max_spans, snapshot_of))
                       : propagate(request);
      },
  };
}

View findings_view() {
  return {
      .name = "findings",
      .command = "findings",
      .summary = "List what the server's hourly diagnosis of request traces found",
      .details =
          R"(A server diagnoses each hour of request traces, ten minutes after its end, against the hour before it (docs/diagnosis.md).
Findings and statistics of each kind of request are kept longer than the traces (traces.findings_max_age).
)",
      .parameters = {{.name = "by",
                      .kind = ValueKind::kChoice,
                      .help = "A row per finding, or per category of requests with its latencies",
                      .default_value = "finding",
                      .choices = {"finding", "category"}},
                     {.name = "service",
                      .kind = ValueKind::kText,
                      .help = "Only of this service; with --by category that of the root"},
                     {"since", ValueKind::kTime, "Start of the hours: RFC 3339, or an age such as 1h", ""},
                     {"until", ValueKind::kTime, "End of the hours: RFC 3339, or an age such as 1h", ""},
                     limit_spec("50")},
      .columns = joined_columns(
          {{{"hour", "", "Start of the hour", kAlwaysShown},
            {"service", "", "Service; with --by category that of the root, [other] for the smallest",
             kAlwaysShown},
            {"method", "", "Operation"},
            {"replica", "", "Replica; absent: no replica more than the others"},
            {"machine", "", "Machine of the replica", kDetail},
            {"kind", "", "slow itself, slow network to it, slow caller, another path", kAlwaysShown},
            {"score", "share", "How much of what changed the finding explains"},
            {"confidence", "share", "That it is no noise", kAlwaysShown},
            {"evidence", "", "Why, in numbers"},
            {"category", "", "With --by category: hash of the services and operations", kDetail},
            {"requests", "count", "With --by category: requests", kAlwaysShown},
            {"weight", "count", "With --by category: requests that these stand for", kDetail}},
           quantile_columns("With --by category"),
           std::vector<ColumnSpec>{
               {.name = "variation",
                .unit = "share",
                .meaning = "With --by category: standard deviation as a share of the mean"}}}),
      .examples = {{"plimsoll findings --server ADDR", "the newest"},
                   {"plimsoll findings --server ADDR --by category --since 7d --json",
                    "latencies of each kind of request, by hour"}},
      .reads_directory = true,
      .answer = [](const Question& question, ViewSources& sources) -> Result<Answer> {
        const auto request = parse_findings(question.parameters, question.now_ns);
        return request ? as_answer(findings(*request, sources.data_dir())) : propagate(request);
      },
  };
}

View bursts_view() {
  return {
      .name = "bursts",
      .command = "",
      .taken_by = "bursts list",
      .summary = "List recordings of bursts: when, of which machine, how much was recorded and lost",
      .details =
          R"(A recording has one or several bursts of a machine (docs/bursts.md). GET /api/v1/bursts/recordings/ID gives its bytes.
)",
      .parameters = {{.name = "machine",
                      .kind = ValueKind::kMachine,
                      .help = "Only recordings of this machine"},
                     {.name = "draw",
                      .kind = ValueKind::kDraw,
                      .help = "Only recordings that this draw assigned (see plimsoll draws)"},
                     {"since", ValueKind::kTime, "Bursts after: RFC 3339, or an age such as 1h", ""},
                     {"until", ValueKind::kTime, "Bursts before: RFC 3339, or an age such as 1h", ""},
                     limit_spec("50")},
      .columns = {{"begin", "", "Planned begin of its first burst", kAlwaysShown},
                  {"end", "", "Planned end of its last burst"},
                  {"machine", "", "Machine", kAlwaysShown},
                  {"config", "", "Burst-config M,N: 2^N ms in every 2^(M+N) ms"},
                  {"bursts", "count", "Bursts", kAlwaysShown},
                  {"events", "count", "Events in them", kAlwaysShown},
                  {"lost", "count", "Events that the kernel had no room for", kAlwaysShown},
                  {"clock_error", "ns", "Maximum error of the machine's clock; absent: not synchronized"},
                  {"clock", "", "synchronized; may be off: by over a tenth of a burst; not synchronized"},
                  {"bytes", "bytes", "Size of the recording"},
                  {"draw", "", "Draw that assigned it; empty: recorded by hand"},
                  {"received", "", "When it came", kDetail},
                  {"id", "", "ID of the recording", kDetail}},
      .effort = Effort::kShort,
      .reads_directory = true,
      .answer = [](const Question& question, ViewSources& sources) -> Result<Answer> {
        const auto request = parse_bursts(question.parameters, question.now_ns);
        const auto source = store::open_burst_source(sources.data_dir());
        return request ? as_answer(bursts(*request, *source)) : propagate(request);
      },
  };
}

}  // namespace

std::vector<View> trace_views() {
  return {diagnosis_view(), regressions_view(), trace_view(), findings_view(), bursts_view()};
}

}  // namespace plimsoll::query
