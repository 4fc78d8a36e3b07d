#include "query/traces/regressions_answer.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/time.h"
#include "query/traces/machine_attributes.h"
#include "query/traces/regressions_report.h"

namespace plimsoll::query {
namespace {

constexpr int64_t kUsualTimeNs = 24 * kNsPerHour;

// The machine database, which has what spans lack at most: the spans still answer.
bool is_damaged(const Error& error) {
  return error.code == ErrorCode::kCorrupt || error.code == ErrorCode::kUnsupported;
}

}  // namespace

Result<RegressionsRequest> parse_regressions(const Parameters& parameters, int64_t now_ns) {
  RegressionsRequest request;
  request.now_ns = now_ns;
  diagnosis::RequestTableOptions& table = request.table;
  bool has_until = false;
  const Parameter attribute{"attribute", [&table](const std::string& text) -> Status {
                              // Each is a column of all requests: a question has to end in its time.
                              if (table.attributes.size() == diagnosis::kMaxSearchedAttributes) {
                                return with_field(fail(ErrorCode::kInvalid, "over {} attributes to search",
                                                       diagnosis::kMaxSearchedAttributes),
                                                  "attribute");
                              }
                              table.attributes.push_back(text);
                              return {};
                            }};
  const std::vector<Parameter> known{time_of_traces("since", now_ns, table.since_ns, request.has_since),
                                     time_of_traces("until", now_ns, table.until_ns, has_until),
                                     text_parameter("by_hardware", table.hardware),
                                     text_parameter("by_workload", table.workload),
                                     text_parameter("version", table.version),
                                     attribute,
                                     text_parameter("new", table.current),
                                     text_parameter("base", table.base),
                                     flag_parameter("json", request.is_json)};
  if (const Status read = read_parameters(parameters, known); !read) {
    return propagate(read);
  }
  return table.since_ns < table.until_ns
             ? Result<RegressionsRequest>(std::move(request))
             : with_field(fail(ErrorCode::kInvalid, "the time range is empty"), "since");
}

Result<std::string> regressions_document(const RegressionsRequest& request, const TracedRequests& requests) {
  const auto report = diagnosis::find_regressions(*requests.spans, requests.assembly, request.table);
  if (!report) {
    return with_damage(propagate(report), requests.damage);
  }
  const traces::Names& names = requests.spans->names();
  return request.is_json ? regressions_json(*report, names, requests.notes)
                         : regressions_markdown(*report, names, requests.notes);
}

Result<std::string> regressions_of_store(const RegressionsRequest& request, const std::string& data_dir,
                                         uint64_t max_spans) {
  RequestTimes times{request.table.since_ns, request.table.until_ns};
  if (!request.has_since) {
    times.from_ns = std::max(int64_t{0}, std::min(times.to_ns, request.now_ns) - kUsualTimeNs);
  }
  auto machines = MachineAttributes::load(data_dir, times, request.now_ns);
  std::string damage;
  if (!machines && is_damaged(machines.error())) {
    damage = "attributes of machines are missing: " + within_directory(machines.error().message, data_dir);
    machines = MachineAttributes();
  }
  if (!machines) {
    return propagate(machines);
  }
  auto requests = read_stored_requests(data_dir, times, max_spans, SpanAttributes::kRead, &*machines);
  if (!requests) {
    return propagate(requests);
  }
  if (!damage.empty()) {
    requests->notes.push_back(damage);
    // Where an attribute is not found, this may be why.
    requests->damage.push_back(std::move(damage));
  }
  return regressions_document(request, *requests);
}

}  // namespace plimsoll::query
