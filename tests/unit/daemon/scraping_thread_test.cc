// Scrapes of an application in this very process, over loopback.
#include "daemon/scrape/scraping_thread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>
#include <mutex>
#include <thread>

#include "http/listener.h"
#include "proto/profile_codec.h"
#include "tests/eventually.h"
#include "tests/temporary_directory.h"

namespace plimsoll::scrape {
namespace {

using ::testing::HasSubstr;

constexpr std::chrono::seconds kGuard{60};

// An application that answers with what a test says, by the number of the request from 0.
class Application {
 public:
  explicit Application(std::function<http::Response(int)> answer, const std::string& path = "/profile")
      : listener_(*http::Listener::start(
            {.address = "127.0.0.1:0"},
            {{.method = "GET", .path = path, .handle = [this, answer](const http::Request&) {
                return answer(requests_++);
              }}})) {}

  std::string url() const { return "http://" + listener_->address() + "/profile"; }
  // As a process's announcement of it, in a file of that folder.
  void announce(const std::string& folder, uint32_t pid, int64_t started_ns) const {
    std::ofstream(folder + "/" + std::to_string(pid) + ".json") << fmt::format(
        R"({{"format": 1, "pid": {}, "start_ticks": {}, "address": "http://{}", "kinds": ["heap"]}})", pid,
        started_ns * ::sysconf(_SC_CLK_TCK) / 1'000'000'000, listener_->address());
  }
  int requests() const { return requests_; }
  std::string name() const { return listener_->address() + "/profile"; }

 private:
  std::atomic<int> requests_ = 0;
  std::unique_ptr<http::Listener> listener_;
};

http::Response text(std::string body, unsigned status = 200) {
  return {.status = status, .content_type = "text/plain", .body = std::move(body), .headers = {}};
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

config::DaemonConfig config_for_folder(const std::string& folder) {
  config::DaemonConfig config;
  config.scrape_announcements = folder;
  config.scrape_announced_kinds = {"heap", "contention", "heap"};
  config.scrape_interval_ns = 1'000'000;
  return config;
}

http::Response heap(int /*request*/) {
  return text("heap profile: 1: 9 [1: 9] @ heapprofile\n1: 9 [1: 9] @ 0x11\n");
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
