// A server keeps its data directory within limits while profiles come.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/statvfs.h>

#include <cstdlib>
#include <fstream>
#include <random>

#include "base/hex.h"
#include "base/time.h"
#include "http/client.h"
#include "proto/profile_codec.h"
#include "tests/e2e/fleet.h"
#include "tests/profile_fixture.h"

namespace plimsoll::testing {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// Names of functions that no compression makes small.
std::string random_stack(uint64_t seed, size_t bytes) {
  std::mt19937_64 random(seed);
  std::string stack = "main";
  while (stack.size() < bytes) {
    stack += fmt::format("{}{:016x}", stack.size() % 2000 < 16 ? ";" : "", random());
  }
  return stack;
}

// One that ends so long ago.
std::string profile(uint64_t seed, int64_t age_ns, size_t bytes) {
  return wire::encode(make_profile({.seed = seed,
                                    .from_ns = wall_now_ns() - age_ns - kNsPerSecond,
                                    .length_ns = kNsPerSecond,
                                    .stacks = random_stack(seed, bytes) + " 1\n"}));
}

void write_config(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
}

http::Response put(const TestServer& server, uint64_t seed, const std::string& content) {
  http::Client client({.base_url = server.fleet_address()});
  const auto response = client.send("PUT", "/fleet/v1/profiles/" + to_hex(profile_id(seed)), content);
  EXPECT_TRUE(response) << response.error().text();
  return response.value_or(http::Response());
}

TEST(Retention, TheOldestGoesWhileProfilesCome) {
  const TemporaryFolder folder;
  TestServer server(folder / "data", "[retention]\nraw_max_bytes = \"1MiB\"\nrows_max_bytes = \"4MiB\"\n");
  ASSERT_TRUE(server.becomes_ready()) << server.process().err();
  constexpr uint64_t kProfiles = 150;
  const auto status = [&] {
    return run({"plimsoll", "store", "status", "--data", folder / "data", "--json"}).out;
  };
  for (uint64_t seed = 1; seed <= kProfiles; ++seed) {
    // Raw profiles that come faster than they are dropped wait at the daemon.
    ASSERT_TRUE(eventually([&] {
      const unsigned answered = put(server, seed, profile(seed, 0, 60'000)).status;
      EXPECT_THAT(answered, ::testing::AnyOf(200U, 503U));
      return answered == 200;
    })) << server.process().err();
  }
  const auto stack_of = [](uint64_t seed) { return random_stack(seed, 60'000).substr(5, 16); };
  const auto functions = [&] {
    return run({"plimsoll", "top", "--server", server.address(), "--limit", "100000", "--json"}).out;
  };
  EXPECT_TRUE(eventually([&] { return functions().find(stack_of(kProfiles)) != std::string::npos; }));
  EXPECT_TRUE(eventually([&] { return functions().find(stack_of(1)) == std::string::npos; })) << status();
  EXPECT_THAT(server.process().err(), HasSubstr("was dropped for the size of all rows"));
  // What was dropped is known all the same.
  EXPECT_EQ(put(server, 1, profile(1, 0, 10)).status, 409);
  ASSERT_EQ(server.stop().status, 0);
  EXPECT_LT(archived_in(folder / "data").size(), kProfiles / 2);
}

TEST(Retention, ProfilesThatComeTooLateAreRefusedByName) {
  const std::string usual = std::getenv("PLIMSOLL_RETENTION_MAX_UPLOAD_AGE");
  ::unsetenv("PLIMSOLL_RETENTION_MAX_UPLOAD_AGE");
  const TemporaryFolder folder;
  TestServer server(folder / "data", "[retention]\nmax_upload_age = \"48h\"\n");
  ::setenv("PLIMSOLL_RETENTION_MAX_UPLOAD_AGE", usual.c_str(), 1);
  ASSERT_TRUE(server.becomes_ready()) << server.process().err();
  constexpr int64_t kHourNs = 3600 * kNsPerSecond;
  EXPECT_EQ(put(server, 1, profile(1, 47 * kHourNs, 10)).status, 200);
  const http::Response refused = put(server, 2, profile(2, 49 * kHourNs, 10));
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(refused.body, AllOf(HasSubstr("over the maximum age of 2d"), HasSubstr(to_hex(profile_id(2)))));
}

TEST(Retention, DaemonsAreSentAwayWhileTheDiskIsNearlyFull) {
  const TemporaryFolder folder;
  // More than is ever free.
  struct statvfs disk{};
  ASSERT_EQ(::statvfs((folder / "").c_str(), &disk), 0);
  const uint64_t bytes = disk.f_blocks * disk.f_frsize - 1;
  TestServer server(folder / "data", fmt::format("[retention]\nmin_free_bytes = \"{}B\"\n", bytes));
  ASSERT_TRUE(server.becomes_ready()) << server.process().err();
  const http::Response refused = put(server, 1, profile(1, 0, 10));
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.header("Retry-After"), "5");
  EXPECT_THAT(refused.body, HasSubstr("retention.min_free_bytes"));
}

TEST(Retention, AServerThatWouldDropEverythingDoesNotStart) {
  const TemporaryFolder folder;
  write_config(folder / "server.toml", "[retention]\nmin_free_bytes = \"1000000GiB\"\n");
  const Finished refused =
      run({"plimsoll", "server", "--data", folder / "data", "--config", folder / "server.toml"});
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("retention.min_free_bytes"));
}

}  // namespace
}  // namespace plimsoll::testing
