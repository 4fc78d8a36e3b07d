#include "http/work_pool.h"

#include <gtest/gtest.h>

#include <string>

namespace plimsoll::http {
namespace {

size_t taken_by(Places& places, const std::string& caller) {
  size_t taken = 0;
  while (places.take(caller)) {
    ++taken;
  }
  return taken;
}

TEST(Places, OneCallerTakesAtMostHalfOfThem) {
  Places places(512);
  EXPECT_EQ(taken_by(places, "greedy"), 256);
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
  EXPECT_FALSE(places.take("later"));
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
  EXPECT_TRUE(places.take("a"));
  EXPECT_FALSE(places.take("b"));
  places.give_back("a");
  EXPECT_TRUE(places.take("b"));
}

}  // namespace
}  // namespace plimsoll::http
