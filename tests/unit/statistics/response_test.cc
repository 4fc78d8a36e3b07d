#include "statistics/response.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace plimsoll::statistics {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;

// After strata were handed on.
std::vector<double> weight_factors(std::vector<StratumResponse> strata) {
  hand_on_silent(strata);
  std::vector<double> factors;
  for (const StratumResponse& stratum : strata) {
    factors.push_back(stratum.weight_factor());
  }
  return factors;
}

TEST(Response, ThoseThatAnswerStandForTheRestOfTheirStratum) {
  // Two of four machines with weight 10 each are silent; none of the other stratum.
  EXPECT_THAT(weight_factors({{4, 2, 40, 20}, {2, 2, 4, 4}}), ElementsAre(DoubleEq(2), DoubleEq(1)));
}

TEST(Response, AMachineCountsByItsWeight) {
  // 10 and 2 machines stand behind the two; the second is silent.
  EXPECT_THAT(weight_factors({{2, 1, 12, 10}}), ElementsAre(DoubleEq(1.2)));
}

TEST(Response, ASilentStratumIsHandedOn) {
  // 2 machines of the first and 4 of the third fall to the second, which has 4 of its own.
  EXPECT_THAT(weight_factors({{1, 0, 2, 0}, {2, 2, 4, 4}, {1, 0, 4, 0}, {1, 1, 2, 2}}),
              ElementsAre(0, DoubleEq(2.5), 0, DoubleEq(1)));
}

TEST(Response, WhereNobodyAnswersThereIsNothing) {
  std::vector<StratumResponse> strata{{2, 0, 4, 0}};
  hand_on_silent(strata);
  EXPECT_EQ(strata, (std::vector<StratumResponse>{{2, 0, 4, 0}}));
  EXPECT_EQ(strata[0].weight_factor(), 0);
}

// Weights still add up to the machines that there are.
TEST(Response, LosesNoMachine) {
  std::vector<StratumResponse> strata{{2, 1, 7.5, 5}, {0, 0, 0, 0}, {3, 2, 23.5, 20}, {1, 0, 2, 0}};
  hand_on_silent(strata);
  double answering = 0;
  size_t drawn = 0;
  for (const StratumResponse& stratum : strata) {
    answering += stratum.weight_factor() * stratum.answered_weight;
    drawn += stratum.drawn;
  }
  EXPECT_NEAR(answering, 7.5 + 23.5 + 2, 1e-9);
  EXPECT_EQ(drawn, 6);
}

// Rounding, or draws that are not known in full, must not make answers weigh less than they do alone.
TEST(Response, NeverTakesWeightAway) {
  EXPECT_EQ((StratumResponse{1, 2, 10, 20}.weight_factor()), 1);
}

}  // namespace
}  // namespace plimsoll::statistics
