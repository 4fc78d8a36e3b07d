#include "store/model/bindings.h"

#include <utility>

namespace plimsoll::store {
namespace {

constexpr size_t kFewFrames = 10'000;

}  // namespace

std::string_view name_of(SymbolQuality quality) {
  switch (quality) {
    case SymbolQuality::kNone:
      return "none";
    case SymbolQuality::kDynsym:
      return "dynsym";
    case SymbolQuality::kSymtab:
      return "symtab";
    case SymbolQuality::kLines:
      return "line tables";
    case SymbolQuality::kFull:
      return "full DWARF";
  }
  return "";
}

void Bindings::drop_unused_frames(std::vector<Place>& places) {
  // So that it takes twice the memory at most, and dropping costs little for each frame that was added.
  if (frames_.size() <= 2 * frames_in_use_ + kFewFrames) {
    return;
  }
  AppendOnlyList<BoundFrame> frames;
  frames.reserve(frames_in_use_);
  for (Place& place : places) {
    const auto first = static_cast<uint32_t>(frames.size());
    frames.append(frames_.span().subspan(place.first, place.count));
    place.first = first;
  }
  frames_ = std::move(frames);
}

}  // namespace plimsoll::store
