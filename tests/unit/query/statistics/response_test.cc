#include "query/statistics/response.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::statistics {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;

constexpr uint32_t kGone = 0;
constexpr uint32_t kRefused = 1;

using Machines = std::vector<DrawnMachine>;

TEST(Response, ThoseThatAnswerStandForTheRestOfTheirStratum) {
  const Response response = account_for_response(
      Machines{{0, 0.1}, {0, 0.1, kGone}, {0, 0.1}, {0, 0.1, kRefused}, {1, 0.5}, {1, 0.5}});
  EXPECT_THAT(response.weight_factors, ElementsAre(DoubleEq(2), DoubleEq(1)));
  EXPECT_THAT(response.missing, ElementsAre(1, 1));
  EXPECT_EQ(response.drawn, 6);
  EXPECT_EQ(response.answered, 4);
  EXPECT_EQ(response.silent_strata, 0);
}

TEST(Response, AMachineCountsByItsWeight) {
  // 10 and 2 machines stand behind the two; the second is silent.
  const Response response = account_for_response(Machines{{0, 0.1}, {0, 0.5, kGone}});
  EXPECT_THAT(response.weight_factors, ElementsAre(DoubleEq(1.2)));
}

TEST(Response, ASilentStratumIsHandedOn) {
  const Response response =
      account_for_response(Machines{{0, 0.5, kGone}, {1, 0.5}, {1, 0.5}, {2, 0.25, kGone}, {3, 0.5}});
  // 2 machines of stratum 0 and 4 of stratum 2 fall to stratum 1, which has 4 of its own.
  EXPECT_THAT(response.weight_factors, ElementsAre(0, DoubleEq(2.5), 0, DoubleEq(1)));
  EXPECT_EQ(response.silent_strata, 2);
}

TEST(Response, WhereNobodyAnswersThereIsNothing) {
  const Response response = account_for_response(Machines{{0, 0.5, kGone}, {0, 0.5, kGone}});
  EXPECT_THAT(response.weight_factors, ElementsAre(0));
  EXPECT_EQ(response.answered, 0);
  EXPECT_EQ(account_for_response({}).drawn, 0);
}

// Weights still add up to the machines that there are.
TEST(Response, LosesNoMachine) {
  const Machines machines{{0, 0.2}, {0, 0.4, kGone}, {2, 0.1}, {2, 0.1}, {2, 0.3, kRefused}, {3, 0.5, kGone}};
  const Response response = account_for_response(machines);
  double all = 0;
  double answering = 0;
  for (const DrawnMachine& machine : machines) {
    all += 1 / machine.inclusion_probability;
    answering +=
        machine.missing_by ? 0 : response.weight_factors[machine.stratum] / machine.inclusion_probability;
  }
  EXPECT_NEAR(answering, all, 1e-9);
}

}  // namespace
}  // namespace plimsoll::statistics
