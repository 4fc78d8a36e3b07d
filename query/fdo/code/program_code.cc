#include "query/fdo/code/program_code.h"

#include <algorithm>
#include <iterator>

namespace plimsoll::fdo {

uint32_t FunctionCode::block_at(uint64_t address) const {
  const auto after = std::ranges::upper_bound(blocks, address, {}, &Block::from);
  if (after == blocks.begin() || std::prev(after)->to <= address) {
    return static_cast<uint32_t>(blocks.size());
  }
  return static_cast<uint32_t>(std::distance(blocks.begin(), after) - 1);
}

const FunctionCode* ProgramCode::function_at(uint64_t address) const {
  const auto after =
      std::ranges::upper_bound(parts, address, {}, [](const Part& part) { return part.range.from; });
  if (after == parts.begin() || std::prev(after)->range.to <= address) {
    return nullptr;
  }
  return &functions[std::prev(after)->function];
}

}  // namespace plimsoll::fdo
