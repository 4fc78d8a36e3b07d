// The spans of a data directory, for questions: beside the process that writes it, or in it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "store/door/spans.h"

namespace plimsoll::store {

// Keeps nothing between questions: each reads the dictionaries of the blocks that it touches, and maps their files.
class LocalSpanSource : public SpanSource {
 public:
  explicit LocalSpanSource(std::string spans_path) : spans_path_(std::move(spans_path)) {}

  Result<std::vector<DamagedPart>> read(const SpanQuestion& question, const SpanVisitor& visit) override;

 private:
  const std::string spans_path_;
};

}  // namespace plimsoll::store
