#include "scheduler/safety/failures.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::scheduler {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

using enum store::StopScope;

// So many attempts of a kind, of which so many fail.
void add(std::vector<Attempt>& attempts, int count, int failures, const std::string& event_set,
         const std::string& version, const std::string& platform) {
  for (int i = 0; i < count; ++i) {
    attempts.push_back({.event_set = event_set,
                        .daemon_version = version,
                        .platform = platform,
                        .told_ns = 1,
                        .has_failed = i < failures});
  }
}

// Two event sets on two platforms, with two versions: a hundred attempts of each of the eight kinds, of which one in fifty fails, and those
// of `worse` far more.
std::vector<Attempt> fleet(const std::function<bool(const Attempt&)>& worse) {
  std::vector<Attempt> attempts;
  for (const char* events : {"cycles", "cache-misses"}) {
    for (const char* version : {"1", "2"}) {
      for (const char* platform : {"zen", "lake"}) {
        const Attempt kind{.event_set = events, .daemon_version = version, .platform = platform};
        add(attempts, 100, worse(kind) ? 60 : 2, events, version, platform);
      }
    }
  }
  return attempts;
}

TEST(FailingScopes, AFewFailuresAreNone) {
  EXPECT_THAT(failing_scopes({}, {}), IsEmpty());
  EXPECT_THAT(failing_scopes(fleet([](const Attempt&) { return false; }), {}), IsEmpty());
  std::vector<Attempt> few;
  add(few, 4, 4, "cycles", "1", "zen");
  EXPECT_THAT(failing_scopes(few, {.share = 0.2, .min_failures = 5}), IsEmpty());
  add(few, 1, 1, "cycles", "1", "zen");
  EXPECT_THAT(failing_scopes(few, {.share = 0.2, .min_failures = 5}), ElementsAre(Pair(kEventSet, "cycles")))
      << "other sets of events may do no harm";
}

// 6 of 18 are a third; where one in ten fails everywhere, that comes by chance.
TEST(FailingScopes, BadLuckInASmallPartIsNone) {
  std::vector<Attempt> attempts;
  add(attempts, 18, 6, "cycles", "1", "rome");
  add(attempts, 200, 20, "cycles", "1", "zen");
  EXPECT_THAT(failing_scopes(attempts, {}), IsEmpty());
  add(attempts, 30, 16, "cycles", "1", "rome");
  EXPECT_THAT(failing_scopes(attempts, {}), ElementsAre(Pair(kPlatform, "rome")));
}

TEST(FailingScopes, FailuresAreLaidToWhatFails) {
  EXPECT_THAT(failing_scopes(fleet([](const Attempt& a) { return a.event_set == "cache-misses"; }), {}),
              ElementsAre(Pair(kEventSet, "cache-misses")));
  EXPECT_THAT(failing_scopes(fleet([](const Attempt& a) { return a.daemon_version == "2"; }), {}),
              ElementsAre(Pair(kDaemonVersion, "2")));
  EXPECT_THAT(failing_scopes(fleet([](const Attempt& a) { return a.platform == "lake"; }), {}),
              ElementsAre(Pair(kPlatform, "lake")));
}

TEST(FailingScopes, TwoCausesAreTwoScopes) {
  std::vector<Attempt> attempts;
  for (const char* platform : {"a", "b", "c", "d"}) {
    add(attempts, 100, std::string(platform) == "a" ? 90 : 1, "cycles", "1", platform);
    add(attempts, 100, std::string(platform) == "a" ? 90 : 1, "faults", "1", platform);
    add(attempts, 100, std::string(platform) == "a" ? 90 : 1, "clock", "1", platform);
    add(attempts, 50, 45, "broken", "1", platform);
  }
  EXPECT_THAT(failing_scopes(attempts, {}),
              UnorderedElementsAre(Pair(kPlatform, "a"), Pair(kEventSet, "broken")));
}

TEST(FailingScopes, WhatIsEverywhereStopsEverything) {
  EXPECT_THAT(failing_scopes(fleet([](const Attempt&) { return true; }), {}),
              ElementsAre(Pair(kEverything, "")));
  std::vector<Attempt> spread;
  for (int platform = 0; platform < 20; ++platform) {
    add(spread, 50, platform < 5 ? 48 : 0, "cycles", "1", fmt::format("p{}", platform));
  }
  EXPECT_THAT(failing_scopes(spread, {}), ElementsAre(Pair(kEverything, ""))) << "five parts are too many";
}

TEST(FailingScopes, AttemptsAreThoseOfWhichItIsKnown) {
  store::DrawWithMachines draw;
  draw.draw.window_start_ns = 100;
  draw.draw.window_ns = 10;
  draw.draw.due_ns = 200;
  draw.draw.collects.add_events()->set_name("cycles");
  draw.draw.collects.add_events()->set_name("instructions");
  const auto machine = [&](store::DrawnMachine made) {
    made.platform = "zen";
    made.daemon_version = "1";
    made.window_start_ns = 100;
    draw.machines.push_back(made);
  };
  machine({.told_ns = 50, .answered_ns = 120, .observed_ns = 10});
  machine({.told_ns = 50, .answered_ns = 300, .observed_ns = 1});
  machine({.told_ns = 50, .state = wire::FAILED});
  machine({.told_ns = 50, .state = wire::REFUSED});
  machine({});
  machine({.told_ns = 50, .state = wire::RUNNING});
  draw.machines.push_back({.detail = "withheld"});
  const auto in_words = [](const std::vector<Attempt>& attempts) {
    std::string text;
    for (const Attempt& attempt : attempts) {
      text += fmt::format("{}/{}/{}:{} ", attempt.event_set, attempt.daemon_version, attempt.platform,
                          attempt.has_failed ? "failed" : "ok");
    }
    return text;
  };
  EXPECT_EQ(in_words(attempts_of(draw, 150)),
            "cycles instructions/1/zen:ok cycles instructions/1/zen:ok cycles instructions/1/zen:failed ");
  EXPECT_EQ(in_words(attempts_of(draw, 201)),
            "cycles instructions/1/zen:ok cycles instructions/1/zen:ok cycles instructions/1/zen:failed "
            "cycles instructions/1/zen:failed ");
}

}  // namespace
}  // namespace plimsoll::scheduler
