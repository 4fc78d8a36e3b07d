#include "store/joined/recent_series.h"

#include <algorithm>
#include <iterator>
#include <span>

#include "base/process_memory.h"

namespace plimsoll::store {
namespace {

// The newest part, the last day, the last month, and another.
constexpr size_t kMaxSeries = 4;

}  // namespace

// Of a series that is locked: what it tells of itself is so again at the end, whatever was thrown.
class RecentSeries::Series::Update {
 public:
  explicit Update(Series& series) : series_(series) {}
  Update(const Update&) = delete;
  Update& operator=(const Update&) = delete;
  ~Update() {
    series_.lineage_ = series_.contents_.lineage();
    series_.memory_bytes_ = series_.contents_.memory_bytes();
  }

 private:
  Series& series_;
};

std::optional<Result<Contents>> RecentSeries::Series::newest(const PartSeries::Readers& parts,
                                                             const PartFacts& facts) {
  const auto held = mutex_.lock();
  if (!held) {
    return Result<Contents>(propagate(held));
  }
  const Update update(*this);
  if (!contents_.begins(parts)) {
    return std::nullopt;
  }
  contents_.extend_to(parts);
  return contents_.newest(facts);
}

std::shared_ptr<RecentSeries::Series> RecentSeries::of(const PartSeries::Readers& parts) {
  auto best = series_.end();
  for (auto series = series_.begin(); series != series_.end(); ++series) {
    const auto& known = (*series)->parts_;
    const bool begins =
        known.size() <= parts.size() && std::ranges::equal(known, std::span(parts).first(known.size()));
    if (begins && (best == series_.end() || known.size() > (*best)->parts_.size())) {
      best = series;
    }
  }
  if (best != series_.end()) {
    series_.splice(series_.begin(), series_, best);
    series_.front()->parts_ = parts;
  } else {
    series_.push_front(std::make_shared<Series>(parts, join_, max_bytes_));
  }
  forget_old();
  return series_.front();
}

// The one in front, which a question waits for, stays.
void RecentSeries::forget_old() {
  series_.resize(std::min(series_.size(), kMaxSeries));
  uint64_t bytes = 0;
  for (auto series = series_.begin(); series != series_.end();) {
    bytes += (*series)->memory_bytes_;
    series = series != series_.begin() && bytes > max_bytes_ ? series_.erase(series) : std::next(series);
  }
}

std::vector<uint64_t> RecentSeries::lineages() const {
  std::vector<uint64_t> lineages;
  for (const auto& series : series_) {
    lineages.push_back(series->lineage_);
  }
  return lineages;
}

uint64_t default_series_bytes() {
  static const uint64_t bytes = memory_share(uint64_t{64} << 30, 5);
  return bytes;
}

}  // namespace plimsoll::store
