#include "query/snapshot/frame_keys.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/process_memory.h"
#include "query/snapshot/dimension.h"
#include "query/snapshot/snapshot.h"

namespace plimsoll::query {
namespace {

// So many, or those that an eighth of the memory has room for where that is less: each takes about 30 bytes for each frame of each stack node.
size_t max_kept(const Snapshot& snapshot) {
  constexpr uint64_t kMaxKept = 6;
  constexpr uint64_t kBytesOfNode = 30;
  static const uint64_t max_bytes = memory_share(uint64_t{64} << 30, 8);
  const uint64_t bytes_of_one = kBytesOfNode * std::max<uint64_t>(1, snapshot.dictionaries.stacks.size());
  return std::clamp<uint64_t>(max_bytes / bytes_of_one, 1, kMaxKept);
}

}  // namespace

FrameKeys::FrameKeys(const Snapshot& snapshot, const std::vector<std::string_view>& dimensions,
                     std::shared_ptr<const HiddenFrames> hidden)
    : dimensions_(dimensions.begin(), dimensions.end()),
      numbers_(std::make_shared<Numbers>()),
      hidden_(std::move(hidden)) {
  first_.reserve(snapshot.dictionaries.locations.size() + 1);
  add_locations(snapshot);
}

FrameKeys::FrameKeys(const FrameKeys& before, const Snapshot& snapshot)
    : dimensions_(before.dimensions_), numbers_(before.numbers_) {
  const auto known = static_cast<uint32_t>(before.first_.size() - 1);
  const std::lock_guard lock(numbers_->mutex);
  std::map<uint32_t, std::vector<uint32_t>> rebound;
  for (const uint32_t location : snapshot.bindings.rebound.span().subspan(before.rebound_)) {
    if (location >= known || rebound.contains(location)) {
      continue;
    }
    auto keys = keys_of(snapshot, location);
    if (!std::ranges::equal(keys, before.of_location(location))) {
      rebound.emplace(location, std::move(keys));
    }
  }
  if (rebound.empty()) {
    first_ = before.first_;
    keys_ = before.keys_;
  } else {
    changed_.resize(known);
    for (uint32_t location = 0; location < known; ++location) {
      const auto found = rebound.find(location);
      changed_[location] = found != rebound.end();
      add_location(found == rebound.end() ? before.of_location(location) : std::span(found->second));
    }
  }
  add_locations_locked(snapshot);
  const std::lock_guard projecting(before.projecting_);
  // Where only that before is known, what has changed since that one counts too.
  stacks_before_ = before.stacks_ != nullptr ? before.stacks_ : before.stacks_before_;
  if (before.stacks_ == nullptr && !before.changed_.empty()) {
    changed_.resize(known);
    for (size_t location = 0; location < before.changed_.size(); ++location) {
      changed_[location] = changed_[location] || before.changed_[location];
    }
  }
}

void FrameKeys::add_locations(const Snapshot& snapshot) {
  const std::lock_guard lock(numbers_->mutex);
  add_locations_locked(snapshot);
}

void FrameKeys::add_locations_locked(const Snapshot& snapshot) {
  for (auto location = static_cast<uint32_t>(first_.size() - 1);
       location < snapshot.dictionaries.locations.size(); ++location) {
    add_location(keys_of(snapshot, location));
  }
  texts_ = numbers_->texts;
  nodes_ = hidden_ == nullptr ? snapshot.dictionaries.stacks : AppendOnlyList<store::StackNode>();
  rebound_ = snapshot.bindings.rebound.size();
}

void FrameKeys::add_location(std::span<const uint32_t> keys) {
  keys_.append(keys);
  first_.push_back(static_cast<uint32_t>(keys_.size()));
}

std::vector<uint32_t> FrameKeys::keys_of(const Snapshot& snapshot, uint32_t location) const {
  std::vector<uint32_t> keys;
  const size_t frames = frames_of(snapshot, location);
  for (uint32_t depth = 0; depth < frames; ++depth) {
    // Without a stack there is still something to call that.
    if (hidden_ != nullptr && location != 0 && hidden_->is_hidden({location, depth})) {
      continue;
    }
    std::vector<std::string> texts;
    for (const std::string& dimension : dimensions_) {
      texts.push_back(frame_value(snapshot, dimension, {location, depth}));
    }
    const auto next = static_cast<uint32_t>(numbers_->of_texts.size());
    const auto [entry, is_new] = numbers_->of_texts.try_emplace(std::move(texts), next);
    if (is_new) {
      numbers_->texts.append(entry->first);
    }
    keys.push_back(entry->second);
  }
  return keys;
}

const store::StackProjection& FrameKeys::stacks() const {
  const std::lock_guard lock(projecting_);
  if (stacks_ == nullptr) {
    stacks_ = stacks_before_ == nullptr ? std::make_shared<const store::StackProjection>(nodes(), locations())
                                        : std::make_shared<const store::StackProjection>(
                                              *stacks_before_, nodes(), locations(), changed_);
    stacks_before_ = nullptr;
    changed_ = {};
  }
  return *stacks_;
}

std::unique_ptr<FrameKeysCache> FrameKeysCache::after(FrameKeysCache& before) {
  auto cache = std::make_unique<FrameKeysCache>();
  const std::lock_guard lock(before.mutex_);
  for (const Made* made : {&before.made_, &before.made_before_}) {
    for (const auto& [name, keys] : *made) {
      if (keys->hidden() == nullptr) {
        cache->made_before_.try_emplace(name, keys);
      }
    }
  }
  return cache;
}

std::shared_ptr<const FrameKeys> FrameKeysCache::of(const Snapshot& snapshot,
                                                    const std::vector<std::string_view>& dimensions,
                                                    const std::shared_ptr<const HiddenFrames>& hidden) {
  const std::lock_guard lock(mutex_);
  const std::string name =
      fmt::format("{} {}", fmt::join(dimensions, ","), hidden == nullptr ? "" : hidden->text());
  if (!made_.contains(name) && made_.size() >= max_kept(snapshot)) {
    // Questions that use them keep them.
    made_.clear();
    made_before_.clear();
  }
  auto& keys = made_[name];
  if (keys == nullptr) {
    const auto before = hidden == nullptr ? made_before_.find(name) : made_before_.end();
    keys = before == made_before_.end() ? std::make_shared<const FrameKeys>(snapshot, dimensions, hidden)
                                        : std::make_shared<const FrameKeys>(*before->second, snapshot);
    made_before_.erase(name);
  }
  return keys;
}

}  // namespace plimsoll::query
