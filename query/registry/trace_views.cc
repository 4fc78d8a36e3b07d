#include "query/registry/trace_views.h"

#include <fmt/format.h>

#include "query/operations/findings.h"
#include "query/registry/answers.h"
#include "query/registry/common_parameters.h"
#include "query/traces/diagnosis_table.h"
#include "query/traces/trace_table.h"

namespace plimsoll::query {
namespace {

// Longer ones are mistakes of an application, and take memory that many other answers could have.
constexpr uint64_t kMaxSpansOfTrace = 500'000;

View diagnosis_view() {
  return {
      .name = "diagnosis",
      .command = "",
      .taken_by = "diagnose",
      .summary = "Find the service, method and replica that makes requests slow, from their traces",
      .details =
          R"(Compares the requests that began in the window with those of the reference, and the replicas of each service with each
other (docs/diagnosis.md). Rows with a confidence below 50 % are no findings: `plimsoll diagnose` prints them with --json
and --csv only.
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
            .help = "Method: all; robust PCA of self times; that as its paper prints it; or the "
                    "paper's peer",
            .default_value = "all",
            .choices = {"all", "clouddiag", "clouddiag-paper", "pca"}}},
      .columns = {{"rank", "count", "Place in the order of scores", kAlwaysShown},
                  {"service", "", "Service", kAlwaysShown},
                  {"method", "", "Operation"},
                  {"replica", "", "Replica; absent: no replica more than the others"},
                  {"machine", "", "Machine of the replica"},
                  {"kind", "",
                   "slow itself, slow network to it, slow caller, another path; anomalous for the paper's "
                   "methods",
                   kAlwaysShown},
                  {"score", "share", "How much of what changed the row explains", kAlwaysShown},
                  {"confidence", "share", "That it is no noise; absent for the paper's methods"},
                  {"evidence", "", "Why, in numbers"}},
      .max_spans = kMaxReadSpans,
      .bytes_per_span = kBytesOfReadSpan,
      .answer = [](const Question& question, ViewSources& sources) -> Result<Answer> {
        const auto request = parse_diagnosis(question.parameters, question.now_ns);
        return request ? as_answer(diagnose_store(*request, sources.data_dir(), question.max_spans))
                       : propagate(request);
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
      .columns = {{"trace", "", "Trace ID", kDetail},
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
                  {"repairs", "", "What was wrong with the span (docs/traces.md)"}},
      .max_spans = kMaxSpansOfTrace,
      .bytes_per_span = kBytesOfShownSpan,
      .answer = [](const Question& question, ViewSources& sources) -> Result<Answer> {
        const auto request = parse_trace(question.parameters, question.now_ns);
        return request ? as_answer(show_stored_trace(*request, sources.data_dir(), question.max_spans))
                       : propagate(request);
      },
  };
}

std::vector<ColumnSpec> quantile_columns() {
  std::vector<ColumnSpec> columns;
  for (const char* const quantile : {"p50", "p95", "p99"}) {
    columns.push_back({quantile, "ns", fmt::format("With --by category: {} of the latencies", quantile)});
    columns.push_back({fmt::format("{}_low", quantile), "ns", "The low end of its 95 % confidence interval"});
    columns.push_back(
        {fmt::format("{}_high", quantile), "ns", "The high end of its 95 % confidence interval"});
  }
  return columns;
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
           quantile_columns(),
           std::vector<ColumnSpec>{
               {.name = "variation",
                .unit = "share",
                .meaning = "With --by category: standard deviation as a share of the mean"}}}),
      .examples = {{"plimsoll findings --server ADDR", "the newest"},
                   {"plimsoll findings --server ADDR --by category --since 7d --json",
                    "latencies of each kind of request, by hour"}},
      .answer = [](const Question& question, ViewSources& sources) -> Result<Answer> {
        const auto request = parse_findings(question.parameters, question.now_ns);
        return request ? as_answer(findings(*request, sources.data_dir())) : propagate(request);
      },
  };
}

}  // namespace

std::vector<View> trace_views() {
  return {diagnosis_view(), trace_view(), findings_view()};
}

}  // namespace plimsoll::query
