#include "server/health/background_work.h"

#include <string>

namespace plimsoll::server {

std::string_view name_of(Work work) {
  switch (work) {
    case Work::kRows:
      return "rows";
    case Work::kSymbols:
      return "symbols";
    case Work::kCompaction:
      return "compaction";
    case Work::kDraws:
      return "draws";
    case Work::kInventory:
      return "inventory";
  }
  return "";
}

void BackgroundWork::begin(Work work) {
  const int64_t now_ns = now_ns_();
  const std::lock_guard lock(mutex_);
  Kept& kept = works_[static_cast<size_t>(work)];
  kept.has_begun = true;
  kept.health.name = name_of(work);
  kept.health.running_since_ns = now_ns;
}

void BackgroundWork::end(Work work, const Status& done) {
  std::string error = done ? std::string() : done.error().text();
  const int64_t now_ns = now_ns_();
  const std::lock_guard lock(mutex_);
  query::BackgroundWorkHealth& health = works_[static_cast<size_t>(work)].health;
  health.running_since_ns = 0;
  health.newest_success_ns = done ? now_ns : health.newest_success_ns;
  health.errors += done ? 0 : 1;
  health.error = std::move(error);
}

std::vector<query::BackgroundWorkHealth> BackgroundWork::all() const {
  std::vector<query::BackgroundWorkHealth> all;
  const std::lock_guard lock(mutex_);
  for (const Kept& kept : works_) {
    if (kept.has_begun) {
      all.push_back(kept.health);
    }
  }
  return all;
}

}  // namespace plimsoll::server
