#include "query/operations/findings.h"

#include <fmt/format.h>

#include <optional>
#include <utility>
#include <vector>

#include "base/time.h"
#include "store/directory/data_directory.h"
#include "store/spans/finding_store.h"

namespace plimsoll::query {
namespace {

// Of 30 days, as the server keeps them by default, and more.
constexpr size_t kMaxHours = 10'000;

Value text_or_absent(const std::string& text) {
  return text.empty() ? Value() : Value(text);
}

std::vector<TableColumn> columns_by_finding() {
  return {{"hour", ""}, {"service", ""},    {"method", ""},          {"replica", ""}, {"machine", ""},
          {"kind", ""}, {"score", "share"}, {"confidence", "share"}, {"evidence", ""}};
}

std::vector<TableColumn> columns_by_category() {
  std::vector<TableColumn> columns{{"hour", ""},     {"service", ""},       {"method", ""},
                                   {"category", ""}, {"requests", "count"}, {"weight", "count"}};
  for (const char* quantile : {"p50", "p95", "p99"}) {
    for (const char* suffix : {"", "_low", "_high"}) {
      columns.push_back({fmt::format("{}{}", quantile, suffix), "ns"});
    }
  }
  columns.push_back({"variation", "share"});
  return columns;
}

bool is_asked_for(const FindingsRequest& request, const std::string& service) {
  return request.service.empty() || request.service == service;
}

void add_findings(const FindingsRequest& request, const store::DiagnosedHour& hour, Table& table) {
  for (const store::KeptFinding& one : hour.findings) {
    if (is_asked_for(request, one.service) && table.rows.size() < request.limit) {
      table.rows.push_back({format_time(hour.begin_ns), one.service, one.operation,
                            text_or_absent(one.replica), text_or_absent(one.machine), one.kind, one.score,
                            one.confidence, one.evidence});
    }
  }
}

void add_categories(const FindingsRequest& request, const store::DiagnosedHour& hour, Table& table) {
  for (const store::CategoryStatistics& one : hour.categories) {
    if (!is_asked_for(request, one.service) || table.rows.size() >= request.limit) {
      continue;
    }
    std::vector<Value> row{
        format_time(hour.begin_ns),         one.category.empty() ? std::string("[other]") : one.service,
        text_or_absent(one.operation),      text_or_absent(one.category),
        static_cast<int64_t>(one.requests), one.weight};
    for (const store::LatencyQuantile& quantile : {one.p50, one.p95, one.p99}) {
      const bool has_interval = quantile.has_interval();
      row.emplace_back(quantile.value_ns);
      row.push_back(has_interval ? Value(quantile.low_ns) : Value());
      row.push_back(has_interval ? Value(quantile.high_ns) : Value());
    }
    row.emplace_back(one.variation);
    table.rows.push_back(std::move(row));
  }
}

}  // namespace

Result<FindingsRequest> parse_findings(const Parameters& parameters, int64_t now_ns) {
  FindingsRequest request;
  Selection selection;
  const std::vector<Parameter> all{{"by",
                                    [&request](const std::string& text) -> Status {
                                      if (text != "finding" && text != "category") {
                                        return invalid_parameter("by", text, "finding or category");
                                      }
                                      request.by_category = text == "category";
                                      return {};
                                    }},
                                   text_parameter("service", request.service),
                                   since_parameter(now_ns, selection),
                                   until_parameter(now_ns, selection),
                                   count_parameter("limit", kMaxRows, request.limit)};
  Status read = read_parameters(parameters, all);
  read = read ? check_selection(selection) : read;
  if (!read) {
    return propagate(read);
  }
  request.since_ns = selection.since_ns;
  request.until_ns = selection.until_ns;
  return request;
}

Result<Table> findings(const FindingsRequest& request, const std::string& data_dir) {
  Table table;
  table.columns = request.by_category ? columns_by_category() : columns_by_finding();
  auto store = store::FindingStore::open_if_there(store::spans_path_of(data_dir));
  if (!store) {
    return propagate(store);
  }
  if (!store->has_value()) {
    table.notes.emplace_back(
        "no hour of request traces has been diagnosed: a server does so once an hour, unless traces.diagnose "
        "is "
        "false");
    return table;
  }
  const auto hours = (*store)->hours(request.since_ns, request.until_ns, kMaxHours, request.by_category);
  if (!hours) {
    return propagate(hours);
  }
  uint64_t requests = 0;
  for (const store::DiagnosedHour& hour : *hours) {
    requests += hour.requests;
    if (request.by_category) {
      add_categories(request, hour, table);
    } else {
      add_findings(request, hour, table);
    }
    if (!hour.note.empty() && hour.note != store::kNoRequests) {
      table.notes.push_back(fmt::format("{}: {}", format_time(hour.begin_ns), hour.note));
    }
  }
  table.notes.push_back(fmt::format("{} hours with {} requests", hours->size(), requests));
  return table;
}

}  // namespace plimsoll::query
