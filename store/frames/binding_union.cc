#include "store/frames/binding_union.h"

#include <algorithm>
#include <utility>

namespace plimsoll::store {

void BindingUnion::extend(std::span<const Addition> blocks) {
  const bool is_new = std::ranges::any_of(blocks, [](const Addition& block) {
    return !block.member.is_complete || block.member.rebound < block.bindings.rebound.size();
  });
  if (is_new) {
    Places places = bindings_.places_ == nullptr ? Places() : *bindings_.places_;
    for (const Addition& block : blocks) {
      add_names(block);
      add_frames(block, places);
    }
    bindings_.drop_unused_frames(places);
    bindings_.places_ = std::make_shared<const Places>(std::move(places));
  }
  const bool has_new_reasons = std::ranges::any_of(
      blocks, [](const Addition& block) { return block.member.reasons != block.bindings.reasons_; });
  if (has_new_reasons) {
    add_reasons(blocks);
  }
}

void BindingUnion::add_names(const Addition& block) {
  const Bindings& from = block.bindings;
  for (size_t i = block.member.functions.size(); i < from.functions.size(); ++i) {
    const auto [known, is_new] = functions_.try_emplace(from.linkage_names[i] + '\0' + from.functions[i],
                                                        static_cast<uint32_t>(bindings_.functions.size()));
    if (is_new) {
      bindings_.functions.push_back(from.functions[i]);
      bindings_.linkage_names.push_back(from.linkage_names[i]);
    }
    block.member.functions.push_back(known->second);
  }
  for (size_t i = block.member.files.size(); i < from.files.size(); ++i) {
    const auto [known, is_new] =
        files_.try_emplace(from.files[i], static_cast<uint32_t>(bindings_.files.size()));
    if (is_new) {
      bindings_.files.push_back(from.files[i]);
    }
    block.member.files.push_back(known->second);
  }
}

void BindingUnion::add_frames(const Addition& block, Places& places) {
  const Bindings& from = block.bindings;
  if (!block.member.is_complete) {
    const size_t locations = std::min(from.locations(), block.locations.size());
    for (uint32_t location = 1; location < locations; ++location) {
      bind(block.locations[location], from.of(location), block.member, places);
    }
    block.member.is_complete = true;
    block.member.rebound = from.rebound.size();
  }
  for (; block.member.rebound < from.rebound.size(); ++block.member.rebound) {
    const uint32_t location = from.rebound[block.member.rebound];
    bind(block.locations[location], from.of(location), block.member, places);
  }
}

void BindingUnion::bind(uint32_t location, std::span<const Bindings::BoundFrame> frames, const Member& member,
                        Places& places) {
  const auto translated = [&](const Bindings::BoundFrame& frame) {
    return Bindings::BoundFrame{member.functions[frame.function], member.files[frame.file], frame.line};
  };
  if (places.size() <= location) {
    places.resize(size_t{location} + 1);
  }
  Bindings::Place& place = places[location];
  const auto current = bindings_.frames_.span().subspan(place.first, place.count);
  if (frames.empty() || std::ranges::equal(frames, current, {}, translated)) {
    return;
  }
  bindings_.frames_in_use_ += frames.size();
  bindings_.frames_in_use_ -= place.count;
  place = {static_cast<uint32_t>(bindings_.frames_.size()), static_cast<uint32_t>(frames.size())};
  for (const Bindings::BoundFrame& frame : frames) {
    bindings_.frames_.push_back(translated(frame));
  }
  bindings_.rebound.push_back(location);
}

void BindingUnion::add_reasons(std::span<const Addition> blocks) {
  auto reasons = bindings_.reasons_ == nullptr ? std::vector<std::string>() : *bindings_.reasons_;
  for (const Addition& block : blocks) {
    if (block.member.reasons == block.bindings.reasons_) {
      continue;
    }
    block.member.reasons = block.bindings.reasons_;
    for (uint32_t binary = 1; binary < block.binaries.size(); ++binary) {
      reasons.resize(std::max<size_t>(reasons.size(), block.binaries[binary] + 1));
      reasons[block.binaries[binary]] = block.bindings.reasons_of(binary);
    }
  }
  bindings_.reasons_ = std::make_shared<const std::vector<std::string>>(std::move(reasons));
}

}  // namespace plimsoll::store
