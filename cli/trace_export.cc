#include "cli/trace_export.h"

#include <algorithm>
#include <array>
#include <deque>
#include <utility>
#include <vector>

#include "base/time.h"
#include "query/table/values.h"
#include "query/traces/trace_table.h"
#include "traces/model/ids.h"

namespace plimsoll::cli {
namespace {

// Texts that spans borrow are kept here for as long.
class ExportedSpans {
 public:
  explicit ExportedSpans(const query::Table& table) : table_(table) {}

  Status read() {
    for (const auto& row : table_.rows) {
      if (Status added = add(row); !added) {
        return added;
      }
    }
    // Once they have all been added, so that none moves.
    for (size_t i = 0; i < spans_.size(); ++i) {
      spans_[i].attributes = attributes_[i];
    }
    return {};
  }
  const std::vector<traces::NamedSpan>& all() const { return spans_; }

 private:
  using Row = std::vector<query::Value>;

  std::string_view text_of(const Row& row, const char* column) {
    const auto found = query::find_column(table_, column);
    return found ? texts_.emplace_back(query::text_in(row[*found])) : std::string_view();
  }

  Result<int64_t> number_of(const Row& row, const char* column) const {
    const auto found = query::find_column(table_, column);
    if (!found) {
      return propagate(found, "the view trace");
    }
    return static_cast<int64_t>(query::number_in(row[*found]).value_or(0));
  }

  Status add(const Row& row) {
    const auto trace = traces::parse_trace_id(text_of(row, "trace"));
    const auto id = traces::parse_span_id(text_of(row, "span"));
    const auto began_ns = parse_time_ns(text_of(row, "began"), 0);
    const auto start_ns = number_of(row, "start");
    const auto duration_ns = start_ns ? number_of(row, "duration") : propagate(start_ns);
    const auto depth = duration_ns ? number_of(row, "depth") : propagate(duration_ns);
    if (!depth) {
      return propagate(depth);
    }
    if (!trace || !id || !began_ns || *depth < 0 || static_cast<size_t>(*depth) > path_.size()) {
      return fail(ErrorCode::kCorrupt, "the answer of the view trace has a row that is no span");
    }
    // The calls above it in the tree.
    path_.resize(static_cast<size_t>(*depth));
    const traces::SpanId parent = path_.empty() ? 0 : path_.back();
    const traces::NamedSpan span{.trace = *trace,
                                 .id = *id == parent ? traces::mixed(*id) : *id,
                                 .parent = parent,
                                 .start_ns = *began_ns + *start_ns,
                                 .end_ns = *began_ns + *start_ns + *duration_ns,
                                 .service = text_of(row, "service"),
                                 .operation = text_of(row, "method"),
                                 .replica = text_of(row, "replica"),
                                 .machine = text_of(row, "machine"),
                                 .version = text_of(row, "version"),
                                 .kind = kind_of(text_of(row, "kind")),
                                 .status = text_of(row, "is_error") == "yes" ? traces::SpanStatus::kError
                                                                             : traces::SpanStatus::kUnset};
    path_.push_back(span.id);
    spans_.push_back(span);
    add_attributes(text_of(row, "attributes"));
    return {};
  }

  static traces::SpanKind kind_of(std::string_view name) {
    using traces::SpanKind;
    constexpr std::array kKinds{SpanKind::kInternal, SpanKind::kServer, SpanKind::kClient,
                                SpanKind::kProducer, SpanKind::kConsumer};
    const auto* const found =
        std::ranges::find_if(kKinds, [&](SpanKind kind) { return name_of(kind) == name; });
    return found == kKinds.end() ? SpanKind::kUnspecified : *found;
  }

  // KEY=VALUE, one a line.
  void add_attributes(std::string_view text) {
    auto& attributes = attributes_.emplace_back();
    while (!text.empty()) {
      const size_t end = std::min(text.find('\n'), text.size());
      auto [key, value] = query::split_attribute(text.substr(0, end));
      attributes.push_back({texts_.emplace_back(std::move(key)), texts_.emplace_back(std::move(value))});
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }

  const query::Table& table_;
  std::deque<std::string> texts_;
  std::vector<traces::SpanId> path_;  // IDs from the root to the call at hand
  std::vector<traces::NamedSpan> spans_;
  std::vector<std::vector<traces::Attribute>> attributes_;  // by span
};

}  // namespace

Result<std::string> exported_trace(const query::Table& table, formats::TraceExport format) {
  ExportedSpans spans(table);
  const Status read = spans.read();
  return read ? Result<std::string>(formats::write_trace(spans.all(), format)) : propagate(read);
}

}  // namespace plimsoll::cli
