#include "appprof/agent.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <thread>
#include <utility>

#include "appprof/appprof.h"
#include "appprof/endpoints.h"
#include "tests/fetch_unix.h"
#include "tests/temporary_directory.h"
#include "tests/unit/appprof/announced.h"

namespace plimsoll::appprof {
namespace {

using ::testing::HasSubstr;
using testing::TemporaryDirectory;

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

TEST(AppprofStart, ASocketMayBeOfAGroup) {
  const TemporaryDirectory folder;
  const Started started = start({.listen = "unix:" + folder / "s", .socket_mode = 0660});
  ASSERT_TRUE(started) << started.error;
  struct stat status{};
  ASSERT_EQ(::stat((folder / "s").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0660);
  stop();
  for (const uint32_t mode : {01777U, UINT32_MAX}) {
    EXPECT_THAT(start({.listen = "unix:" + folder / "s", .socket_mode = mode}).error,
                HasSubstr("the mode of the socket must be permissions"));
  }
}

TEST(AppprofEnvironment, TheModeOfTheSocketIsOctal) {
  ASSERT_EQ(::setenv("PLIMSOLL_APPPROF_LISTEN", "unix:/run/x", 1), 0);
  for (const auto& [text, mode] : std::initializer_list<std::pair<const char*, uint32_t>>{
           {"0660", 0660}, {"666", 0666}, {"", 0600}, {"rw", UINT32_MAX}, {"0690", UINT32_MAX}}) {
    ASSERT_EQ(::setenv("PLIMSOLL_APPPROF_SOCKET_MODE", text, 1), 0);
    AgentSettings settings;
    EXPECT_TRUE(settings_of_environment(settings));
    EXPECT_EQ(settings.socket_mode, mode) << text;
  }
  ::unsetenv("PLIMSOLL_APPPROF_SOCKET_MODE");
  ::unsetenv("PLIMSOLL_APPPROF_LISTEN");
}

TEST(AppprofEnvironment, ANumberWithAUnitOrASignIsRefused) {
  ASSERT_EQ(::setenv("PLIMSOLL_APPPROF_LISTEN", "127.0.0.1:0", 1), 0);
  for (const char* name : {"HEAP_BYTES", "LOCK_NS", "SAMPLES", "REQUESTS"}) {
    const std::string variable = std::string("PLIMSOLL_APPPROF_") + name;
    for (const char* text : {"512K", "-1", "1e6", " 1", "99999999999999999999"}) {
      ASSERT_EQ(::setenv(variable.c_str(), text, 1), 0);
      AgentSettings settings;
      EXPECT_TRUE(settings_of_environment(settings));
      EXPECT_THAT(start_agent(settings), HasSubstr(variable + " must be a number")) << text;
      stop();
    }
    ::unsetenv(variable.c_str());
  }
  ASSERT_EQ(::setenv("PLIMSOLL_APPPROF_SAMPLES", "4294967296", 1), 0);
  AgentSettings settings;
  EXPECT_TRUE(settings_of_environment(settings));
  EXPECT_EQ(settings.refusal, "");
  EXPECT_EQ(settings.max_samples_per_second, UINT32_MAX);
  ::unsetenv("PLIMSOLL_APPPROF_SAMPLES");
  ::unsetenv("PLIMSOLL_APPPROF_LISTEN");
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

// The limit permits one more in ten seconds: of a hundred requests in a row some are refused.
TEST(AppprofStart, RequestsOverTheRateLimitAreRefused) {
  const TemporaryDirectory folder;
  const std::string socket = folder / "s";
  const Started started = start({.listen = "unix:" + socket, .max_requests_per_minute = 6});
  ASSERT_TRUE(started) << started.error;
  const auto fetch = [&socket](const char* target) { return testing::fetch_unix(socket, target); };
  int answered = 0;
  std::string refused;
  for (int i = 0; i < 100 && refused.empty(); ++i) {
    const std::string answer = fetch("/debug/pprof/threads?debug=1");
    answered += testing::status_of(answer) == 200 ? 1 : 0;
    refused = testing::status_of(answer) == 429 ? answer : std::string();
  }
  EXPECT_GE(answered, 4) << "half a minute's requests at once";
  EXPECT_THAT(refused, HasSubstr("more than 6 requests a minute"));
  EXPECT_EQ(testing::status_of(fetch("/debug/pprof/cmdline")), 200) << "what is no profile does not count";
  stop();
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
