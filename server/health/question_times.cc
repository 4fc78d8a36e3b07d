#include "server/health/question_times.h"

#include <algorithm>

#include "base/time.h"

namespace plimsoll::server {

QuestionTimes::QuestionTimes(const std::vector<std::string>& views) {
  for (const std::string& view : views) {
    histograms_.try_emplace(view);
  }
}

void QuestionTimes::note(std::string_view view, int64_t duration_ns) {
  Histogram& histogram = histograms_.find(view)->second;
  const double duration_s = static_cast<double>(duration_ns) / static_cast<double>(kNsPerSecond);
  const auto bucket = std::ranges::lower_bound(kAnswerBucketsS, duration_s);
  ++histogram.counts[static_cast<size_t>(bucket - kAnswerBucketsS.begin())];
  histogram.sum_ns += duration_ns;
}

std::vector<ViewTimes> QuestionTimes::all() const {
  std::vector<ViewTimes> all;
  for (const auto& [view, histogram] : histograms_) {
    ViewTimes& times = all.emplace_back();
    times.view = view;
    std::ranges::copy(histogram.counts, times.counts.begin());
    times.sum_s = static_cast<double>(histogram.sum_ns) / static_cast<double>(kNsPerSecond);
  }
  return all;
}

}  // namespace plimsoll::server
