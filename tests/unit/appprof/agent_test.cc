#include "appprof/agent.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "appprof/announcement.h"
#include "appprof/appprof.h"
#include "appprof/endpoints.h"
#include "appprof/mappings.h"
#include "tests/temporary_directory.h"

namespace plimsoll::appprof {
namespace {

using ::testing::HasSubstr;
using testing::TemporaryDirectory;

nlohmann::json announced(const std::string& folder, pid_t pid) {
  return nlohmann::json::parse(read_file(announcement_path(folder, pid, own_start_ticks()).c_str()), nullptr,
                               false);
}

TEST(AppprofStart, BeyondLoopbackATokenIsRequired) {
  EXPECT_THAT(start({.listen = "0.0.0.0:0"}).error, HasSubstr("beyond loopback a token is required"));
  EXPECT_THAT(start({.listen = "0.0.0.0:0", .token = "short"}).error, HasSubstr("16 characters"));
  const Started started = start({.listen = "0.0.0.0:0", .token = "a token of some length"});
  EXPECT_TRUE(started) << started.error;
  stop();
}

TEST(AppprofStart, SaysWhatIsNoAddress) {
  EXPECT_THAT(start({.listen = "localhost:80"}).error, HasSubstr("numeric address"));
  EXPECT_THAT(start({.listen = "unix:/no/such/folder/x.sock"}).error, HasSubstr("No such file"));
}

TEST(AppprofStart, IsServedOnceAndStops) {
  const Started first = start({.listen = "127.0.0.1:0"});
  ASSERT_TRUE(first) << first.error;
  EXPECT_THAT(address(), HasSubstr("http://127.0.0.1:"));
  EXPECT_THAT(start({.listen = "127.0.0.1:0"}).error, HasSubstr("already served"));
  stop();
  EXPECT_EQ(address(), "");
  stop();
  EXPECT_TRUE(start({.listen = "127.0.0.1:0"}));
  stop();
}

TEST(AppprofStart, AStopBesideLooksAtTheAddressStops) {
  std::atomic<bool> is_over{false};
  std::thread looking([&] {
    while (!is_over.load()) {
      address();
    }
  });
  for (int i = 0; i < 20; ++i) {
    const Started started = start({.listen = "127.0.0.1:0"});
    EXPECT_TRUE(started) << started.error;
    stop();
  }
  is_over = true;
  looking.join();
  EXPECT_EQ(address(), "");
}

TEST(AppprofFork, AChildForkedWhileItStartsAndStopsServesNothing) {
  ASSERT_TRUE(start({.listen = "127.0.0.1:0"}));  // the handlers of forks are there
  stop();
  std::atomic<bool> is_over{false};
  std::thread changing([&] {
    while (!is_over.load()) {
      start({.listen = "127.0.0.1:0"});
      stop();
    }
  });
  int served = 0;
  for (int i = 0; i < 50; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::_exit(address().empty() ? 3 : 4);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    served += WEXITSTATUS(status) == 3 ? 0 : 1;
  }
  is_over = true;
  changing.join();
  EXPECT_EQ(served, 0);
}

TEST(AppprofStart, TheAnnouncementHasWhatADaemonNeeds) {
  const TemporaryDirectory folder;
  const Started started =
      start({.announce_dir = folder.path(), .labels = {{"job", "with \"quotes\"\n"}, {"owner", "me"}}});
  ASSERT_TRUE(started) << started.error;
  const auto json = announced(folder.path(), ::getpid());
  ASSERT_TRUE(json.is_object());
  EXPECT_EQ(json["format"], 1);
  EXPECT_EQ(json["pid"], ::getpid());
  EXPECT_EQ(json["start_ticks"], own_start_ticks());
  EXPECT_EQ(json["address"], address());
  EXPECT_EQ(json["requires_token"], false);
  EXPECT_EQ(json["labels"]["job"], "with \"quotes\"\n");
  EXPECT_THAT(json["kinds"].dump(), HasSubstr("wall"));
  stop();
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(AppprofStart, WhereItCannotBeAnnouncedItDoesNotStart) {
  EXPECT_THAT(start({.announce_dir = "/no/such/folder"}).error, HasSubstr("/no/such/folder"));
  EXPECT_EQ(address(), "");
  const Started started =
      start({.listen = "127.0.0.1:0", .announce = true, .announce_dir = "/no/such/folder"});
  EXPECT_TRUE(started) << "its address is known: " << started.error;
  stop();
}

TEST(AppprofStart, ASocketIsTheOwnersAndIsRemoved) {
  const TemporaryDirectory folder;
  ASSERT_TRUE(start({.listen = "unix:" + folder / "s"}));
  struct stat status{};
  ASSERT_EQ(::stat((folder / "s").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600);
  stop();
  EXPECT_NE(::stat((folder / "s").c_str(), &status), 0);
}

// Exit status of a forked child.
template <typename Run>
int in_child(const Run& run) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::_exit(run());
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000;
}

TEST(AppprofFork, AChildServesNothingAndLeavesTheParentsFile) {
  const TemporaryDirectory folder;
  ASSERT_TRUE(start({.announce_dir = folder.path()}));
  EXPECT_EQ(in_child([] { return address().empty() ? 3 : 4; }), 3);
  EXPECT_EQ(in_child([] {
              const bool is_up = static_cast<bool>(start({.listen = "127.0.0.1:0"}));
              stop();
              return is_up ? 3 : 4;
            }),
            3)
      << "it may start for itself";
  EXPECT_EQ(announced(folder.path(), ::getpid())["address"], address());
  stop();
}

TEST(AppprofFork, AChildAnnouncesItselfWhereAsked) {
  const TemporaryDirectory folder;
  ASSERT_TRUE(start({.announce_dir = folder.path(), .serve_children = true}));
  const std::string parents = address();
  EXPECT_EQ(in_child([&] {
              const auto json = announced(folder.path(), ::getpid());
              const bool is_own = json.is_object() && json["address"] == address() && address() != parents;
              stop();
              return is_own ? 3 : 4;
            }),
            3);
  stop();
}

TEST(AppprofRateLimit, SoManyAMinute) {
  RateLimit limit(60, 0);
  int taken = 0;
  while (limit.take(0)) {
    ++taken;
  }
  EXPECT_EQ(taken, 31);
  EXPECT_FALSE(limit.take(900'000'000));
  EXPECT_TRUE(limit.take(1'100'000'000));
  EXPECT_FALSE(limit.take(1'200'000'000));
}

TEST(AppprofEnvironment, LabelsAreReadAndNonsenseIsLeftOut) {
  EXPECT_EQ(parse_labels("job=search,revision=a=b,,=x,y"), (Labels{{"job", "search"}, {"revision", "a=b"}}));
  AgentSettings settings;
  EXPECT_FALSE(settings_of_environment(settings));
  ::setenv("PLIMSOLL_APPPROF_LISTEN", "unix:/x", 1);
  ::setenv("PLIMSOLL_APPPROF_LOCK_NS", "77", 1);
  EXPECT_TRUE(settings_of_environment(settings));
  EXPECT_EQ(settings.listen, "unix:/x");
  EXPECT_EQ(settings.lock_period_ns, 77);
  ::setenv("PLIMSOLL_APPPROF_PROGRAM", "another", 1);
  EXPECT_FALSE(settings_of_environment(settings));
  for (const char* name :
       {"PLIMSOLL_APPPROF_LISTEN", "PLIMSOLL_APPPROF_LOCK_NS", "PLIMSOLL_APPPROF_PROGRAM"}) {
    ::unsetenv(name);
  }
}

}  // namespace
}  // namespace plimsoll::appprof
