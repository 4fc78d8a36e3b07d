#include "diagnosis/observations/request_matrix.h"

#include <algorithm>
#include <map>

namespace plimsoll::diagnosis {
namespace {

Method method_of(const traces::SpanSet& spans, const traces::Node& node) {
  const traces::Span& span = spans.spans()[node.span];
  return {span.service, span.operation};
}

}  // namespace

Result<RequestMatrix> request_matrix(const traces::SpanSet& spans, const traces::Assembly& assembly,
                                     std::span<const uint32_t> traces, TimeOf time_of, uint64_t max_entries) {
  constexpr float kMsPerNs = 1e-6F;
  std::map<Method, uint32_t> columns;
  for (const uint32_t trace : traces) {
    for (const traces::Node& node : assembly.nodes_of(assembly.traces[trace])) {
      columns.try_emplace(method_of(spans, node), 0);
    }
  }
  if (traces.size() * columns.size() > max_entries) {
    return with_hint(fail(ErrorCode::kTooLarge, "{} requests x {} methods; at most {} entries are compared",
                          traces.size(), columns.size(), max_entries),
                     "choose a shorter window and reference");
  }
  RequestMatrix made;
  for (auto& [method, column] : columns) {
    column = static_cast<uint32_t>(made.methods.size());
    made.methods.push_back(method);
  }
  made.traces.assign(traces.begin(), traces.end());
  made.ms = Matrix(traces.size(), columns.size());
  made.replicas.resize(traces.size() * columns.size());
  std::vector<int64_t> longest_ns(columns.size());
  for (size_t row = 0; row < traces.size(); ++row) {
    std::ranges::fill(longest_ns, -1);
    for (const traces::Node& node : assembly.nodes_of(assembly.traces[traces[row]])) {
      const uint32_t column = columns.find(method_of(spans, node))->second;
      const int64_t time_ns = time_of == TimeOf::kSelf ? node.self_ns : node.duration_ns();
      made.ms.at(row, column) += static_cast<float>(time_ns) * kMsPerNs;
      if (node.duration_ns() > longest_ns[column]) {
        longest_ns[column] = node.duration_ns();
        made.replicas[row * columns.size() + column] = spans.spans()[node.span].replica;
      }
    }
  }
  return made;
}

void divide_by_medians(Matrix& matrix) {
  std::vector<float> values;
  for (size_t column = 0; column < matrix.columns(); ++column) {
    values.clear();
    for (size_t row = 0; row < matrix.rows(); ++row) {
      if (matrix.at(row, column) > 0) {
        values.push_back(matrix.at(row, column));
      }
    }
    if (values.empty()) {
      continue;
    }
    const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
    std::ranges::nth_element(values, middle);
    for (size_t row = 0; row < matrix.rows(); ++row) {
      matrix.at(row, column) /= *middle;
    }
  }
}

}  // namespace plimsoll::diagnosis
