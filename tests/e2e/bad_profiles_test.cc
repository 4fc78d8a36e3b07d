// Profiles that are damaged or claim what is not so are refused with a message that says what is wrong, and change nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "base/hex.h"
#include "http/client.h"
#include "proto/profile_codec.h"
#include "tests/e2e/bad_input.h"
#include "tests/e2e/fleet.h"
#include "tests/framed.h"
#include "tests/profile_fixture.h"

namespace plimsoll::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Bytes that claim to be the profile with the seed 2, and are not.
struct BadProfile {
  std::string what;
  std::string bytes;
  std::string says;  // part of the message
  unsigned status = 400;
};

// The same profile, but for one field; framed and with the right checksum.
std::string reframed(const std::function<void(wire::RawProfile&)>& change) {
  wire::RawProfile profile = make_profile({.seed = 2, .stacks = "main;work 5\nmain 7\n"});
  change(profile);
  return wire::framed(wire::compressed(profile.SerializeAsString()));
}

std::vector<BadProfile> bad_profiles() {
  const std::string good = wire::encode(make_profile({.seed = 2, .stacks = "main;work 5\nmain 7\n"}));
  std::mt19937_64 random(11);
  std::vector<BadProfile> bad{{"nothing", "", ""}};
  std::string noise(1000, '\0');
  std::ranges::generate(noise, [&] { return static_cast<char>(random()); });
  bad.push_back({"random bytes", noise, ""});
  for (const size_t length :
       {1UL, 7UL, 8UL, 12UL, 20UL, 31UL, 32UL, 33UL, good.size() / 2, good.size() - 1}) {
    bad.push_back({fmt::format("the first {} bytes", length), good.substr(0, length), ""});
  }
  bad.push_back({"one byte too many", good + '\0', "longer than declared"});
  for (int i = 0; i < 100; ++i) {
    std::string flipped = good;
    const size_t bit = random() % (flipped.size() * 8);
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    // Bits of the version make it another version.
    const bool is_version = bit / 8 >= 8 && bit / 8 < 12;
    bad.push_back({fmt::format("bit {} flipped", bit), flipped, "", is_version ? 415U : 400U});
  }
  std::string version = good;
  version[8] = 77;
  bad.push_back({"another version", version, "format version 77; this program reads", 415});
  bad.push_back({"no zstd", wire::framed("no zstd"), "body"});
  bad.push_back({"no message", wire::framed(wire::compressed("\xff\xff\xff")), ""});
  bad.push_back({"a sum that is wrong",
                 reframed([](wire::RawProfile& profile) { profile.mutable_events(0)->set_hits(1000); }),
                 "events[0]"});
  bad.push_back({"a stack that is not there",
                 reframed([](wire::RawProfile& profile) { profile.mutable_samples(0)->set_stack(0, 99); }),
                 "samples[0].stack[0]"});
  bad.push_back({"a thread that is not there",
                 reframed([](wire::RawProfile& profile) { profile.mutable_samples(0)->set_thread(0, 99); }),
                 "samples[0].thread[0]"});
  bad.push_back(
      {"no name", reframed([](wire::RawProfile& profile) { profile.clear_profile_id(); }), "profile_id"});
  return bad;
}

