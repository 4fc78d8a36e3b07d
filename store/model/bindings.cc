#include "store/model/bindings.h"

#include <algorithm>
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

void BindingsBuilder::bind(uint32_t location, std::span<const Frame> frames) {
  places_.resize(std::max(places_.size(), size_t{location} + 1));
  Bindings::Place& place = places_[location];
  bindings_.frames_in_use_ += frames.size();
  bindings_.frames_in_use_ -= place.count;
  place = {static_cast<uint32_t>(bindings_.frames_.size()), static_cast<uint32_t>(frames.size())};
  for (const Frame& frame : frames) {
    const uint32_t function = function_of(frame);
    const auto [file, is_new] = files_.try_emplace(frame.file, static_cast<uint32_t>(bindings_.files.size()));
    if (is_new) {
      bindings_.files.push_back(frame.file);
    }
    bindings_.frames_.push_back({function, file->second, frame.line});
  }
  bindings_.rebound.push_back(location);
  bindings_.drop_unused_frames(places_);
}

uint32_t BindingsBuilder::function_of(const Frame& frame) {
  const auto [function, is_new] = functions_.try_emplace(frame.linkage_name + '\0' + frame.function,
                                                         static_cast<uint32_t>(bindings_.functions.size()));
  if (is_new) {
    bindings_.functions.push_back(frame.function);
    bindings_.linkage_names.push_back(frame.linkage_name);
  }
  return function->second;
}

void BindingsBuilder::describe(uint32_t binary, std::string reasons) {
  reasons_.resize(std::max(reasons_.size(), size_t{binary} + 1));
  reasons_[binary] = std::move(reasons);
}

Bindings BindingsBuilder::bindings() const {
  Bindings bindings = bindings_;
  bindings.places_ = std::make_shared<const std::vector<Bindings::Place>>(places_);
  bindings.reasons_ = std::make_shared<const std::vector<std::string>>(reasons_);
  return bindings;
}

}  // namespace plimsoll::store
