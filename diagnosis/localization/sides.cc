#include "diagnosis/localization/sides.h"

#include <algorithm>

namespace plimsoll::diagnosis {

std::vector<uint32_t> traces_of(const Sides& sides, Side side) {
  std::vector<uint32_t> traces;
  for (uint32_t trace = 0; trace < sides.size(); ++trace) {
    if (sides[trace] == side) {
      traces.push_back(trace);
    }
  }
  return traces;
}

std::vector<Sides> reference_blocks(const Sides& sides, size_t max_blocks) {
  const std::vector<uint32_t> reference = traces_of(sides, Side::kReference);
  if (reference.size() < 3 * kMinBlock || max_blocks == 0) {
    return {};
  }
  const auto window = static_cast<size_t>(std::ranges::count(sides, Side::kWindow));
  const size_t length = std::clamp<size_t>(window, 1, reference.size() / 3);
  const size_t last_begin = reference.size() - length;
  const size_t count = std::min(max_blocks, 1 + 2 * last_begin / length);
  std::vector<Sides> blocks;
  for (size_t block = 0; block < count; ++block) {
    const size_t begin = count == 1 ? 0 : last_begin * block / (count - 1);
    Sides& made = blocks.emplace_back(sides.size(), Side::kNeither);
    for (size_t i = 0; i < reference.size(); ++i) {
      made[reference[i]] = i >= begin && i < begin + length ? Side::kWindow : Side::kReference;
    }
  }
  return blocks;
}

}  // namespace plimsoll::diagnosis
