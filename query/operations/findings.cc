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

// More than that have one cause.
constexpr uint64_t kMaxHourNotes = 5;

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

// Rows and notes of hours, one after the other.
class HourRows {
 public:
  HourRows(const FindingsRequest& request, Table& table) : request_(request), table_(table) {}

  void add(const store::DiagnosedHour& hour) {
    ++hours_;
    requests_ += hour.requests;
    if (request_.by_category) {
      add_categories(hour);
    } else {
      add_findings(hour);
    }
    if (hour.note.empty() || hour.note == store::kNoRequests) {
      return;
    }
    if (++with_notes_ <= kMaxHourNotes) {
      table_.notes.push_back(fmt::format("{}: {}", format_time(hour.begin_ns), hour.note));
    }
    oldest_note_ = hour.note;
  }

  void finish() {
    if (with_notes_ > kMaxHourNotes) {
      table_.notes.push_back(
          fmt::format("{} more hours have notes, such as: {}", with_notes_ - kMaxHourNotes, oldest_note_));
    }
    if (found_ > table_.rows.size()) {
      table_.notes.push_back(fmt::format("showing {} of {} {}", table_.rows.size(), found_,
                                         request_.by_category ? "categories" : "findings"));
    }
    table_.notes.push_back(fmt::format("{} hours with {} requests", hours_, requests_));
  }

 private:
  // Of those that are asked for.
  bool takes(const std::string& service) {
    if (!request_.service.empty() && request_.service != service) {
      return false;
    }
    ++found_;
    return table_.rows.size() < request_.limit;
  }

  void add_findings(const store::DiagnosedHour& hour) {
    for (const store::KeptFinding& one : hour.findings) {
      if (takes(one.service)) {
        table_.rows.push_back({format_time(hour.begin_ns), one.service, one.operation,
                               text_or_absent(one.replica), text_or_absent(one.machine), one.kind, one.score,
                               one.confidence, one.evidence});
      }
    }
  }

  void add_categories(const store::DiagnosedHour& hour) {
    for (const store::CategoryStatistics& one : hour.categories) {
      if (!takes(one.service)) {
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
      table_.rows.push_back(std::move(row));
    }
  }

  const FindingsRequest& request_;
  Table& table_;
  uint64_t hours_ = 0;
  uint64_t requests_ = 0;
  uint64_t found_ = 0;
  uint64_t with_notes_ = 0;
  std::string oldest_note_;
};

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
  const auto directory = store::DataDirectory::open_for_reading(data_dir);
  if (!directory) {
    return propagate(directory);
  }
  Table table;
  table.columns = request.by_category ? columns_by_category() : columns_by_finding();
  auto opened = store::FindingStore::open_if_there(store::spans_path_of(data_dir));
  if (!opened) {
    return propagate(opened);
  }
  std::optional<store::FindingStore> store = *std::move(opened);
  if (!store) {
    table.notes.emplace_back(
        "no hour of request traces has been diagnosed: a server does so once an hour, unless traces.diagnose "
        "is false");
    return table;
  }
  HourRows rows(request, table);
  const Status visited = store->visit(request.since_ns, request.until_ns, request.by_category,
                                      [&rows](const store::DiagnosedHour& hour) { rows.add(hour); });
  if (!visited) {
    return propagate(visited);
  }
  rows.finish();
  return table;
}

}  // namespace plimsoll::query