TEST(BadProfiles, AreNotImported) {
  const TemporaryFolder folder;
  const std::string data_dir = folder / "data";
  write(folder / "good", wire::encode(make_profile({.seed = 1, .stacks = "main;work 12\n"})));
  ASSERT_EQ(run({"plimsoll", "import", "--data", data_dir, folder / "good"}).status, 0);
  const auto answer = [&] { return run({"plimsoll", "top", "--data", data_dir, "--json"}).out; };
  const std::string answer_before = answer();
  ASSERT_THAT(answer_before, HasSubstr("work"));
  const auto expect_refused = [&](const std::string& path, const std::string& what, const std::string& says) {
    const Finished refused = run({"plimsoll", "import", "--data", data_dir, path});
    EXPECT_EQ(refused.status, 1) << what << ": " << refused.err;
    EXPECT_THAT(refused.err, AllOf(HasSubstr(path), HasSubstr(says))) << what;
    EXPECT_EQ(stored_in(data_dir).accepted, 1) << what;
  };

  expect_refused(folder / "missing", "a missing file", "No such file");
  expect_refused(folder.path(), "a folder", "directory");
  write(folder / "large", "PLIMPROF");
  std::filesystem::resize_file(folder / "large", (64U << 20) + 1);
  expect_refused(folder / "large", "a file that is too large", "at most 67108864 are read");
  for (const BadProfile& bad : bad_profiles()) {
    write(folder / "bad", bad.bytes);
    expect_refused(folder / "bad", bad.what, bad.says);
  }
  EXPECT_EQ(answer(), answer_before);
}

TEST(BadProfiles, LeaveTheGoodOnesAroundThemImported) {
  const TemporaryFolder folder;
  write(folder / "good", wire::encode(make_profile({.seed = 1, .stacks = "main;work 12\n"})));
  write(folder / "bad", "not a profile");
  write(folder / "good too", wire::encode(make_profile({.seed = 2, .stacks = "main;work 30\n"})));
  const Finished refused = run({"plimsoll", "import", "--data", folder / "data", folder / "good",
                                folder / "bad", folder / "missing", folder / "good too"});
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err, AllOf(HasSubstr(folder / "bad"), HasSubstr(folder / "missing"),
                                 HasSubstr("2 of 4 files were not imported")));
  EXPECT_EQ(self_of(top({"--data", folder / "data"}))["work"], 42);
}

TEST(BadProfiles, AreNotAcceptedFromDaemons) {
  const TemporaryFolder folder;
  TestServer server(folder / "data", "[limits]\nmax_profile_bytes = \"4KiB\"\n");
  ASSERT_TRUE(server.becomes_ready()) << server.process().err();
  http::Client client({.base_url = server.fleet_address()});
  const auto put = [&](uint64_t seed, const std::string& bytes) {
    const auto response = client.send("PUT", "/fleet/v1/profiles/" + to_hex(profile_id(seed)), bytes);
    EXPECT_TRUE(response.has_value()) << response.error().text();
    return response.value_or(http::Response());
  };
  const std::string good = wire::encode(make_profile({.seed = 1, .stacks = "main;work 12\n"}));
  ASSERT_EQ(put(1, good).status, 200);

  for (const BadProfile& bad : bad_profiles()) {
    const http::Response refused = put(2, bad.bytes);
    EXPECT_EQ(refused.status, bad.status) << bad.what << ": " << refused.body;
    EXPECT_THAT(refused.body, AllOf(HasSubstr("\"error\""), HasSubstr(bad.says))) << bad.what;
  }
  EXPECT_EQ(put(2, std::string(4097, 'x')).status, 413);
  const http::Response other_name = put(2, good);
  EXPECT_EQ(other_name.status, 400);
  EXPECT_THAT(other_name.body, AllOf(HasSubstr(to_hex(profile_id(1))), HasSubstr(to_hex(profile_id(2)))));
  const http::Response other_content =
      put(1, wire::encode(make_profile({.seed = 1, .stacks = "main;work 13\n"})));
  EXPECT_EQ(other_content.status, 409);
  EXPECT_THAT(other_content.body, HasSubstr(to_hex(profile_id(1))));
  const auto no_name = client.send("PUT", "/fleet/v1/profiles/xyz", good);
  ASSERT_TRUE(no_name.has_value()) << no_name.error().text();
  EXPECT_EQ(no_name->status, 400);

  ASSERT_EQ(server.stop().status, 0);
  EXPECT_EQ(stored_in(folder / "data").accepted, 1);
  EXPECT_EQ(self_of(top({"--data", folder / "data"}))["work"], 12);
}

}  // namespace
}  // namespace plimsoll::testing
