// Poisson sampling of amounts is unbiased, whatever the amounts.
#include "appprof/sampling.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace plimsoll::appprof {
namespace {

// More in a soak.
int runs() {
  const char* text = std::getenv("PLIMSOLL_TEST_APPPROF_RUNS");
  return text == nullptr ? 60 : std::atoi(text);
}

struct Moments {
  void add(double value) {
    sum += value;
    sum_of_squares += value * value;
    ++count;
  }
  double mean() const { return sum / count; }
  double standard_error() const {
    return std::sqrt((sum_of_squares / count - mean() * mean()) / (count - 1));
  }
  double sum = 0, sum_of_squares = 0;
  int count = 0;
};

struct Case {
  double amount;
  int times;
};

// So many amounts of each size, in a shuffled order, as one thread would come by them.
TEST(Sampling, TotalsAndCountsOfEachSizeAreUnbiased) {
  constexpr double kPeriod = 524'288;
  const std::vector<Case> cases = {
      {16, 200'000}, {1024, 20'000}, {65'536, 2000}, {1 << 20, 100}, {64 << 20, 10}};
  std::vector<Moments> count_errors(cases.size());
  std::vector<Moments> amount_errors(cases.size());
  for (int run = 0; run < runs(); ++run) {
    Countdown countdown(static_cast<uint64_t>(run) + 1);
    RandomBits order(static_cast<uint64_t>(run) + 1000);
    std::vector<int> left;
    int all = 0;
    for (const Case& of : cases) {
      left.push_back(of.times);
      all += of.times;
    }
    std::vector<double> counts(cases.size());
    while (all > 0) {
      auto chosen = static_cast<int>(order.next() % static_cast<uint64_t>(all));
      size_t which = 0;
      while (chosen >= left[which]) {
        chosen -= left[which++];
      }
      --left[which];
      --all;
      if (countdown.take(cases[which].amount, kPeriod)) {
        counts[which] += weight_of_sample(cases[which].amount, kPeriod);
      }
    }
    for (size_t i = 0; i < cases.size(); ++i) {
      count_errors[i].add(counts[i] - cases[i].times);
      amount_errors[i].add((counts[i] - cases[i].times) * cases[i].amount);
    }
  }
  for (size_t i = 0; i < cases.size(); ++i) {
    // Seeds are fixed: either always or never. 95 % intervals of five sizes at once.
    EXPECT_LE(std::abs(count_errors[i].mean()), 2.6 * count_errors[i].standard_error() + 1e-9)
        << cases[i].amount;
    EXPECT_LE(std::abs(amount_errors[i].mean()), 2.6 * amount_errors[i].standard_error() + 1e-9)
        << cases[i].amount;
    EXPECT_LT(count_errors[i].standard_error(), 0.1 * cases[i].times) << cases[i].amount;
  }
}

TEST(Sampling, AWeightIsTheInverseOfTheProbability) {
  EXPECT_EQ(weight_of_sample(0, 1000), 0);
  EXPECT_DOUBLE_EQ(weight_of_sample(1e9, 1000), 1);
  EXPECT_DOUBLE_EQ(weight_of_sample(1000, 1000), 1 / (1 - std::exp(-1)));
  EXPECT_NEAR(weight_of_sample(1, 1e6) / 1e6, 1, 1e-5);
}

TEST(Sampling, EverythingLargeIsASample) {
  Countdown countdown(7);
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(countdown.take(1e12, 1000));
  }
}

}  // namespace
}  // namespace plimsoll::appprof
