// Application profiles that the server asks for: when they are had, and that they are the draw's.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "base/time.h"
#include "daemon/scrape/assigned_rounds.h"
#include "daemon/scrape/kind_answers.h"
#include "daemon/scrape/scraping_thread.h"
#include "proto/pprof.pb.h"
#include "proto/profile_codec.h"
#include "tests/eventually.h"
#include "tests/unit/daemon/scraped_application.h"

namespace plimsoll::scrape {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Step = AssignedRounds::Step;

wire::Assignment assigned(const std::string& id, int64_t start_ns, int64_t duration_ns,
                          const std::vector<std::string>& kinds) {
  wire::Assignment assignment;
  assignment.set_id(id);
  assignment.set_start_ns(start_ns);
  assignment.set_duration_ns(duration_ns);
  assignment.mutable_application_kinds()->Add(kinds.begin(), kinds.end());
  assignment.mutable_draw()->set_id(id);
  assignment.mutable_draw()->set_inclusion_probability(0.5);
  assignment.mutable_draw()->set_interval_ns(3'600'000'000'000);
  return assignment;
}

TEST(AssignedRounds, AWindowBeginsAndEndsOnceEach) {
  AssignedRounds rounds;
  rounds.replace({assigned("d1", 100, 50, {"heap"})}, "", 10);
  EXPECT_EQ(rounds.next(10).due_ns, 100);
  EXPECT_EQ(rounds.next(100).step, Step::kBegin);
  EXPECT_EQ(rounds.next(100).due_ns, 150);
  EXPECT_TRUE(rounds.is_under_way("d1"));
  EXPECT_EQ(rounds.next(151).step, Step::kEnd);
  EXPECT_EQ(rounds.next(151).step, Step::kNone);
  EXPECT_FALSE(rounds.result("d1"));
  EXPECT_TRUE(rounds.kinds("d1").empty());
  KindAnswers answers;
  answers["heap"] = {.endpoints = 1, .answered = 1};
  rounds.set_result("d1", "heap: 1 of 1 endpoint", reports_of(answers));
  EXPECT_EQ(rounds.result("d1"), "heap: 1 of 1 endpoint");
  ASSERT_EQ(rounds.kinds("d1").size(), 1);
  EXPECT_EQ(rounds.kinds("d1")[0].kind(), "heap");
  EXPECT_FALSE(rounds.is_under_way("d1"));
}

TEST(AssignedRounds, WhatIsWithdrawnEndsEarlyOrIsForgotten) {
  AssignedRounds rounds;
  rounds.replace({assigned("open", 100, 50, {"heap"}), assigned("waits", 120, 50, {"heap"})}, "", 10);
  ASSERT_EQ(rounds.next(105).step, Step::kBegin);
  rounds.replace({}, "", 110);
  const AssignedRounds::Next next = rounds.next(110);
  EXPECT_EQ(next.step, Step::kEnd);
  EXPECT_EQ(next.assignment.id(), "open");
  EXPECT_EQ(rounds.next(1000).step, Step::kNone) << "the other is not begun";
}

TEST(AssignedRounds, AWindowThatWasMissedSaysSo) {
  AssignedRounds rounds;
  rounds.replace({assigned("d1", 100, 50, {"heap"})}, "", 10);
  EXPECT_EQ(rounds.next(150).step, Step::kNone);
  EXPECT_THAT(rounds.result("d1").value_or(""), HasSubstr("the window was over"));
}

TEST(AssignedRounds, WithoutKindsOrADrawThereAreNone) {
  AssignedRounds rounds;
  wire::Assignment continuous = assigned("continuous", 0, 50, {"contention"});
  continuous.set_continuous(true);
  rounds.replace({assigned("d1", 100, 50, {}), continuous}, "", 10);
  EXPECT_EQ(rounds.next(120).step, Step::kNone);
  EXPECT_THAT(rounds.continuous_kinds(), ElementsAre("contention"));
  rounds.replace({assigned("d2", 100, 50, {"heap"})}, "not here", 10);
  EXPECT_EQ(rounds.result("d2"), "not here");
}

// "heap 3/4 no answer x1"
std::string kinds_text(const auto& reports) {
  std::string text;
  for (const wire::ApplicationKindReport& report : reports) {
    text += fmt::format("{}{} {}/{} {} x{}", text.empty() ? "" : "; ", report.kind(), report.answered(),
                        report.endpoints(), report.cause(), report.with_cause());
  }
  return text;
}

TEST(KindAnswers, AreReportedWithTheCommonestCause) {
  KindAnswers answers;
  answers["growth"];
  answers["heap"] = {.endpoints = 9, .answered = 4, .problem = "x", .causes = {{"b", 2}, {"a", 2}, {"c", 1}}};
  answers["wall"] = {.endpoints = 1, .answered = 1};
  EXPECT_EQ(kinds_text(reports_of(answers)), "growth 0/0  x0; heap 4/9 a x2; wall 1/1  x0");
}

TEST(KindAnswers, CausesAreTheSameWordsOnAllMachines) {
  const auto cause = [](ErrorCode code, const std::string& message) {
    return cause_of(Error{code, message, {}, "a hint"});
  };
  EXPECT_EQ(cause(ErrorCode::kUnavailable, "scraping 127.0.0.1:80/heap: the application returned 503"),
            "the application returned 503");
  EXPECT_EQ(cause(ErrorCode::kUnavailable, "scraping 127.0.0.1:80/heap: timed out after 10001 ms"),
            "no answer");
  EXPECT_EQ(cause(ErrorCode::kDenied, "process 7 does not listen"),
            cause(ErrorCode::kDenied, "connecting to the Unix socket /run/x: Permission denied"));
  EXPECT_EQ(cause(ErrorCode::kCorrupt, "at byte 7"), "the profile cannot be read");
}

// "lock-wait-ns", with "!" where some endpoint did not answer.
std::string events_text(const KindAnswers& answers) {
  const wire::RawProfile profile = answer_profile(assigned("d1", 100, 50, {"contention", "mutex"}), answers);
  std::string text;
  for (const wire::Event& event : profile.events()) {
    text += fmt::format("{}{}{}", text.empty() ? "" : " ", event.name(), event.note().empty() ? "" : "!");
  }
  return text;
}

TEST(KindAnswers, ContentionAndMutexAreJudgedTogetherSinceTheyCountTheSameWaits) {
  const KindAnswer no_endpoint{};
  const KindAnswer silent{.endpoints = 1};
  const KindAnswer answered{.endpoints = 1, .answered = 1};
  for (const auto& [one, other] : {std::pair("contention", "mutex"), std::pair("mutex", "contention")}) {
    EXPECT_EQ(events_text({{one, silent}, {other, no_endpoint}}), "") << one << ": not zero, but unknown";
    EXPECT_EQ(events_text({{one, silent}, {other, answered}}), "lock-wait-ns! lock-contentions!") << one;
    EXPECT_EQ(events_text({{one, no_endpoint}, {other, answered}}), "lock-wait-ns lock-contentions") << one;
  }
  EXPECT_EQ(events_text({{"contention", no_endpoint}, {"mutex", no_endpoint}}),
            "lock-wait-ns lock-contentions")
      << "zero";
}

// A thread with one worker, two endpoints, and a clock that the test sets. When the second endpoint is asked, the first has been done with.
class AssignedScraping : public ::testing::Test {
 protected:
  std::unique_ptr<ScrapingThread> start(const std::string& url, const std::string& schedule = "assigned") {
    config::DaemonConfig config;
    config.scrape_endpoints = {url, "http://localhost" + second_.port() + "/block"};
    config.scrape_parallel = 1;
    config.scrape_schedule = schedule;
    wire::Machine machine;
    machine.set_id("m1");
    return std::make_unique<ScrapingThread>(
        config, machine, nullptr,
        [this](wire::RawProfile profile) {
          const std::lock_guard lock(mutex_);
          profiles_.push_back(std::move(profile));
        },
        [this] { return now_ns_.load(); });
  }

