#include "query/traces/diagnosis_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>
#include <vector>

#include "base/stop_scope.h"
#include "base/suggest.h"
#include "base/time.h"
#include "diagnosis/clouddiag/clouddiag.h"
#include "diagnosis/clouddiag/pca_peer.h"
#include "diagnosis/localization/diagnosis.h"
#include "diagnosis/observations/request_matrix.h"
#include "query/table/values.h"
#include "query/traces/category_table.h"

namespace plimsoll::query {
namespace {

using diagnosis::Side;
using diagnosis::Sides;
using Method = DiagnosisRequest::Method;

constexpr std::array<std::pair<std::string_view, Method>, 7> kMethods{{{"plimsoll", Method::kPlimsoll},
                                                                       {"clouddiag", Method::kCloudDiag},
                                                                       {"clouddiag-paper", Method::kPaper},
                                                                       {"pca", Method::kPca},
                                                                       {"all", Method::kAll},
                                                                       {"category", Method::kCategory},
                                                                       {"tree", Method::kTree}}};

std::string name_of_method(Method method) {
  return std::string(
      std::ranges::find(kMethods, method, &std::pair<std::string_view, Method>::second)->first);
}

Parameter method_parameter(Method& method) {
  return {"by", [&method](const std::string& text) -> Status {
            const auto* const found = std::ranges::find(kMethods, std::string_view(text),
                                                        &std::pair<std::string_view, Method>::first);
            if (found == kMethods.end()) {
              return invalid_parameter(
                  "by", text, "one of plimsoll, clouddiag, clouddiag-paper, pca, all, category, tree");
            }
            method = found->second;
            return {};
          }};
}

Status expect_times(const RequestTimes& times, std::string_view name) {
  return times.from_ns < times.to_ns
             ? Status()
             : with_field(fail(ErrorCode::kInvalid, "the time range is empty"), std::string(name));
}

Result<Sides> sides_of(const traces::Assembly& assembly, const DiagnosisRequest& request) {
  Sides sides;
  sides.reserve(assembly.traces.size());
  for (const traces::Trace& trace : assembly.traces) {
    sides.push_back(request.window.has(trace.start_ns)      ? Side::kWindow
                    : request.reference.has(trace.start_ns) ? Side::kReference
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
  return with_hint(
      with_field(fail(ErrorCode::kInvalid, "no such service in the traces: {}", name), "service"),
      nearest ? fmt::format("did you mean {}?", *nearest) : "leave the service out to see all");
}

Value optional_text(std::string_view text) {
  return text.empty() ? Value() : Value(std::string(text));
}

Table new_diagnosis_table() {
  Table table;
  for (const char* name :
       {"rank", "service", "method", "replica", "machine", "kind", "score", "confidence", "by", "evidence"}) {
    const std::string_view column = name;
    table.columns.push_back({.name = name,
                             .unit = column == "rank"                              ? "count"
                                     : column == "score" || column == "confidence" ? "share"
                                                                                   : ""});
  }
  return table;
}

struct DiagnosisRow {
  Method by = Method::kPlimsoll;
  uint32_t service = 0;
  uint32_t operation = 0;
  uint32_t replica = 0;
  uint32_t machine = 0;
  std::string kind;
  double score = 0;
  Value confidence;
  std::string evidence;
};

void add_row(const traces::Names& names, const DiagnosisRow& row, Table& table) {
  table.rows.push_back(
      {static_cast<int64_t>(table.rows.size() + 1), std::string(names.services.name(row.service)),
       std::string(names.operations.name(row.operation)), optional_text(names.replicas.name(row.replica)),
       optional_text(names.machines.name(row.machine)), row.kind, row.score, row.confidence,
       name_of_method(row.by), row.evidence});
}

Table findings_table(const diagnosis::Diagnosis& found, const traces::Names& names) {
  Table table = new_diagnosis_table();
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
    add_row(names,
            {Method::kPlimsoll, finding.service, finding.operation, finding.replica, finding.machine,
             name_of(finding.kind), finding.score, finding.confidence, finding.evidence},
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

// Times, replicas, both parts, and what their decomposition works with.
constexpr uint64_t kBytesOfMatrixEntry = 24;

uint64_t max_entries_of(const DiagnosisRequest& request) {
  return std::min(request.max_matrix_entries, diagnosis::kMaxMatrixEntries);
}

// `service`: rows of this one only; 0: all.
Result<Table> by_clouddiag(const DiagnosisRequest& request, const TracedRequests& requests,
                           const Sides& sides, uint32_t service) {
  const bool as_printed = request.by == Method::kPaper;
  diagnosis::CloudDiagOptions options =
      as_printed ? diagnosis::CloudDiagOptions() : diagnosis::CloudDiagOptions::improved();
  options.max_entries = max_entries_of(request);
  const auto found =
      diagnosis::clouddiag(*requests.spans, requests.assembly, traces_for(sides, !as_printed), options);
  if (!found) {
    return propagate(found);
  }
  Table table = new_diagnosis_table();
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
      add_row(requests.spans->names(),
              {request.by,
               method.method.service,
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

Result<Table> by_pca(const DiagnosisRequest& request, const TracedRequests& requests, const Sides& sides,
                     uint32_t service) {
  const auto matrix = diagnosis::request_matrix(*requests.spans, requests.assembly, traces_for(sides, true),
                                                diagnosis::TimeOf::kInclusive, max_entries_of(request));
  if (!matrix) {
    return propagate(matrix);
  }
  const auto found = diagnosis::pca_mann_whitney(*matrix);
  if (!found) {
    return propagate(found);
  }
  Table table = new_diagnosis_table();
  table.notes.push_back(
      fmt::format("{} of {} requests anomalous; PCA with Mann and Whitney's test is CloudDiag's peer, see "
                  "docs/diagnosis.md",
                  found->anomalous_requests, matrix->traces.size()));
  for (const auto& suspect : found->methods) {
    const diagnosis::Method& method = matrix->methods[suspect.column];
    if (service != 0 && method.service != service) {
      continue;
    }
    add_row(requests.spans->names(),
            {Method::kPca,
             method.service,
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

Result<Table> by_replicas_and_services(const TracedRequests& requests, const Sides& sides,
                                       const diagnosis::DiagnosisOptions& options) {
  const diagnosis::Requests observed(*requests.spans, requests.assembly);
  if (const Status goes_on = check_stop(); !goes_on) {
    return propagate(goes_on);
  }
  const diagnosis::Diagnosis found = diagnosis::diagnose(observed, sides, options);
  if (const Status goes_on = check_stop(); !goes_on) {
    return propagate(goes_on);
  }
  return findings_table(found, requests.spans->names());
}

Result<Table> by_one_method(const DiagnosisRequest& request, const TracedRequests& requests,
                            const Sides& sides, const diagnosis::DiagnosisOptions& options) {
  switch (request.by) {
    case Method::kCloudDiag:
    case Method::kPaper:
      return by_clouddiag(request, requests, sides, options.service);
    case Method::kPca:
      return by_pca(request, requests, sides, options.service);
    case Method::kCategory:
    case Method::kTree:
      return category_table(
          {.by_tree = request.by == Method::kTree, .service = options.service, .every_ns = request.every_ns},
          requests, sides);
    case Method::kPlimsoll:
    case Method::kAll:
      break;
  }
  return by_replicas_and_services(requests, sides, options);
}

// Each row and note names the method that it is of.
Result<Table> by_all_methods(DiagnosisRequest request, const TracedRequests& requests, const Sides& sides,
                             const diagnosis::DiagnosisOptions& options) {
  Table all = new_diagnosis_table();
  for (const Method method : {Method::kPlimsoll, Method::kCloudDiag, Method::kPaper, Method::kPca}) {
    request.by = method;
    auto table = by_one_method(request, requests, sides, options);
    // Matrices have limits that the requests themselves do not have.
    if (!table && table.error().code != ErrorCode::kTooLarge &&
        table.error().code != ErrorCode::kUnsupported) {
      return propagate(table);
    }
    if (!table) {
      all.notes.push_back(fmt::format("{}: {}", name_of_method(method), table.error().message));
      continue;
    }
    for (const std::string& note : table->notes) {
      all.notes.push_back(fmt::format("{}: {}", name_of_method(method), note));
    }
    std::ranges::move(table->rows, std::back_inserter(all.rows));
  }
  return all;
}

}  // namespace

Result<DiagnosisRequest> parse_diagnosis(const Parameters& parameters, int64_t now_ns) {
  DiagnosisRequest request{.window = {}, .reference = {}, .service = {}, .now_ns = now_ns};
  bool has_until = false;
  const std::vector<Parameter> known{
      time_of_traces("since", now_ns, request.window.from_ns, request.has_since),
      time_of_traces("until", now_ns, request.window.to_ns, has_until),
      time_of_traces("reference_since", now_ns, request.reference.from_ns, request.has_reference),
      time_of_traces("reference_until", now_ns, request.reference.to_ns, request.has_reference),
      text_parameter("service", request.service),
      method_parameter(request.by),
      duration_parameter("every", request.every_ns)};
  Status read = read_parameters(parameters, known);
  const bool has_parts = request.by == Method::kCategory || request.by == Method::kTree;
  if (read && request.every_ns > 0 && !has_parts) {
    read = with_field(fail(ErrorCode::kInvalid, "parts of the window require by category or tree"), "every");
  }
  read = read ? expect_times(request.window, "since") : read;
  read = read ? expect_times(request.reference, "reference_since") : read;
  return read ? Result<DiagnosisRequest>(std::move(request)) : propagate(read);
}

RequestTimes times_to_read(const DiagnosisRequest& request) {
  const RequestTimes& window = request.window;
  if (request.has_reference) {
    return {std::min(window.from_ns, request.reference.from_ns),
            std::max(window.to_ns, request.reference.to_ns)};
  }
  const int64_t from_ns = request.has_since ? window.from_ns : std::min(window.to_ns, request.now_ns);
  return {std::max(int64_t{0}, from_ns - kNsPerHour), window.to_ns};
}

Result<Table> diagnosis_table(const DiagnosisRequest& request, const TracedRequests& requests) {
  const auto sides = sides_of(requests.assembly, request);
  if (!sides) {
    return propagate(sides);
  }
  diagnosis::DiagnosisOptions options;
  if (!request.service.empty()) {
    const auto service = service_named(request.service, requests.spans->names());
    if (!service) {
      return propagate(service);
    }
    options.service = *service;
  }
  return request.by == Method::kAll ? by_all_methods(request, requests, *sides, options)
                                    : by_one_method(request, requests, *sides, options);
}

Result<Table> diagnose_store(const DiagnosisRequest& request, const std::string& data_dir,
                             uint64_t max_spans) {
  const auto requests = read_stored_requests(data_dir, times_to_read(request), max_spans);
  if (!requests) {
    return propagate(requests);
  }
  // A matrix takes what the spans leave of their memory.
  DiagnosisRequest bounded = request;
  const uint64_t spans = requests->spans->spans().size();
  bounded.max_matrix_entries =
      (std::max(std::min(max_spans, kMaxReadSpans), spans) - spans) * kBytesOfReadSpan / kBytesOfMatrixEntry;
  auto table = diagnosis_table(bounded, *requests);
  if (!table) {
    return with_damage(propagate(table), requests->damage);
  }
  std::ranges::copy(requests->notes, std::back_inserter(table->notes));
  return table;
}

void keep_claimed(Table& table) {
  const auto confidence = find_column(table, "confidence");
  if (!confidence) {
    return;
  }
  std::erase_if(table.rows, [place = *confidence](const std::vector<Value>& row) {
    return number_in(row[place]).value_or(1) < diagnosis::kMinConfidence;
  });
}

}  // namespace plimsoll::query
