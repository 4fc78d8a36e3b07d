#include "query/views/audit.h"

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "store/access/access_store.h"
#include "store/data_directory.h"

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

Result<std::vector<store::AskedFor>> load(const AuditRequest& request, const std::string& data_dir) {
  const auto directory = store::DataDirectory::open_for_reading(data_dir);
  auto opened =
      directory ? store::AccessStore::open_if_there(directory->access_path()) : propagate(directory);
  if (!opened) {
    return propagate(opened);
  }
  std::optional<store::AccessStore>& store = *opened;
  return store ? store->newest(request.limit, request.since_ns) : Result<std::vector<store::AskedFor>>();
}

}  // namespace

Result<AuditRequest> parse_audit(const Parameters& parameters, int64_t now_ns) {
  AuditRequest request;
  Selection selection;
  const std::array all{since_parameter(now_ns, selection),
                       count_parameter("limit", kMaxRequests, request.limit)};
  if (auto read = read_parameters(parameters, all); !read) {
    return propagate(read);
  }
  request.since_ns = selection.since_ns;
  return request;
}

Result<Table> audit(const AuditRequest& request, const std::string& data_dir) {
  const auto asked = load(request, data_dir);
  if (!asked) {
    return propagate(asked);
  }
  Table table;
  table.columns = {{"time", ""},    {"count", "requests"}, {"who", ""},   {"from", ""},
                   {"request", ""}, {"status", ""},        {"answer", ""}};
  for (const store::AskedFor& one : *asked) {
    table.rows.push_back({format_time(one.last_ns / kNsPerSecond * kNsPerSecond),
                          static_cast<double>(one.count), one.caller, one.host, one.request,
                          std::to_string(one.status), std::string(answer_of(one.status))});
  }
  if (table.rows.empty()) {
    table.notes.emplace_back("no results: no requests in the time range");
  }
  return table;
}

}  // namespace plimsoll::query
