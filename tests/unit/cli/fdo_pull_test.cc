// Compiler profiles that a server makes: what the command asks it, and what it does with the answers.
#include "cli/fdo_pull.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

#include "base/file.h"
#include "http/listener.h"
#include "tests/temporary_directory.h"

namespace plimsoll::cli::fdo_pull_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::chrono::milliseconds kNoPause{0};

http::Response busy() {
  return http::error_response(
      fail(ErrorCode::kUnavailable, "another compiler profile is being made").error());
}

http::Response body(std::string text) {
  return {.body = std::move(text)};
}

// A server of one path, with the answers to give one after the other.
class FdoPull : public ::testing::Test {
 protected:
  FdoPull() {
    http::Route route;
    route.method = "GET";
    route.path = "/api/v1/fdo/autofdo";
    route.handle = [this](const http::Request& request) { return answer(request); };
    auto started = http::Listener::start({}, {std::move(route)});
    EXPECT_TRUE(started) << started.error().text();
    listener_ = *std::move(started);
    options_.profile.input.source.server = listener_->address();
    options_.profile.input.build_id = "4f5a";
    options_.profile.output = folder_ / "search.prof";
  }
  ~FdoPull() override { listener_->stop(); }

  void will_answer(std::vector<http::Response> answers) { answers_ = std::move(answers); }
  void wants_report() {
    options_.profile.quality.is_json = true;
    options_.profile.quality.report = folder_ / "report.json";
  }

  Status pull() { return pull_profile(options_, kNoPause); }

  // The formats of all requests.
  std::string asked() {
    const std::scoped_lock lock(mutex_);
    return asked_;
  }
  std::string content(const std::string& name) const {
    return read_file(folder_ / name, 1 << 20).value_or("(no file)");
  }

  FdoAutofdoOptions options_;

 private:
  http::Response answer(const http::Request& request) {
    const std::scoped_lock lock(mutex_);
    for (const auto& [name, value] : request.query) {
      if (name == "format") {
        asked_ += value + " ";
      }
    }
    if (next_ == answers_.size()) {
      ADD_FAILURE() << "one request more than was expected";
      return busy();
    }
    return answers_[next_++];
  }

  plimsoll::testing::TemporaryDirectory folder_;
  std::mutex mutex_;
  std::vector<http::Response> answers_;
  size_t next_ = 0;
  std::string asked_;
  std::unique_ptr<http::Listener> listener_;
};

TEST_F(FdoPull, AsksAgainForTheReportWhileAnotherProfileIsMade) {
  wants_report();
  will_answer({body("profile"), busy(), busy(), body("{}")});
  const Status pulled = pull();
  EXPECT_TRUE(pulled) << pulled.error().text();
  EXPECT_EQ(asked(), "binary report report report ");
  EXPECT_EQ(content("search.prof"), "profile");
  EXPECT_EQ(content("report.json"), "{}");
}

TEST_F(FdoPull, GivesUpOnTheReportAndKeepsTheProfile) {
  wants_report();
  will_answer({body("profile"), busy(), busy(), busy(), busy(), busy()});
  const Status pulled = pull();
  ASSERT_FALSE(pulled);
  EXPECT_EQ(pulled.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(pulled.error().text(), AllOf(HasSubstr("the profile is written; asking for the report"),
                                           HasSubstr("another compiler profile is being made")));
  EXPECT_EQ(asked(), "binary report report report report report ");
  EXPECT_EQ(content("search.prof"), "profile");
  EXPECT_EQ(content("report.json"), "(no file)");
}

TEST_F(FdoPull, AsksOnceWhereWaitingDoesNotHelp) {
  wants_report();
  will_answer({body("profile"), http::error_response(fail(ErrorCode::kNotFound, "no samples").error())});
  EXPECT_EQ(pull().error().code, ErrorCode::kNotFound);
  EXPECT_EQ(asked(), "binary report ");
}

TEST_F(FdoPull, LeavesTheProfileToThePipelineWhileAnotherIsMade) {
  will_answer({busy()});
  EXPECT_EQ(pull().error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(asked(), "binary ");
  EXPECT_EQ(content("search.prof"), "(no file)");
}

TEST_F(FdoPull, RefusesAProfileOverTheLimit) {
  options_.profile.input.source.max_answer_bytes = 100;
  will_answer({body(std::string(100, 'p')), body(std::string(101, 'p'))});
  EXPECT_TRUE(pull());
  EXPECT_EQ(content("search.prof").size(), 100);
  std::filesystem::remove(options_.profile.output);
  const Status large = pull();
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code, ErrorCode::kTooLarge);
  EXPECT_THAT(large.error().text(), HasSubstr("the response is larger than 100 bytes"));
  EXPECT_EQ(content("search.prof"), "(no file)");
}

TEST_F(FdoPull, RefusesAnEmptyProfile) {
  will_answer({body("")});
  const Status empty = pull();
  ASSERT_FALSE(empty);
  EXPECT_THAT(empty.error().text(), HasSubstr("the profile is empty"));
  EXPECT_EQ(content("search.prof"), "(no file)");
}

}  // namespace
}  // namespace plimsoll::cli::fdo_pull_test
