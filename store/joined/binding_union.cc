#include "store/joined/binding_union.h"

#include <algorithm>
#include <utility>

namespace plimsoll::store {

void BindingUnion::add(const Addition& block) {
  add_reasons(block);
  if (block.member.is_complete && block.member.rebound == block.bindings.rebound.size()) {
    return;
  }
  if (!places_) {
    places_ = bindings_.places_ == nullptr ? Places() : *bindings_.places_;
  }
  add_names(block);
  add_frames(block, *places_);
}

void BindingUnion::publish() {
  if (places_) {
    bindings_.drop_unused_frames(*places_);
    bindings_.places_ = std::make_shared<const Places>(std::move(*places_));
    places_ = std::nullopt;
  }
  publish_reasons();
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
      bind(block, location, places);
    }
    block.member.is_complete = true;
    block.member.rebound = from.rebound.size();
  }
  for (; block.member.rebound < from.rebound.size(); ++block.member.rebound) {
    bind(block, from.rebound[block.member.rebound], places);
  }
}

// `location`: the block's.
void BindingUnion::bind(const Addition& block, uint32_t location, Places& places) {
  const auto frames = block.bindings.of(location);
  const auto translated = [&](const Bindings::BoundFrame& frame) {
    return Bindings::BoundFrame{block.member.functions[frame.function], block.member.files[frame.file],
                                frame.line};
  };
  const uint32_t in_union = block.locations[location];
  if (places.size() <= in_union) {
    places.resize(size_t{in_union} + 1);
  }
  named_by_.resize(std::max(named_by_.size(), places.size()));
  Bindings::Place& place = places[in_union];
  const auto current = bindings_.frames_.span().subspan(place.first, place.count);
  if (frames.empty() || (!current.empty() && named_by_[in_union] > block.block)) {
    return;
  }
  named_by_[in_union] = block.block;
  if (std::ranges::equal(frames, current, {}, translated)) {
    return;
  }
  bindings_.frames_in_use_ += frames.size();
  bindings_.frames_in_use_ -= place.count;
  place = {static_cast<uint32_t>(bindings_.frames_.size()), static_cast<uint32_t>(frames.size())};
  for (const Bindings::BoundFrame& frame : frames) {
    bindings_.frames_.push_back(translated(frame));
  }
  bindings_.rebound.push_back(in_union);
}

void BindingUnion::add_reasons(const Addition& block) {
  reasons_.resize(std::max<size_t>(reasons_.size(), block.block + size_t{1}));
  Reasons& known = reasons_[block.block];
  if (known.of_binary != block.bindings.reasons_) {
    known = {block.bindings.reasons_, {block.binaries.begin(), block.binaries.end()}};
    has_new_reasons_ = true;
  }
}

void BindingUnion::publish_reasons() {
  if (!has_new_reasons_) {
    return;
  }
  std::vector<std::string> all;
  for (const Reasons& of_block : reasons_) {
    const size_t binaries =
        of_block.of_binary == nullptr ? 0 : std::min(of_block.of_binary->size(), of_block.binaries.size());
    for (size_t binary = 1; binary < binaries; ++binary) {
      const std::string& reason = (*of_block.of_binary)[binary];
      all.resize(std::max<size_t>(all.size(), of_block.binaries[binary] + size_t{1}));
      if (!reason.empty()) {
        all[of_block.binaries[binary]] = reason;
      }
    }
  }
  bindings_.reasons_ = std::make_shared<const std::vector<std::string>>(std::move(all));
  has_new_reasons_ = false;
}

}  // namespace plimsoll::store
