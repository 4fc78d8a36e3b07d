#include "query/operations/audit.h"

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace plimsoll::query {
namespace {

constexpr size_t kMaxRequests = 100'000;

std::string_view answer_of(unsigned status) {
  switch (status) {
    case 400:
    case 415:
      return "malformed";
    case 401:
      return "unauthenticated";
    case 403:
      return "forbidden";
    case 404:
    case 405:
      return "not found";
    case 409:
      return "conflict";
    case 413:
      return "too large";
    case 429:
      return "rate limited";
    default:
      return status < 400 ? "granted" : "failed";
  }
}

std::string to_the_second(int64_t time_ns) {
  return format_time(time_ns / kNsPerSecond * kNsPerSecond);
}

std::vector<TableColumn> columns_by_request() {
  return {{"time", ""},    {"count", "requests"}, {"who", ""},   {"from", ""},
          {"request", ""}, {"status", ""},        {"answer", ""}};
}

std::vector<TableColumn> columns_by_caller() {
  return {{"who", ""}, {"first_time", ""}, {"last_time", ""}, {"count", "requests"}, {"refused", "requests"}};
}

Status add_requests(const AuditRequest& request, const store::Fleet& fleet, Table& table) {
  const auto asked = fleet.newest_requests(request.limit, request.since_ns);
  if (!asked) {
    return propagate(asked);
  }
  for (const store::AskedFor& one : *asked) {
    table.rows.push_back({to_the_second(one.last_ns), static_cast<double>(one.count), one.caller, one.host,
                          one.request, std::to_string(one.status), std::string(answer_of(one.status))});
  }
  return {};
}

Status add_callers(const AuditRequest& request, const store::Fleet& fleet, Table& table) {
  const auto callers = fleet.callers(request.limit, request.since_ns);
  if (!callers) {
    return propagate(callers);
  }
  for (const store::CallerUse& one : *callers) {
    table.rows.push_back({one.caller, to_the_second(one.first_ns), to_the_second(one.last_ns),
                          static_cast<double>(one.count), static_cast<double>(one.refused)});
  }
  return {};
}

}  // namespace

Result<AuditRequest> parse_audit(const Parameters& parameters, int64_t now_ns) {
  AuditRequest request;
  Selection selection;
  const std::array all{Parameter{"by",
                                 [&](const std::string& text) -> Status {
                                   if (text != "request" && text != "caller") {
                                     return invalid_parameter("by", text, "request or caller");
                                   }
                                   request.by_caller = text == "caller";
                                   return {};
                                 }},
                       since_parameter(now_ns, selection),
                       count_parameter("limit", kMaxRequests, request.limit)};
  if (auto read = read_parameters(parameters, all); !read) {
    return propagate(read);
  }
  request.since_ns = selection.since_ns;
  return request;
}

Result<Table> audit(const AuditRequest& request, const store::Fleet& fleet) {
  Table table;
  table.columns = request.by_caller ? columns_by_caller() : columns_by_request();
  const Status added =
      request.by_caller ? add_callers(request, fleet, table) : add_requests(request, fleet, table);
  if (!added) {
    return propagate(added);
  }
  if (table.rows.empty()) {
    table.notes.emplace_back("no entries for that time");
  }
  return table;
}

}  // namespace plimsoll::query
