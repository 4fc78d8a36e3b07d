#include "base/stop_scope.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <vector>

#include "base/deadline.h"
#include "base/run_both.h"

namespace plimsoll::stop_scope_test {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

StopCheck saying(const char* why) {
  return [why]() -> Status { return fail(ErrorCode::kUnavailable, "{}", why); };
}

TEST(StopScope, IsAskedWhileItLivesAndTheInnermostAlone) {
  EXPECT_TRUE(check_stop());
  const StopCheck outer = saying("outer");
  const StopCheck inner = saying("inner");
  {
    const StopScope scope(outer);
    EXPECT_EQ(check_stop().error().message, "outer");
    {
      const StopScope within(inner);
      EXPECT_EQ(check_stop().error().message, "inner");
    }
    {
      const StopScope to_the_end(nullptr);
      EXPECT_TRUE(check_stop());
    }
    EXPECT_EQ(check_stop().error().message, "outer");
  }
  EXPECT_TRUE(check_stop());
}

TEST(StopScope, HoldsInTheThreadsThatWorkForThisOne) {
  const StopCheck check = saying("all");
  {
    const StopScope scope(check);
    std::vector<std::string> of_thread(3);
    run_all(3, [&](size_t i) { of_thread[i] = check_stop() ? "" : check_stop().error().message; });
    EXPECT_THAT(of_thread, Each(std::string("all")));
  }
  std::vector<int> goes_on(3);
  run_all(3, [&](size_t i) { goes_on[i] = check_stop() ? 1 : 0; });
  EXPECT_THAT(goes_on, Each(1));
}

TEST(Deadline, IsOverAfterItsTimeAndForGood) {
  Deadline deadline("the question", std::chrono::milliseconds(1), nullptr);
  while (deadline.check()) {
  }
  const Status over = deadline.check();
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().code, ErrorCode::kTooLarge);
  EXPECT_THAT(over.error().text(),
              AllOf(HasSubstr("the question was stopped after 0.001 s"), HasSubstr("select less")));
}

TEST(Deadline, WithoutATimeEndsWithItsClientAlone) {
  bool is_gone = false;
  int asked = 0;
  Deadline deadline("the question", std::chrono::milliseconds(0), [&] {
    ++asked;
    return is_gone;
  });
  while (asked == 0) {
    ASSERT_TRUE(deadline.check());
  }
  is_gone = true;
  while (deadline.check()) {
  }
  is_gone = false;
  EXPECT_EQ(deadline.check().error().code, ErrorCode::kUnavailable) << "a client does not come back";
}

}  // namespace
}  // namespace plimsoll::stop_scope_test
