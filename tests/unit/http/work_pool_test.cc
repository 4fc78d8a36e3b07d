#include "http/work_pool.h"

#include <gtest/gtest.h>

#include <string>

namespace plimsoll::http {
namespace {

size_t taken_by(Places& places, const std::string& caller) {
  size_t taken = 0;
  while (places.take(caller) == Places::Taken::kYes) {
    ++taken;
  }
  return taken;
}

TEST(Places, OneCallerTakesAtMostHalfOfThem) {
  Places places(512);
  EXPECT_EQ(taken_by(places, "greedy"), 256);
  EXPECT_EQ(places.take("greedy"), Places::Taken::kCallerHasItsShare);
}

TEST(Places, WhoComesLaterFindsSome) {
  Places places(512);
  for (int i = 0; i < 6; ++i) {
    EXPECT_GT(taken_by(places, "caller " + std::to_string(i)), 0) << i;
  }
}

TEST(Places, ClientsThatAreNotToldApartTakeAllOfThem) {
  Places places(10);
  EXPECT_EQ(taken_by(places, ""), 10);
  EXPECT_EQ(places.take("later"), Places::Taken::kNoneIsFree);
}

TEST(Places, AreFreeAgainWhenGivenBack) {
  Places places(8);
  ASSERT_EQ(taken_by(places, "a"), 4);
  EXPECT_TRUE(places.are_scarce());
  for (int i = 0; i < 4; ++i) {
    places.give_back("a");
  }
  EXPECT_FALSE(places.are_scarce());
  EXPECT_EQ(taken_by(places, "b"), 4) << "what another caller had and gave back";
}

TEST(Places, TheLastOneIsForACallerThatHasNone) {
  Places places(1);
  EXPECT_EQ(places.take("a"), Places::Taken::kYes);
  EXPECT_EQ(places.take("b"), Places::Taken::kNoneIsFree);
  places.give_back("a");
  EXPECT_EQ(places.take("b"), Places::Taken::kYes);
}

}  // namespace
}  // namespace plimsoll::http
