#include "query/snapshot/frame_keys.h"

#include <fmt/ranges.h>

#include <boost/container_hash/hash.hpp>
#include <boost/unordered/unordered_flat_map.hpp>

#include "query/snapshot/dimension.h"
#include "query/snapshot/snapshot.h"

namespace plimsoll::query {
namespace {

// Each takes about 30 bytes for each frame of each stack node.
constexpr size_t kMaxKept = 6;

}  // namespace

FrameKeys::FrameKeys(const Snapshot& snapshot, const std::vector<std::string_view>& dimensions,
                     std::shared_ptr<const HiddenFrames> hidden)
    : dimensions_(dimensions.size()),
      hidden_(std::move(hidden)),
      nodes_(hidden_ == nullptr ? &snapshot.dictionaries.stacks : &hidden_->stacks()) {
  using Texts = std::vector<std::string>;
  boost::unordered_flat_map<Texts, uint32_t, boost::hash<Texts>> numbers;
  const size_t locations = snapshot.dictionaries.locations.size();
  locations_.first.reserve(locations + 1);
  for (uint32_t location = 0; location < locations; ++location) {
    locations_.first.push_back(static_cast<uint32_t>(locations_.keys.size()));
    const size_t frames = frames_of(snapshot, location);
    for (uint32_t depth = 0; depth < frames; ++depth) {
      // Without a stack there is still something to call that.
      if (hidden_ != nullptr && location != 0 && hidden_->is_hidden({location, depth})) {
        continue;
      }
      Texts texts;
      for (const std::string_view dimension : dimensions) {
        texts.push_back(frame_value(snapshot, dimension, {location, depth}));
      }
      const auto [entry, is_new] =
          numbers.try_emplace(std::move(texts), static_cast<uint32_t>(numbers.size()));
      if (is_new) {
        texts_.insert(texts_.end(), entry->first.begin(), entry->first.end());
      }
      locations_.keys.push_back(entry->second);
    }
  }
  locations_.first.push_back(static_cast<uint32_t>(locations_.keys.size()));
}

const store::StackProjection& FrameKeys::stacks() const {
  std::call_once(is_projected_,
                 [&] { stacks_ = std::make_unique<store::StackProjection>(*nodes_, locations_); });
  return *stacks_;
}

std::shared_ptr<const FrameKeys> FrameKeysCache::of(const Snapshot& snapshot,
                                                    const std::vector<std::string_view>& dimensions,
                                                    const std::shared_ptr<const HiddenFrames>& hidden) {
  const std::lock_guard lock(mutex_);
  if (made_.size() > kMaxKept) {
    made_.clear();  // whoever uses them keeps them
  }
  auto& keys =
      made_[fmt::format("{} {}", fmt::join(dimensions, ","), hidden == nullptr ? "" : hidden->text())];
  if (keys == nullptr) {
    keys = std::make_shared<const FrameKeys>(snapshot, dimensions, hidden);
  }
  return keys;
}

}  // namespace plimsoll::query
