#include "statistics/linearization.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "statistics/student_t.h"

namespace plimsoll::statistics {
namespace {

// Machines with hits of weight 1 / probability, of which a row has some.
struct Row {
  std::vector<double> numerator_samples = {};
  std::vector<double> denominator_samples = {};
  double probability = 0.01;

  Design design() const {
    return Design(std::vector<SampledMachine>(numerator_samples.size(), {0, probability}));
  }

  template <typename Statistic>
  Estimate ask(const Statistic& statistic) const {
    std::vector<double> numerator;
    std::vector<double> denominator;
    std::vector<double> numerator_squares;
    std::vector<double> denominator_squares;
    for (size_t i = 0; i < numerator_samples.size(); ++i) {
      numerator.push_back(numerator_samples[i] / probability);
      denominator.push_back(denominator_samples[i] / probability);
      numerator_squares.push_back(numerator[i] / probability);
      denominator_squares.push_back(denominator[i] / probability);
    }
    return statistic(design(), RowSums{numerator, denominator, numerator_squares, denominator_squares});
  }
};

// So many machines, that differ.
Row varied(size_t machines, double probability = 0.01) {
  Row row{.probability = probability};
  for (size_t i = 0; i < machines; ++i) {
    row.numerator_samples.push_back(20 + static_cast<double>(i % 7) * 10);
    row.denominator_samples.push_back(200 + static_cast<double>(i % 5) * 10);
  }
  return row;
}

TEST(Share, IsOfTotalsNotAMeanOfShares) {
  const Estimate estimate = Row{{10, 300}, {100, 600}}.ask(share);
  EXPECT_DOUBLE_EQ(*estimate.value, 310.0 / 700);
}

TEST(Share, IntervalIsTheDeltaMethodOnTheLogit) {
  // Shares 0.4 and 0.6 of equal machines: residuals -10 and 10 before weights and leverage.
  Row row;
  for (int i = 0; i < 50; ++i) {
    row.numerator_samples.push_back(i % 2 == 0 ? 40 : 60);
    row.denominator_samples.push_back(100);
  }
  const Estimate estimate = row.ask(share);
  EXPECT_DOUBLE_EQ(*estimate.value, 0.5);
  // Residuals over the root of 1 - 1/50; (1 - p) n/(n-1) of their squares between, p m (1 - S)^2 + p m S^2 within.
  const double between = 0.99 * 50.0 / 49 * 50 * 100 / 0.98;
  const double within = 0.01 * 0.25 * 5000;
  const double error = std::sqrt(between + within) / 5000;
  const double half = student_t_quantile(0.975, 49 * std::pow((between + within) / between, 2)) * error;
  EXPECT_NEAR(*estimate.high, 1 / (1 + std::exp(-half / 0.25)), 1e-6);
  EXPECT_NEAR(*estimate.low, 1 - *estimate.high, 1e-12);
  EXPECT_NEAR(*estimate.margin, (*estimate.high - *estimate.low) / 2, 1e-12);
  EXPECT_EQ(estimate.margin_kind, MarginKind::kBetweenMachines);
  EXPECT_EQ(estimate.machines, 50);
}

TEST(Share, NeverLeavesWhatSharesThereAre) {
  Row rare;
  for (int i = 0; i < 1000; ++i) {
    rare.numerator_samples.push_back(i % 70 == 0 ? 100 : 0);
    rare.denominator_samples.push_back(100);
  }
  const Estimate low = rare.ask(share);
  EXPECT_GT(*low.low, 0);
  EXPECT_GT(*low.high - *low.value, *low.value - *low.low);  // further up than down
  for (int i = 0; i < 1000; ++i) {
    rare.numerator_samples[i] = 100 - rare.numerator_samples[i];
  }
  const Estimate high = rare.ask(share);
  EXPECT_LT(*high.high, 1);
  EXPECT_NEAR(*high.high, 1 - *low.low, 1e-9);
}

TEST(Share, OfAllMachinesHasOnlyTheNoiseOfCounts) {
  const Row row{{30, 50}, {100, 100}, 1};
  const Estimate estimate = row.ask(share);
  EXPECT_EQ(estimate.margin_kind, MarginKind::kWithinMachines);
  // The binomial one.
  const double error = std::sqrt(0.4 * 0.6 / 200);
  EXPECT_NEAR(*estimate.margin, 1.96 * error, 0.02 * error);
}

TEST(Share, OfOneMachineHasTheNoiseOfItsCountsAndSaysSo) {
  const Estimate estimate = Row{{80}, {200}, 0.01}.ask(share);
  EXPECT_EQ(estimate.margin_kind, MarginKind::kWithinOneMachine);
  const double error = std::sqrt(0.4 * 0.6 / 200);
  EXPECT_NEAR(*estimate.margin, 1.96 * error, 0.02 * error);
  EXPECT_EQ(Row({{29}, {200}, 0.01}).ask(share).margin_kind, MarginKind::kTooFewSamples);
  EXPECT_EQ(Row({{171}, {200}, 0.01}).ask(share).margin_kind, MarginKind::kTooFewSamples);
}

TEST(Share, OfFewMachinesIsWideAndSaysSo) {
  double last = 1;
  for (const size_t machines : {2, 3, 4, 39}) {
    const Estimate estimate = varied(machines).ask(share);
    EXPECT_EQ(estimate.margin_kind, MarginKind::kFewMachines);
    EXPECT_LT(*estimate.margin, last);
    last = *estimate.margin;
  }
  // Student's quantile of one degree is 12.7.
  EXPECT_GT(*varied(2).ask(share).margin, 4 * *varied(4).ask(share).margin);
  EXPECT_EQ(varied(40).ask(share).margin_kind, MarginKind::kBetweenMachines);
}

// A hundred machines with two samples of the row each, of which three stand for a hundred times as much: their daemons had to sample less
// often. By weight, all have the effective number of samples (L. Kish) of (3 200 + 97 2)^2 / (3 2 100^2 + 97 2) = 10.5.
TEST(Share, OfAFewSamplesThatStandForMuchIsOfFewMachines) {
  std::vector<double> numerator(100, 2);
  std::vector<double> squares(100, 2);
  const std::vector<double> denominator(100, 1e6);
  const std::vector<double> denominator_squares(100, 1e6);
  const Design design(std::vector<SampledMachine>(100, {0, 0.01}));
  const auto kind = [&] {
    return share(design, {numerator, denominator, squares, denominator_squares}).margin_kind;
  };
  EXPECT_EQ(kind(), MarginKind::kBetweenMachines);
  for (const size_t machine : {10, 20, 30}) {
    numerator[machine] = 200;
    squares[machine] = 2 * 100 * 100;
  }
  EXPECT_EQ(kind(), MarginKind::kFewMachines);
}

TEST(Share, OfOneMachineAmongTwoHasNoMargin) {
  EXPECT_EQ(Row({{50, 0}, {100, 100}}).ask(share).margin_kind, MarginKind::kTooFewMachines);
}

TEST(Share, OfAHandfulAmongManyMachinesHasNoMargin) {
  Row row = varied(500);
  for (size_t i = 11; i < 500; ++i) {
    row.numerator_samples[i] = 0;
  }
  EXPECT_EQ(row.ask(share).margin_kind, MarginKind::kTooFewMachines);
  row.numerator_samples[400] = 20;
  EXPECT_EQ(row.ask(share).margin_kind, MarginKind::kFewMachines);
  EXPECT_EQ(row.ask(share).machines, 12);
  // What a minority of machines has needs more of them than what most have.
  for (size_t i = 0; i < 99; ++i) {
    row.numerator_samples[i] = 20;
  }
  row.numerator_samples[400] = 0;
  EXPECT_EQ(row.ask(share).margin_kind, MarginKind::kFewMachines);
  row.numerator_samples[400] = 20;
  EXPECT_EQ(row.ask(share).margin_kind, MarginKind::kBetweenMachines);
}

TEST(Share, OfAlmostAllIsAsRareAsTheRest) {
  Row row = varied(500);
  row.numerator_samples = row.denominator_samples;
  row.numerator_samples[7] -= 50;
  EXPECT_EQ(row.ask(share).margin_kind, MarginKind::kTooFewMachines);
}

TEST(Share, OfNothingIsAbsentAndNothingOfAllIsZero) {
  EXPECT_FALSE(Row({{0, 0}, {0, 0}}).ask(share).value);
  const Estimate none = Row({{0, 0, 0, 0, 0}, {10, 20, 30, 10, 10}}).ask(share);
  EXPECT_EQ(*none.value, 0);
  EXPECT_FALSE(none.margin);
  EXPECT_FALSE(Row({{}, {}}).ask(share).value);
}

// Sums of the same samples, added up in another order.
TEST(Share, ARestThatIsRoundingIsNone) {
  Row row = varied(60);
  row.numerator_samples = row.denominator_samples;
  EXPECT_EQ(row.ask(share).margin_kind, MarginKind::kTooFewMachines);
  for (size_t i = 0; i < row.numerator_samples.size(); ++i) {
    row.denominator_samples[i] *= i % 2 == 0 ? 1 + 1e-14 : 1 - 1e-14;
  }
  EXPECT_EQ(row.ask(share).margin_kind, MarginKind::kTooFewMachines);
  for (double& samples : row.denominator_samples) {
    samples += 1;
  }
  EXPECT_NE(row.ask(share).margin_kind, MarginKind::kTooFewMachines);
}

TEST(Share, ALargerPartOfTheFleetIsSurer) {
  double last = 1;
  for (const double probability : {0.01, 0.3, 0.7, 0.95}) {
    const double margin = *varied(100, probability).ask(share).margin;
    EXPECT_LT(margin, last);
    last = margin;
  }
}

TEST(Share, AMachineThatIsMostOfAllMakesTheMarginWide) {
  Row row = varied(60);
  const double before = *row.ask(share).margin;
  row.numerator_samples[0] = 9000;
  row.denominator_samples[0] = 12000;
  EXPECT_GT(*row.ask(share).margin, 5 * before);
}

TEST(EventRatio, OfEventsCountedApartHasTheNoiseOfBoth) {
  const Estimate estimate =
      Row{{900}, {400}, 0.01}.ask([](const Design& d, const RowSums& r) { return ratio(d, r); });
  EXPECT_DOUBLE_EQ(*estimate.value, 2.25);
  EXPECT_NEAR(std::log(*estimate.high / 2.25), 1.959964 * std::sqrt(1.0 / 900 + 1.0 / 400), 1e-6);
  EXPECT_NEAR(*estimate.low * *estimate.high, 2.25 * 2.25, 1e-9);
}

TEST(EventRatio, WithoutEitherEventIsAbsent) {
  const auto ask = [](const Design& d, const RowSums& r) { return ratio(d, r); };
  EXPECT_FALSE(Row({{0, 0}, {5, 5}}).ask(ask).value);
  EXPECT_FALSE(Row({{5, 5}, {0, 0}}).ask(ask).value);
  EXPECT_EQ(Row({{5, 5}, {0, 0}}).ask(ask).margin_kind, MarginKind::kNoSamples);
}

// As any text has it (Cochran, Sampling Techniques, chapter 2), and with what counts add.
TEST(Total, IsTheSampleExpandedByItsWeights) {
  Row row{.probability = 0.1};
  for (int i = 0; i < 40; ++i) {
    row.numerator_samples.push_back(i % 2 == 0 ? 90 : 110);
  }
  row.denominator_samples = row.numerator_samples;
  const Estimate estimate = row.ask(total);
  EXPECT_NEAR(*estimate.value, 40'000, 1e-6);
  // N^2 (1 - f) s^2 / n = 400^2 x 0.9 x (40 x 100 / 39) / 40; counts give p x w^2 x m = 40,000 back.
  const double variance = 160'000 * 0.9 * (4000.0 / 39) / 40 + 40'000;
  EXPECT_NEAR(std::log(*estimate.high / 40'000) * 40'000 / std::sqrt(variance), 1.97, 0.05);
}

}  // namespace
}  // namespace plimsoll::statistics
