// A ratio asked of a data directory and of its server is the same answer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/durable_file.h"
#include "proto/profile_codec.h"
#include "tests/e2e/fleet.h"
#include "tests/e2e/program.h"
#include "tests/profile_fixture.h"

namespace plimsoll::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class RatioOfProfiles : public ::testing::Test {
 protected:
  void SetUp() override {
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      const wire::RawProfile profile =
          make_profile({.seed = seed,
                        .machine = fmt::format("m{}", seed),
                        .events = {{.name = "cycles", .scale = 1000}, {.name = "instructions", .scale = 500}},
                        .job = "db",
                        .stacks = fmt::format("main 100\nevent=instructions main {}\n", 100 + 20 * seed)});
      const std::string path = folder_ / fmt::format("{}.profile", seed);
      ASSERT_TRUE(write_file_durably(path, as_bytes(wire::encode(profile))));
      const Finished imported = run({"plimsoll", "import", "--data", data_, path});
      ASSERT_EQ(imported.status, 0) << imported.err;
    }
  }

  TemporaryFolder folder_;
  std::string data_ = folder_ / "data";
};

TEST_F(RatioOfProfiles, IsTheSameFromADirectoryAndItsServer) {
  const std::vector<std::string> ask{"--ratio", "ipc", "--by", "job", "--json"};
  const auto answer = [&](std::vector<std::string> argv) {
    argv.insert(argv.end(), ask.begin(), ask.end());
    const Finished asked = run(argv);
    EXPECT_EQ(asked.status, 0) << asked.err;
    return asked.out;
  };
  const std::string of_directory = answer({"plimsoll", "top", "--data", data_});
  EXPECT_THAT(of_directory, AllOf(HasSubstr("\"ratio\": 0.7,"), HasSubstr("\"few machines\"")));
  TestServer server(data_);
  ASSERT_TRUE(server.becomes_ready());
  EXPECT_EQ(answer({"plimsoll", "top", "--server", server.address()}), of_directory);
}

TEST_F(RatioOfProfiles, OfAnEventThatNobodyCountedSaysWhatThereIs) {
  const Finished asked = run({"plimsoll", "top", "--data", data_, "--ratio", "llc-misses/cycles"});
  EXPECT_EQ(asked.status, 1);
  EXPECT_THAT(asked.err,
              AllOf(HasSubstr("llc-misses"), HasSubstr("events with samples: cycles, instructions")));
}

TEST_F(RatioOfProfiles, ThatIsNoneIsAWrongCommandLine) {
  EXPECT_EQ(run({"plimsoll", "top", "--data", data_, "--ratio", "cycles"}).status, 2);
  EXPECT_EQ(run({"plimsoll", "top", "--data", data_, "--ratio", "ipc", "--event", "cycles"}).status, 2);
}

}  // namespace
}  // namespace plimsoll::testing
