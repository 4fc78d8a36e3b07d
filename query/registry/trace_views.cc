#include "query/registry/trace_views.h"

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
      .parameters = {{.name = "since",
                      .kind = ValueKind::kTime,
                      .help = "Start of the window to diagnose: RFC 3339, or an age such as 1h"},
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
                      .help = "Trace ID in hexadecimal",
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
      .answer = [](const Question& question, ViewSources& sources) -> Result<Answer> {
        const auto request = parse_trace(question.parameters, question.now_ns);
        return request ? as_answer(show_stored_trace(*request, sources.data_dir(), question.max_spans))
                       : propagate(request);
      },
  };
}

}  // namespace

std::vector<View> trace_views() {
  return {diagnosis_view(), trace_view()};
}

}  // namespace plimsoll::query