  // The value of an event of the endpoint's profiles; nothing where there is none.
  std::optional<double> value(const std::string& event_name) {
    const std::lock_guard lock(mutex_);
    for (const wire::RawProfile& profile : profiles_) {
      for (const wire::Event& event : profile.events()) {
        if (event.name() == event_name && event.hits() != 0) {
          return event.counter_total();
        }
      }
    }
    return std::nullopt;
  }

  // As a heartbeat does, at that time.
  void assign(ScrapingThread& thread, int64_t now_ns, const std::string& kind) {
    now_ns_ = now_ns;
    thread.assign({assigned("d1", 100, 50, {kind, "block"})});
  }

  // The profile that says what was had.
  wire::RawProfile answer() {
    const std::lock_guard lock(mutex_);
    for (const wire::RawProfile& profile : profiles_) {
      if (profile.assignment().id() == "scrape:(kinds)") {
        return profile;
      }
    }
    ADD_FAILURE() << "there is none";
    return {};
  }

  // As the agent reports of an assignment that is done otherwise.
  static wire::AssignmentReport report(const ScrapingThread& thread, const std::string& id) {
    wire::AssignmentReport report;
    report.set_id(id);
    report.set_state(wire::DONE);
    thread.complete(report);
    return report;
  }

  const Application second_{
      [](int) { return text("--- contention:\nms since reset=99999999\n80 1 @ 0x11\n"); }, "/block"};
  std::atomic<int64_t> now_ns_ = 10;
  std::mutex mutex_;
  std::vector<wire::RawProfile> profiles_;
};

TEST_F(AssignedScraping, ADrawHasWhatHappenedWithinItsWindow) {
  const Application application(
      [](int request) {
        return text(fmt::format("--- contention:\nms since reset=99999999\n80 {} @ 0x11\n",
                                request == 0 ? 100 : 107));
      },
      "/contention");
  const auto thread = start(application.address_url("/contention"));
  assign(*thread, 10, "contention");
  EXPECT_EQ(report(*thread, "d1").state(), wire::RUNNING);
  assign(*thread, 100, "contention");
  ASSERT_TRUE(testing::eventually([&] { return second_.requests() == 1; }));
  EXPECT_EQ(value("lock-contentions"), std::nullopt) << "what there was before is no part of it";
  assign(*thread, 150, "contention");
  ASSERT_TRUE(testing::eventually([&] { return report(*thread, "d1").state() == wire::DONE; }));
  EXPECT_THAT(report(*thread, "d1").detail(), HasSubstr("contention: 1 of 1 endpoint"));
  EXPECT_THAT(kinds_text(report(*thread, "d1").application_kinds()), HasSubstr("contention 1/1  x0"));
  thread->stop();
  EXPECT_EQ(value("lock-contentions"), 7);
  for (const wire::RawProfile& profile : profiles_) {
    EXPECT_TRUE(wire::validate(profile));
    EXPECT_EQ(profile.assignment().draw().inclusion_probability(), 0.5);
  }
}

TEST_F(AssignedScraping, KindsThatAreNotAskedForAreNotFetchedAndOneWithoutEndpointsIsZero) {
  const Application application([](int) { return text("no profile"); }, "/contention");
  const auto thread = start(application.address_url("/contention"));
  assign(*thread, 100, "heap");
  ASSERT_TRUE(testing::eventually([&] { return second_.requests() == 1; }));
  assign(*thread, 150, "heap");
  ASSERT_TRUE(testing::eventually([&] { return report(*thread, "d1").state() == wire::DONE; }));
  thread->stop();
  EXPECT_EQ(application.requests(), 0);
  EXPECT_EQ(thread->problem(), "");
  EXPECT_THAT(report(*thread, "d1").detail(), HasSubstr("heap: no endpoint"));
  std::map<std::string, uint64_t> hits;
  const wire::RawProfile profile = answer();
  for (const wire::Event& event : profile.events()) {
    hits[event.name()] = event.hits();
  }
  EXPECT_EQ(hits.count("heap-inuse-bytes"), 1);
  EXPECT_EQ(hits["heap-inuse-bytes"], 0);
}

TEST_F(AssignedScraping, AnEndpointThatFailsIsInTheReportAndItsEventsAreUnknown) {
  const Application application([](int) { return text("busy", 503); }, "/heap");
  const auto thread = start(application.address_url("/heap"));
  assign(*thread, 100, "heap");
  ASSERT_TRUE(testing::eventually([&] { return second_.requests() == 1; }));
  assign(*thread, 150, "heap");
  ASSERT_TRUE(testing::eventually([&] { return report(*thread, "d1").state() == wire::DONE; }));
  thread->stop();
  EXPECT_THAT(report(*thread, "d1").detail(), HasSubstr("heap: 0 of 1 endpoint ("));
  EXPECT_THAT(report(*thread, "d1").detail(), HasSubstr("returned 503"));
  EXPECT_THAT(kinds_text(report(*thread, "d1").application_kinds()),
              HasSubstr("heap 0/1 the application returned 503 x1"));
  const wire::RawProfile profile = answer();
  for (const wire::Event& event : profile.events()) {
    EXPECT_NE(event.name(), "heap-inuse-bytes") << "not zero: unknown";
  }
}

TEST_F(AssignedScraping, CountsWithoutThoseOfTheWindowsBeginningAreUnknown) {
  const Application application(
      [](int request) {
        return request == 0 ? text("busy", 503)
                            : text("--- contention:\nms since reset=99999999\n80 107 @ 0x11\n");
      },
      "/contention");
  const auto thread = start(application.address_url("/contention"));
  assign(*thread, 100, "contention");
  ASSERT_TRUE(testing::eventually([&] { return second_.requests() == 1; }));
  assign(*thread, 150, "contention");
  ASSERT_TRUE(testing::eventually([&] { return report(*thread, "d1").state() == wire::DONE; }));
  thread->stop();
  EXPECT_EQ(application.requests(), 2);
  EXPECT_THAT(report(*thread, "d1").detail(), HasSubstr("contention: 0 of 1 endpoint ("));
  EXPECT_THAT(report(*thread, "d1").detail(), HasSubstr("when the window began is unknown"));
  EXPECT_THAT(kinds_text(report(*thread, "d1").application_kinds()),
              HasSubstr("contention 0/1 no answer when the window began x1"));
  const wire::RawProfile profile = answer();
  for (const wire::Event& event : profile.events()) {
    EXPECT_NE(event.name(), "lock-contentions") << "not zero: unknown";
  }
}

TEST_F(AssignedScraping, NoProfileIsOfATimeBeforeTheWindow) {
  const Application application(
      [](int) {
        pprof::Profile profile;
        for (const std::string_view word : {"", "cpu", "nanoseconds"}) {
          profile.add_string_table(std::string(word));
        }
        pprof::ValueType& type = *profile.add_sample_type();
        type.set_type(1);
        type.set_unit(2);
        profile.set_duration_nanos(int64_t{365} * 24 * kNsPerHour);
        return text(profile.SerializeAsString());
      },
      "/profile");
  const int64_t before_ns = wall_now_ns();
  const auto thread = start(application.address_url("/profile"));
  assign(*thread, 100, "profile");
  ASSERT_TRUE(testing::eventually([&] { return second_.requests() == 1; }));
  assign(*thread, 150, "profile");
  ASSERT_TRUE(testing::eventually([&] { return report(*thread, "d1").state() == wire::DONE; }));
  thread->stop();
  EXPECT_THAT(report(*thread, "d1").detail(), HasSubstr("profile: 1 of 1 endpoint"));
  for (const wire::RawProfile& profile : profiles_) {
    EXPECT_GE(profile.window().start().wall_ns(), before_ns) << profile.assignment().id();
  }
}

TEST_F(AssignedScraping, ADaemonThatScrapesByItsIntervalSaysSo) {
  const Application application([](int) { return text("--- contention:\n80 1 @ 0x11\n"); }, "/contention");
  const auto thread = start(application.address_url("/contention"), "interval");
  thread->assign({assigned("d1", 5, 2, {"contention"})});
  EXPECT_EQ(report(*thread, "d1").state(), wire::DONE);
  EXPECT_THAT(report(*thread, "d1").detail(), HasSubstr("scrape.schedule of this daemon is \"interval\""));
}

}  // namespace
}  // namespace plimsoll::scrape
