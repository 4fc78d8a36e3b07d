// Requests as rows and methods as columns: what CloudDiag and its peer work on.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "diagnosis/rpca/matrix.h"
#include "traces/assembly/assembly.h"

namespace plimsoll::diagnosis {

struct Method {
  uint32_t service = 0;
  uint32_t operation = 0;
  auto operator<=>(const Method&) const = default;
};

enum class TimeOf : uint8_t { kInclusive, kSelf };

struct RequestMatrix {
  std::vector<Method> methods;   // by column
  std::vector<uint32_t> traces;  // by row: indices into the Assembly
  Matrix ms;                     // of all calls of the method in the request together
  std::vector<uint32_t>
      replicas;  // rows x columns: which ran the longest of these calls; 0: unknown, or not called

  uint32_t replica(size_t row, size_t column) const { return replicas[row * methods.size() + column]; }
};

// Of a matrix: 1 GiB of times and replicas.
inline constexpr uint64_t kMaxMatrixEntries = uint64_t{1} << 27;

// Of these traces; methods that a request does not call have 0 in its row. kTooLarge, before anything is allocated, for over `max_entries`.
Result<RequestMatrix> request_matrix(const traces::SpanSet& spans, const traces::Assembly& assembly,
                                     std::span<const uint32_t> traces, TimeOf time_of,
                                     uint64_t max_entries = kMaxMatrixEntries);

// Divides each column by the middle of its values above 0, so that short methods count as much as long ones.
void divide_by_medians(Matrix& matrix);

}  // namespace plimsoll::diagnosis
