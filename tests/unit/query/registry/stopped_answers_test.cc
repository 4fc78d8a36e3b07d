// An answer whose client is gone ends before it has read all rows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/stop_scope.h"
#include "tests/unit/query/registry/fleet_sources.h"

namespace plimsoll::query::stopped_answers_test {
namespace {

// What views require.
const std::map<std::string, Parameters> kRequired{{"callers", {{"function", "main"}}},
                                                  {"callees", {{"function", "main"}}},
                                                  {"diff", {{"base_where", "machine=m1"}}}};

TEST(StoppedAnswers, EveryViewOfRowsEndsWithTheScope) {
  Fleet fleet;
  fleet.add({.stacks = "main;work 30\n"});
  fleet.add({.seed = 2,
             .events = {{.name = "heap-inuse-bytes", .unit = wire::BYTES, .kind = wire::SNAPSHOT}},
             .stacks = "main;work 30\n"});
  FleetSources sources(fleet.path());
  const StopCheck stopped = []() -> Status { return fail(ErrorCode::kUnavailable, "its client is gone"); };
  for (const char* const name : {"top", "callers", "callees", "diff", "series", "leaks", "stability",
                                 "shared", "flame", "export/pprof", "coverage"}) {
    SCOPED_TRACE(name);
    const auto parameters = kRequired.find(name);
    const Question question{.parameters = parameters == kRequired.end() ? Parameters() : parameters->second,
                            .now_ns = kProfileStartNs};
    const auto answered = find_view(name)->answer(question, sources);
    EXPECT_TRUE(answered) << answered.error().text();
    const StopScope scope(stopped);
    const auto given_up = find_view(name)->answer(question, sources);
    ASSERT_FALSE(given_up);
    EXPECT_EQ(given_up.error().code, ErrorCode::kUnavailable);
    EXPECT_THAT(given_up.error().message, ::testing::HasSubstr("its client is gone"));
  }
}

}  // namespace
}  // namespace plimsoll::query::stopped_answers_test
