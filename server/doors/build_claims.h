// Which machine a wanted build was offered to, and which builds are arriving: a build that a whole fleet runs is sent once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/time.h"
#include "elf/binary_part.h"

namespace plimsoll::server {

// Any thread.
class BuildClaims {
 public:
  explicit BuildClaims(std::function<int64_t()> monotonic_ns) : monotonic_ns_(std::move(monotonic_ns)) {}

  // Whether `machine` may send the build: no other was offered it in the last ten minutes. It has them from now on.
  bool claim(std::string_view build_id, std::string_view machine) {
    const std::lock_guard lock(mutex_);
    const int64_t now_ns = monotonic_ns_();
    std::erase_if(claims_, [&](const auto& entry) { return entry.second.until_ns <= now_ns; });
    const auto [found, is_new] =
        claims_.try_emplace(std::string(build_id), Claim{.machine = std::string(machine)});
    if (!is_new && found->second.machine != machine) {
      return false;
    }
    found->second.until_ns = now_ns + kClaimNs;
    return true;
  }

  // Whether so much of the build, or more, has come since the server started. Of very many builds all are forgotten: then one machine sends
  // it once more.
  bool has_arrived(std::string_view build_id, elf::BinaryPart content) {
    const std::lock_guard lock(mutex_);
    const auto found = arrived_.find(build_id);
    return found != arrived_.end() && found->second >= content;
  }

  void note_arrived(std::string_view build_id, elf::BinaryPart content) {
    const std::lock_guard lock(mutex_);
    if (arrived_.size() >= kMaxArrived) {
      arrived_.clear();
    }
    const auto [found, is_new] = arrived_.try_emplace(std::string(build_id), content);
    found->second = std::max(found->second, content);
  }

  // For as long as it lives the build arrives. Null: it does already.
  static std::shared_ptr<const void> begin_arrival(const std::shared_ptr<BuildClaims>& claims,
                                                   std::string_view build_id) {
    const std::string* arriving = nullptr;
    {
      const std::lock_guard lock(claims->mutex_);
      const auto [found, is_new] = claims->arriving_.emplace(build_id);
      if (!is_new) {
        return nullptr;
      }
      arriving = &*found;
    }
    return std::shared_ptr<const void>(arriving, [claims](const void* id) {
      const std::lock_guard ending(claims->mutex_);
      claims->arriving_.erase(claims->arriving_.find(*static_cast<const std::string*>(id)));
    });
  }

 private:
  // As long as a daemon leaves the server alone by default. One that was offered many takes longer; begin_arrival() keeps two from sending at once.
  static constexpr int64_t kClaimNs = 600 * kNsPerSecond;

  static constexpr size_t kMaxArrived = 100'000;

  struct Claim {
    std::string machine;
    int64_t until_ns = 0;
  };

  const std::function<int64_t()> monotonic_ns_;
  std::mutex mutex_;
  std::map<std::string, Claim, std::less<>> claims_;  // by build ID; guarded by mutex_, as the next
  std::set<std::string, std::less<>> arriving_;
  std::map<std::string, elf::BinaryPart, std::less<>> arrived_;
};

}  // namespace plimsoll::server
