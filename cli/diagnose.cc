#include "cli/diagnose.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/suggest.h"
#include "base/time.h"
#include "cli/trace_files.h"
#include "cli/views/terminal.h"
#include "diagnosis/clouddiag/clouddiag.h"
#include "diagnosis/clouddiag/pca_peer.h"
#include "diagnosis/localization/diagnosis.h"

namespace plimsoll::cli {
namespace {

using diagnosis::Side;
using diagnosis::Sides;

Result<Sides> sides_of(const traces::Assembly& assembly, const DiagnoseOptions& options) {
  const auto window = parse_time_range(options.since, options.until, "");
  const auto reference = parse_time_range(options.reference_since, options.reference_until, "reference-");
  if (!window || !reference) {
    return propagate(!window ? window : reference);
  }
  Sides sides;
  for (const traces::Trace& trace : assembly.traces) {
    sides.push_back(window->has(trace.start_ns)      ? Side::kWindow
                    : reference->has(trace.start_ns) ? Side::kReference
                                                     : Side::kNeither);
  }
  if (std::ranges::count(sides, Side::kWindow) == 0) {
    return with_hint(
        fail(ErrorCode::kNotFound, "no request of {} began in the window", assembly.traces.size()),
        assembly.traces.empty() ? "give other files"
                                : fmt::format("the requests are from {} to {}: change --since and --until",
                                              format_time(assembly.traces.front().start_ns),
                                              format_time(assembly.traces.back().start_ns)));
  }
  return sides;
}

Result<uint32_t> service_named(const std::string& name, const traces::Names& names) {
  std::vector<std::string_view> known;
  for (uint32_t id = 1; id < names.services.size(); ++id) {
    if (names.services.name(id) == name) {
      return id;
    }
    known.push_back(names.services.name(id));
  }
  const auto nearest = nearest_word(name, known);
  return with_hint(fail(ErrorCode::kInvalid, "no such service in the traces: {}", name),
                   nearest ? fmt::format("did you mean {}?", *nearest) : "leave --service out to see all");
}

query::Value optional_text(std::string_view text) {
  return text.empty() ? query::Value() : query::Value(std::string(text));
}

query::Table new_table() {
  query::Table table;
  for (const char* name :
       {"rank", "service", "method", "replica", "machine", "kind", "score", "confidence", "evidence"}) {
    const std::string_view column = name;
    table.columns.push_back({.name = name,
                             .unit = column == "rank"                              ? "count"
                                     : column == "score" || column == "confidence" ? "share"
                                                                                   : ""});
  }
  return table;
}

struct Row {
  uint32_t service = 0;
  uint32_t operation = 0;
  uint32_t replica = 0;
  uint32_t machine = 0;
  std::string kind;
  double score = 0;
  query::Value confidence;
  std::string evidence;
};

void add_row(const traces::Names& names, const Row& row, query::Table& table) {
  table.rows.push_back(
      {static_cast<int64_t>(table.rows.size() + 1), std::string(names.services.name(row.service)),
       std::string(names.operations.name(row.operation)), optional_text(names.replicas.name(row.replica)),
       optional_text(names.machines.name(row.machine)), row.kind, row.score, row.confidence, row.evidence});
}

query::Table findings_table(const diagnosis::Diagnosis& found, const traces::Names& names, bool is_for_text) {
  query::Table table = new_table();
  table.notes = found.notes;
  if (!found.stands_out()) {
    table.notes.push_back(
        found.reference == 0
            ? fmt::format(
                  "nothing stands out among {} requests: no replica is slower than the others of its service",
                  found.window)
            : fmt::format("nothing stands out among {} requests: {:.1f} ms of excess per call in all, {:.1f} "
                          "ms between parts of the reference",
                          found.window, found.excess_ms, found.usual_excess_ms));
  }
  for (const diagnosis::Finding& finding : found.findings) {
    // People take what is listed for an answer; programs read the confidence.
    if (is_for_text && finding.confidence < diagnosis::kMinConfidence) {
      continue;
    }
    add_row(names,
            {finding.service, finding.operation, finding.replica, finding.machine, name_of(finding.kind),
             finding.score, finding.confidence, finding.evidence},
            table);
  }
  return table;
}

// The paper's methods look at a set of requests as a whole: window and reference together, but for its form as printed.
std::vector<uint32_t> traces_for(const Sides& sides, bool with_reference) {
  std::vector<uint32_t> traces;
  for (uint32_t trace = 0; trace < sides.size(); ++trace) {
    if (sides[trace] == Side::kWindow || (with_reference && sides[trace] == Side::kReference)) {
      traces.push_back(trace);
    }
  }
  return traces;
}

// `service`: rows of this one only; 0: all.
Result<query::Table> by_clouddiag(const TraceFiles& files, const Sides& sides, bool as_printed,
                                  uint32_t service) {
  const diagnosis::CloudDiagOptions options =
      as_printed ? diagnosis::CloudDiagOptions() : diagnosis::CloudDiagOptions::improved();
  const auto found =
      diagnosis::clouddiag(*files.spans, files.assembly, traces_for(sides, !as_printed), options);
  if (!found) {
    return propagate(found);
  }
  query::Table table = new_table();
  table.notes.push_back(
      fmt::format("{} categories of {} requests or more, {} anomalous; CloudDiag has no confidence, see "
                  "docs/diagnosis.md",
                  found->categories, options.min_requests, found->anomalous_categories));
  if (found->skipped_categories > 0) {
    table.notes.push_back(
        fmt::format("{} anomalous categories skipped: {}", found->skipped_categories, found->first_skipped));
  }
  double all = 0;
  for (const auto& method : found->methods) {
    all += method.mass;
  }
  for (const auto& method : found->methods) {
    if (service != 0 && method.method.service != service) {
      continue;
    }
    const std::vector<uint32_t> unknown{0};
    for (const uint32_t replica : method.replicas.empty() ? unknown : method.replicas) {
      add_row(files.spans->names(),
              {method.method.service,
               method.method.operation,
               replica,
               0,
               "anomalous",
               all > 0 ? method.mass / all : 0,
               {},
               fmt::format("cosine {:.3f}, anomalous in {} of {} categories", method.cosine,
                           method.categories, found->categories)},
              table);
    }
  }
  return table;
}

Result<query::Table> by_pca(const TraceFiles& files, const Sides& sides, uint32_t service) {
  const auto requests = diagnosis::request_matrix(*files.spans, files.assembly, traces_for(sides, true),
                                                  diagnosis::TimeOf::kInclusive);
  if (!requests) {
    return propagate(requests);
  }
  const auto found = diagnosis::pca_mann_whitney(*requests);
  if (!found) {
    return propagate(found);
  }
  query::Table table = new_table();
  table.notes.push_back(
      fmt::format("{} of {} requests anomalous; PCA with Mann and Whitney's test is CloudDiag's peer, see "
                  "docs/diagnosis.md",
                  found->anomalous_requests, requests->traces.size()));
  for (const auto& suspect : found->methods) {
    const diagnosis::Method& method = requests->methods[suspect.column];
    if (service != 0 && method.service != service) {
      continue;
    }
    add_row(files.spans->names(),
            {method.service,
             method.operation,
             0,
             0,
             "anomalous",
             suspect.z / found->methods.front().z,
             {},
             fmt::format("z = {:.1f}", suspect.z)},
            table);
  }
  return table;
}

Result<query::Table> diagnosed(const DiagnoseOptions& options, const TraceFiles& files) {
  const auto sides = sides_of(files.assembly, options);
  if (!sides) {
    return propagate(sides);
  }
  diagnosis::DiagnosisOptions how;
  if (!options.service.empty()) {
    const auto service = service_named(options.service, files.spans->names());
    if (!service) {
      return propagate(service);
    }
    how.service = *service;
  }
  switch (options.by) {
    case DiagnoseOptions::By::kCloudDiag:
    case DiagnoseOptions::By::kPaper:
      return by_clouddiag(files, *sides, options.by == DiagnoseOptions::By::kPaper, how.service);
    case DiagnoseOptions::By::kPca:
      return by_pca(files, *sides, how.service);
    case DiagnoseOptions::By::kAll:
      break;
  }
  const diagnosis::Requests requests(*files.spans, files.assembly);
  return findings_table(diagnosis::diagnose(requests, *sides, how), files.spans->names(),
                        options.form == query::TableForm::kText);
}

// What a store has of the window and the reference. Without a reference that is the hour before the window; without a window the last hour
// is all of it.
Result<TraceFiles> stored_traces(const DiagnoseOptions& options) {
  constexpr int64_t kHourNs = int64_t{3600} * 1'000'000'000;
  const auto window = parse_time_range(options.since, options.until, "");
  const auto reference = parse_time_range(options.reference_since, options.reference_until, "reference-");
  if (!window || !reference) {
    return propagate(!window ? window : reference);
  }
  const bool has_reference = !options.reference_since.empty() || !options.reference_until.empty();
  TimeRange read = *window;
  if (has_reference) {
    read = {std::min(window->from_ns, reference->from_ns), std::max(window->to_ns, reference->to_ns)};
  } else {
    const int64_t from_ns = options.since.empty() ? std::min(window->to_ns, wall_now_ns()) : window->from_ns;
    read.from_ns = std::max(int64_t{0}, from_ns - kHourNs);
  }
  return read_stored_traces(options.data_dir, read);
}

}  // namespace

Status run_diagnose(const DiagnoseOptions& options) {
  if (const Status given = expect_traces_or_data(options.traces, options.data_dir); !given) {
    return given;
  }
  const auto files = options.data_dir.empty() ? read_trace_files(options.traces) : stored_traces(options);
  if (!files) {
    return propagate(files);
  }
  return print(diagnosed(options, *files), options.form, files->notes);
}

}  // namespace plimsoll::cli
