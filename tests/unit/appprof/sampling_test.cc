// Poisson sampling of amounts is unbiased, whatever the amounts.
#include "appprof/sampling.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "appprof/sample_limit.h"

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

// 100,000 times, by both ways: 5 standard errors of their difference.
TEST(Sampling, ThoseOfALongerPeriodAreAsProbableAsIfDrawnByIt) {
  constexpr int kTimes = 100'000;
  constexpr double kPeriod = 1000;
  for (const double amount : {1.0, 100.0, 1000.0, 10'000.0, 100'000.0}) {
    for (const double longer : {2000.0, 64'000.0}) {
      Countdown countdown(11);
      RandomBits choices(12);
      double kept = 0;
      for (int i = 0; i < kTimes; ++i) {
        kept +=
            countdown.take(amount, kPeriod) && is_sample_of_longer(amount, kPeriod, longer, choices) ? 1 : 0;
      }
      const double p = -std::expm1(-amount / longer);
      EXPECT_LE(std::abs(kept - p * kTimes), 5 * std::sqrt(p * (1 - p) * kTimes) + 1e-9)
          << amount << " by " << longer;
    }
  }
}

// A reader of tcmalloc's text weights each line by the size of its blocks and the one period of the header. 5 standard errors.
TEST(Sampling, ReadersThatKnowOnePeriodHaveTheSameTotals) {
  constexpr int kTimes = 100'000;
  constexpr double kPeriod = 1000;
  for (const double amount : {1.0, 100.0, 500.0, 1000.0, 4000.0, 100'000.0}) {
    for (const double longer : {2000.0, 4000.0, 64'000.0}) {
      RandomBits choices(13);
      Moments read;
      for (int i = 0; i < kTimes; ++i) {
        const uint64_t samples = samples_of_shorter(amount, kPeriod, longer, choices);
        ASSERT_GE(samples, 1U) << "a line of none has no size";
        read.add(static_cast<double>(samples) * weight_of_sample(amount, kPeriod));
      }
      const double weight = weight_of_sample(amount, longer);
      EXPECT_LE(std::abs(read.mean() - weight), 5 * read.standard_error() + 1e-6 * weight)
          << amount << " by " << longer;
    }
  }
  RandomBits choices(14);
  EXPECT_EQ(samples_of_shorter(0, kPeriod, 8000, choices), 8U) << "an allocation of no bytes is one, too";
}

// As a program that waits for shorter or longer, while the limit changes the period: the weights are of the period of each.
TEST(Sampling, APeriodThatChangesLeavesTotalsUnbiased) {
  Moments errors;
  for (int run = 0; run < runs(); ++run) {
    Countdown countdown(static_cast<uint64_t>(run) + 1);
    double total = 0;
    for (int i = 0; i < 20'000; ++i) {
      const double period = i % 3 == 0 ? 500 : 8000;
      if (countdown.take(100, period)) {
        total += weight_of_sample(100, period);
      }
    }
    errors.add(total - 20'000);
  }
  EXPECT_LE(std::abs(errors.mean()), 2.6 * errors.standard_error());
}

TEST(SampleLimit, ThePeriodDoublesWithEach64ThatAreTooManyAndHalvesAgain) {
  constexpr int64_t kNow = 5'000'000'000;
  constexpr int64_t kSecond = 1'000'000'000;
  SampleLimit limit;
  limit.set_max_per_second(64);
  for (int i = 0; i < 63; ++i) {
    limit.add_sample(kNow);
  }
  EXPECT_EQ(limit.doublings(kNow), 0);
  limit.add_sample(kNow);
  EXPECT_EQ(limit.doublings(kNow), 1);
  EXPECT_EQ(limit.doublings(kNow + 1), 0) << "time makes up for it";
  for (int i = 0; i < 64 * 100; ++i) {
    limit.add_sample(kNow);
  }
  EXPECT_EQ(limit.doublings(kNow), SampleLimit::kMaxDoublings);
  EXPECT_EQ(limit.doublings(kNow + SampleLimit::kMaxDoublings * kSecond), 1);
  EXPECT_EQ(limit.doublings(kNow + 1 + SampleLimit::kMaxDoublings * kSecond), 0);
  limit.clear();
  EXPECT_EQ(limit.doublings(kNow), 0);
}

TEST(SampleLimit, SamplesThatComeAtAnyRateAreHardlyMoreThanTheLimit) {
  constexpr int kSeconds = 20;
  for (const int per_second : {100, 1000, 30'000, 300'000}) {
    SampleLimit limit;
    limit.set_max_per_second(250);
    RandomBits choices(3);
    int taken = 0;
    for (int64_t i = 0; i < int64_t{per_second} * kSeconds; ++i) {
      const int64_t now_ns = 1 + i * (1'000'000'000 / per_second);
      if (choices.uniform() * std::ldexp(1, limit.doublings(now_ns)) <= 1) {
        limit.add_sample(now_ns);
        ++taken;
      }
    }
    EXPECT_LE(taken, 250 * kSeconds + SampleLimit::kSamplesPerDoubling * SampleLimit::kMaxDoublings);
    EXPECT_GE(taken, std::min(per_second, 250) * kSeconds / 2) << per_second;
  }
}

TEST(SampleLimit, WithoutALimitThePeriodStays) {
  SampleLimit limit;
  for (const uint32_t none : {uint32_t{0}, kNoSampleLimit}) {
    limit.set_max_per_second(none);
    for (int i = 0; i < 1000; ++i) {
      limit.add_sample(1);
    }
    EXPECT_EQ(limit.doublings(1), 0);
  }
}

TEST(Sampling, EverythingLargeIsASample) {
  Countdown countdown(7);
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(countdown.take(1e12, 1000));
  }
}

}  // namespace
}  // namespace plimsoll::appprof
