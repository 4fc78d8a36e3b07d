// Scrapes of an application in this very process, over loopback.
#include "daemon/scrape/scraping_thread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>
#include <map>
#include <mutex>
#include <thread>

#include "proto/profile_codec.h"
#include "tests/eventually.h"
#include "tests/temporary_directory.h"
#include "tests/unit/daemon/scraped_application.h"

namespace plimsoll::scrape {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::chrono::seconds kGuard{60};

http::Response heap(int /*request*/) {
  return text("heap profile: 1: 9 [1: 9] @ heapprofile\n1: 9 [1: 9] @ 0x11\n");
}

config::DaemonConfig config_for(const Application& application) {
  config::DaemonConfig config;
  config.scrape_endpoints = {application.url()};
  config.scrape_interval_ns = 1'000'000;
  return config;
}

wire::Machine machine() {
  wire::Machine machine;
  machine.set_id("m1");
  return machine;
}

TEST(ScrapingThread, HandsOverValidProfilesOfTheProcessThatAnswers) {
  const Application application(
      [](int) { return text("heap profile: 1: 9 [1: 9] @ heapprofile\n1: 9 [1: 9] @ 0x11\n"); });
  std::promise<wire::RawProfile> first;
  std::atomic<int> profiles = 0;
  ScrapingThread thread(config_for(application), machine(), nullptr, [&](wire::RawProfile profile) {
    if (profiles++ == 0) {
      first.set_value(std::move(profile));
    }
  });
  auto future = first.get_future();
  ASSERT_EQ(future.wait_for(kGuard), std::future_status::ready) << thread.problem();
  thread.stop();
  const wire::RawProfile profile = future.get();
  const auto valid = wire::validate(profile);
  EXPECT_TRUE(valid) << valid.error().text();
  EXPECT_EQ(profile.machine().id(), "m1");
  EXPECT_EQ(profile.assignment().id(), "scrape:" + application.name());
  EXPECT_EQ(profile.processes(0).pid(), static_cast<uint32_t>(::getpid()));
  EXPECT_GT(profile.processes(0).binary_plus_1(), 0);
  EXPECT_EQ(profile.events(1).name(), "heap-inuse-bytes");
  EXPECT_EQ(profile.events(1).counter_total(), 9);
  EXPECT_EQ(thread.problem(), "");
}

TEST(ScrapingThread, SaysWhatIsWrongUntilItWorksAgain) {
  std::promise<void> scraped;
  std::shared_future<void> go_on = scraped.get_future().share();
  const Application application([&](int request) {
    if (request == 0) {
      return text("no profile");
    }
    if (request == 1) {
      go_on.wait();  // the problem stands until then
    }
    return text("--- contention:\nms since reset=1\n80 2 @ 0x11\n");
  });
  std::promise<void> handed_over;
  std::atomic<int> profiles = 0;
  config::DaemonConfig config = config_for(application);
  config.scrape_interval_ns = 10'000'000;
  ScrapingThread thread(config, machine(), nullptr, [&](const wire::RawProfile& /*profile*/) {
    if (profiles++ == 0) {
      handed_over.set_value();
    }
  });
  while (thread.problem().empty()) {
    std::this_thread::yield();
  }
  EXPECT_THAT(thread.problem(), HasSubstr("format"));
  EXPECT_THAT(thread.problem(), HasSubstr(application.name()));
  scraped.set_value();
  ASSERT_EQ(handed_over.get_future().wait_for(kGuard), std::future_status::ready);
  thread.stop();
  EXPECT_EQ(thread.problem(), "");
}

TEST(ScrapingThread, AnEndpointThatNeverAnswersDelaysNoOther) {
  std::promise<void> test_ends;
  const std::shared_future<void> never = test_ends.get_future().share();
  const Application hanging([never](int) {
    never.wait();
    return text("");
  });
  const Application healthy([](int) { return heap(0); });
  config::DaemonConfig config = config_for(hanging);
  config.scrape_endpoints.push_back(healthy.url());
  config.scrape_parallel = 2;
  config.scrape_timeout_ns = int64_t{300} * 1'000'000'000;  // over what this test may take
  std::atomic<int> profiles = 0;
  ScrapingThread thread(config, machine(), nullptr, [&](const wire::RawProfile& profile) {
    EXPECT_EQ(profile.assignment().id(), "scrape:" + healthy.name());
    ++profiles;
  });
  ASSERT_TRUE(testing::eventually([&] { return hanging.requests() == 1 && profiles >= 10; }));
  EXPECT_EQ(hanging.requests(), 1) << "asked again before its request ended";
  // Ends by cancelling, long before the timeout; nothing failed by itself.
  thread.stop();
  EXPECT_EQ(thread.problem(), "");
  test_ends.set_value();
}

TEST(ScrapingThread, EachEndpointKeepsItsOwnCountsWhileSeveralAreFetchedAtOnce) {
  // Of request n, 10 n more contentions than of the one before, from 100 on.
  const auto contention = [](int request) {
    return text(fmt::format("--- contention:\nms since reset=99999999\n80 {} @ 0x11\n",
                            100 + 5 * request * (request + 1)));
  };
  const Application first(contention);
  const Application second(contention);
  const Application third(contention);
  config::DaemonConfig config = config_for(first);
  config.scrape_endpoints.push_back(second.url());
  config.scrape_endpoints.push_back(third.url());
  std::mutex mutex;
  std::map<std::string, std::vector<int64_t>> counts;
  ScrapingThread thread(config, machine(), nullptr, [&](const wire::RawProfile& profile) {
    const std::lock_guard lock(mutex);
    for (const wire::Event& event : profile.events()) {
      if (event.name() == "lock-contentions") {
        counts[profile.assignment().id()].push_back(static_cast<int64_t>(event.counter_total()));
      }
    }
  });
  ASSERT_TRUE(testing::eventually([&] {
    const std::lock_guard lock(mutex);
    return counts.size() == 3 &&
           std::ranges::all_of(counts, [](const auto& of) { return of.second.size() >= 3; });
  })) << thread.problem();
  thread.stop();
  for (const auto& [endpoint, differences] : counts) {
    EXPECT_THAT(std::vector(differences.begin(), differences.begin() + 3), ElementsAre(10, 20, 30))
        << endpoint;
  }
}

TEST(ScrapingThread, AnswersThatAreTooLargeAreRefused) {
  const Application application([](int) { return text(std::string(100'000, 'x')); });
  config::DaemonConfig config = config_for(application);
  config.scrape_max_bytes = 1024;
  ScrapingThread thread(config, machine(), nullptr, [](const wire::RawProfile& /*profile*/) { FAIL(); });
  while (thread.problem().empty()) {
    std::this_thread::yield();
  }
  EXPECT_THAT(thread.problem(), HasSubstr("larger than 1024 bytes"));
}

TEST(ScrapingThread, OtherAnswersAreErrors) {
  const Application application([](int) { return text("busy", 503); });
  ScrapingThread thread(config_for(application), machine(), nullptr,
                        [](const wire::RawProfile& /*profile*/) { FAIL(); });
  while (thread.problem().empty()) {
    std::this_thread::yield();
  }
  EXPECT_THAT(thread.problem(), HasSubstr("returned 503"));
}

TEST(ScrapingThread, AUnixSocketIsScrapedAsTheProcessThatListens) {
  const testing::TemporaryDirectory folder;
  const UnixApplication application(folder / "s", heap);
  config::DaemonConfig config;
  config.scrape_endpoints = {"unix:" + folder / "s" + ":/heap"};
  config.scrape_interval_ns = 1'000'000;
  std::mutex mutex;
  std::vector<wire::RawProfile> profiles;
  ScrapingThread thread(config, machine(), nullptr, [&](wire::RawProfile profile) {
    const std::lock_guard lock(mutex);
    profiles.push_back(std::move(profile));
  });
  ASSERT_TRUE(testing::eventually([&] {
    const std::lock_guard lock(mutex);
    return profiles.size() >= 2;
  })) << thread.problem();
  thread.stop();
  EXPECT_EQ(thread.problem(), "");
  EXPECT_TRUE(wire::validate(profiles[0]));
  EXPECT_EQ(profiles[0].assignment().id(), "scrape:unix:" + folder / "s" + ":/heap");
  EXPECT_EQ(profiles[0].processes(0).pid(), static_cast<uint32_t>(::getpid()));
}

TEST(ScrapingThread, AUnixSocketThatIsNotThereIsAProblem) {
  const testing::TemporaryDirectory folder;
  config::DaemonConfig config;
  config.scrape_endpoints = {"unix:" + folder / "s" + ":/heap"};
  ScrapingThread thread(config, machine(), nullptr, [](const wire::RawProfile& /*profile*/) { FAIL(); });
  ASSERT_TRUE(testing::eventually([&] { return !thread.problem().empty(); }));
  EXPECT_THAT(thread.problem(), HasSubstr("looking for the Unix socket " + folder / "s"));
}

config::DaemonConfig config_for_folder(const std::string& folder) {
  config::DaemonConfig config;
  config.scrape_announcements = folder;
  config.scrape_announced_kinds = {"heap", "contention", "heap"};
  config.scrape_interval_ns = 1'000'000;
  return config;
}

TEST(ScrapingThread, WhatIsAnnouncedIsScrapedWhileItIsAnnounced) {
  const Application application(heap, "/debug/pprof/heap");
  const testing::TemporaryDirectory folder;
  std::mutex mutex;
  std::vector<wire::RawProfile> profiles;
  ScrapingThread thread(config_for_folder(folder.path()), machine(), nullptr, [&](wire::RawProfile profile) {
    const std::lock_guard lock(mutex);
    profiles.push_back(std::move(profile));
  });
  const auto pid = static_cast<uint32_t>(::getpid());
  application.announce(folder.path(), pid, identity::ProcFs().started_ns(pid));
  ASSERT_TRUE(testing::eventually([&] {
    const std::lock_guard lock(mutex);
    return profiles.size() >= 2;
  })) << thread.problem();
  EXPECT_EQ(thread.problem(), "");
  std::filesystem::remove(folder / (std::to_string(pid) + ".json"));
  // A round that has begun may ask once more.
  ASSERT_TRUE(testing::eventually([&] {
    const int before = application.requests();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return application.requests() == before;
  }));
  thread.stop();
  EXPECT_EQ(profiles[0].processes(0).pid(), pid);
  EXPECT_EQ(profiles[0].events(1).name(), "heap-inuse-bytes");
}

TEST(ScrapedSocket, ThatIsAnnouncedIsScraped) {
  const testing::TemporaryDirectory folder;
  const UnixApplication application(folder / "s", heap);
  std::mutex mutex;
  std::vector<wire::RawProfile> profiles;
  const auto pid = static_cast<uint32_t>(::getpid());
  announce_process(folder.path(), pid, identity::ProcFs().started_ns(pid), "unix:" + folder / "s");
  ScrapingThread thread(config_for_folder(folder.path()), machine(), nullptr, [&](wire::RawProfile profile) {
    const std::lock_guard lock(mutex);
    profiles.push_back(std::move(profile));
  });
  ASSERT_TRUE(testing::eventually([&] {
    const std::lock_guard lock(mutex);
    return profiles.size() >= 2;
  })) << thread.problem();
  thread.stop();
  EXPECT_EQ(thread.problem(), "");
  EXPECT_EQ(profiles[0].processes(0).pid(), pid);
  EXPECT_EQ(profiles[0].assignment().id(), "scrape:unix:" + folder / "s" + ":/debug/pprof/heap");
}

// It holds the socket, but a child listens: what the child would answer is not the announced process's.
TEST(ScrapedSocket, OnWhichAnotherProcessListensIsNotAsked) {
  const testing::TemporaryDirectory folder;
  const UniqueFd bound = unix_socket(folder / "s", false);
  std::array<int, 2> ends{-1, -1};
  std::array<int, 2> says{-1, -1};
  ASSERT_EQ(::pipe(ends.data()), 0);
  ASSERT_EQ(::pipe(says.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[1]);
    char byte = ::listen(bound.get(), 16) == 0 ? 'y' : 'n';
    const bool is_said = ::write(says[1], &byte, 1) == 1;
    ::_exit(is_said && ::read(ends[0], &byte, 1) == 0 ? 0 : 1);
  }
  char byte = 0;
  EXPECT_EQ(::read(says[0], &byte, 1), 1);
  EXPECT_EQ(byte, 'y');
  const auto pid = static_cast<uint32_t>(::getpid());
  announce_process(folder.path(), pid, identity::ProcFs().started_ns(pid), "unix:" + folder / "s");
  {
    ScrapingThread thread(config_for_folder(folder.path()), machine(), nullptr,
                          [](const wire::RawProfile& /*profile*/) { FAIL(); });
    EXPECT_TRUE(testing::eventually([&] { return !thread.problem().empty(); }));
    EXPECT_THAT(thread.problem(),
                HasSubstr(fmt::format("process {} listens on the Unix socket, not process {}", child, pid)));
  }
  for (const int fd : {says[0], says[1], ends[0], ends[1]}) {
    ::close(fd);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(ScrapingThread, OfAnnouncedProcessesThoseOfOtherJobsAndNumbersAreNotAsked) {
  const Application application(heap, "/debug/pprof/heap");
  const testing::TemporaryDirectory folder;
  const auto pid = static_cast<uint32_t>(::getpid());
  config::DaemonConfig config = config_for_folder(folder.path());
  const auto ignore = [](const wire::RawProfile& /*profile*/) { FAIL(); };
  {
    // PID 1 does not listen there, or cannot be looked at.
    application.announce(folder.path(), 1, identity::ProcFs().started_ns(1));
    ScrapingThread thread(config, machine(), nullptr, ignore);
    ASSERT_TRUE(testing::eventually([&] { return !thread.problem().empty(); }));
    EXPECT_THAT(thread.problem(), HasSubstr("1.json is not used"));
  }
  std::filesystem::remove(folder / "1.json");
  application.announce(folder.path(), pid, identity::ProcFs().started_ns(pid));
  config.scrape_announced_jobs = {"no-such-job"};
  // A file that is refused shows that a round looked at all.
  std::ofstream(folder / "1.json") << "{}";
  ScrapingThread thread(config, machine(), nullptr, ignore);
  ASSERT_TRUE(testing::eventually([&] { return !thread.problem().empty(); }));
  thread.stop();
  EXPECT_EQ(application.requests(), 0);
}

// By the name of this very process.
config::ListeningRule rule_for(const Application& application) {
  const std::string address = application.name().substr(0, application.name().find('/'));
  return {.program = identity::ProcFs().comm(static_cast<uint32_t>(::getpid())),
          .ports = address.substr(address.find(':') + 1),
          .paths = {"/profile"}};
}

TEST(ScrapingThread, ListeningSocketsOfProcessesThatMeetARuleAreScraped) {
  const Application application(heap);
  const Application other(heap);
  config::DaemonConfig config;
  config.scrape_interval_ns = 1'000'000;
  config.scrape_listening = {rule_for(application)};
  std::mutex mutex;
  std::vector<wire::RawProfile> profiles;
  ScrapingThread thread(config, machine(), nullptr, [&](wire::RawProfile profile) {
    const std::lock_guard lock(mutex);
    profiles.push_back(std::move(profile));
  });
  ASSERT_TRUE(testing::eventually([&] {
    const std::lock_guard lock(mutex);
    return profiles.size() >= 2;
  })) << thread.problem();
  thread.stop();
  EXPECT_EQ(profiles[0].assignment().id(), "scrape:" + application.name());
  EXPECT_EQ(profiles[0].processes(0).pid(), static_cast<uint32_t>(::getpid()));
  EXPECT_EQ(other.requests(), 0) << "its port is in no rule";
}

TEST(ScrapingThread, ListeningSocketsOfOtherProgramsAndJobsAreNotAsked) {
  const Application application(heap);
  config::DaemonConfig config;
  config.scrape_interval_ns = 1'000'000;
  config::ListeningRule other_program = rule_for(application);
  other_program.program = "no-such-program";
  config::ListeningRule other_job = rule_for(application);
  other_job.job = "no-such-job";
  config.scrape_listening = {other_program, other_job};
  // What is announced is looked for first: a file that is refused in a later round shows that a whole one has passed.
  const testing::TemporaryDirectory folder;
  config.scrape_announcements = folder.path();
  ScrapingThread thread(config, machine(), nullptr, [](const wire::RawProfile& /*profile*/) { FAIL(); });
  for (const char* name : {"1.json", "1-2.json"}) {
    std::ofstream(folder / name) << "{}";
    ASSERT_TRUE(testing::eventually([&] { return thread.problem().find(name) != std::string::npos; }));
    std::filesystem::remove(folder / name);
  }
  thread.stop();
  EXPECT_EQ(application.requests(), 0);
}

TEST(ScrapingThread, AListeningSocketThatIsConfiguredTooIsScrapedOnce) {
  const Application application(heap);
  config::DaemonConfig config = config_for(application);
  config.scrape_listening = {rule_for(application)};
  config.scrape_listening[0].paths = {"/by-rule"};
  std::atomic<int> profiles = 0;
  ScrapingThread thread(config, machine(), nullptr, [&](const wire::RawProfile& /*profile*/) { ++profiles; });
  ASSERT_TRUE(testing::eventually([&] { return profiles >= 3; })) << thread.problem();
  thread.stop();
  EXPECT_EQ(thread.problem(), "") << "nothing asked for /by-rule, which does not exist";
}

TEST(ScrapingThread, WhatIsConfiguredByAnotherNameOfLoopbackIsNotScrapedTwice) {
  const Application application(heap, "/debug/pprof/heap");
  const testing::TemporaryDirectory folder;
  const auto pid = static_cast<uint32_t>(::getpid());
  application.announce(folder.path(), pid, identity::ProcFs().started_ns(pid));
  config::DaemonConfig config = config_for_folder(folder.path());
  const std::string address = application.name().substr(0, application.name().find('/'));
  config.scrape_endpoints = {"http://localhost" + address.substr(address.find(':')) + "/other"};
  ScrapingThread thread(config, machine(), nullptr, [](const wire::RawProfile& /*profile*/) { FAIL(); });
  ASSERT_TRUE(testing::eventually([&] { return !thread.problem().empty(); })) << "there is no such path";
  // Refused in the round after: by then the first one has asked all that it asks.
  std::ofstream(folder / "1.json") << "{}";
  ASSERT_TRUE(testing::eventually([&] { return thread.problem().find("1.json") != std::string::npos; }));
  thread.stop();
  EXPECT_EQ(application.requests(), 0);
}

TEST(ScrapingThread, WithoutEndpointsThereIsNothingToDo) {
  ScrapingThread thread({}, machine(), nullptr, [](const wire::RawProfile& /*profile*/) { FAIL(); });
  thread.stop();
  EXPECT_EQ(thread.problem(), "");
}

}  // namespace
}  // namespace plimsoll::scrape
