// How long answers take, by view.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::server {

// Upper bounds of a histogram's buckets. Answers of a snapshot in memory take milliseconds, over weeks of a fleet seconds; SQL may take
// minutes.
inline constexpr std::array<double, 12> kAnswerBucketsS{0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                                                        0.5,   1,    2.5,   10,   30,  120};

struct ViewTimes {
  std::string view;
  std::array<uint64_t, kAnswerBucketsS.size() + 1>
      counts{};  // by bucket, not cumulative; the last: longer ones
  double sum_s = 0;
};

// Any thread. Has one histogram for each view that it was made with, and no others.
class QuestionTimes {
 public:
  explicit QuestionTimes(const std::vector<std::string>& views);

  // `view` must be one of those.
  void note(std::string_view view, int64_t duration_ns);

  std::vector<ViewTimes> all() const;  // by view

 private:
  struct Histogram {
    std::array<std::atomic<uint64_t>, kAnswerBucketsS.size() + 1> counts{};
    std::atomic<int64_t> sum_ns = 0;
  };
  std::map<std::string, Histogram, std::less<>> histograms_;  // the map itself never changes
};

}  // namespace plimsoll::server
