// Configuration files and environment variables that are wrong are refused with a message that says what is wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "proto/profile_codec.h"
#include "tests/e2e/bad_input.h"
#include "tests/e2e/fleet.h"
#include "tests/profile_fixture.h"

namespace plimsoll::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(BadConfigurations, AreExplained) {
  const TemporaryFolder folder;
  struct BadFile {
    std::string program;
    std::string content;
    std::string says;
  };
  const std::string path = folder / "plimsoll.toml";
  for (const BadFile& bad : {
           BadFile{"plimsoll", "[collect]\nrate_zh = 99\n", ":2: unknown key collect.rate_zh"},
           BadFile{"plimsoll", "[collect]\nrate_zh = 99\n", "did you mean collect.rate_hz?"},
           BadFile{"plimsoll", "[collect]\nrate_hz = \"fast\"\n", "collect.rate_hz must be an integer"},
           BadFile{"plimsoll", "\n\n[collect]\nrate_hz = 0\n", ":4: collect.rate_hz is 0"},
           BadFile{"plimsoll", "[collect]\nrate_hz = 0\n", "between 1 and 10000"},
           BadFile{"plimsoll", "[fleet]\nheartbeat = \"1ms\"\n", "between 100ms and 10min"},
           BadFile{"plimsoll", "[bursts]\nduration = \"7h\"\n", "between 100ms and 6h"},
           BadFile{"plimsoll", "collect = 7\n", "collect must be a table"},
           BadFile{"plimsoll", "this is not TOML\n", ":1: "},
           BadFile{"plimsolld", "[daemon]\nsever = \"127.0.0.1:1\"\n", "did you mean daemon.server?"},
           BadFile{"plimsolld", "[limits]\nevents = \"cycles\"\n", "limits.events must be a list of strings"},
           BadFile{"plimsolld", "[limits]\nmax_window = \"25h\"\n", "between 1s and 24h"},
           BadFile{"plimsolld", "[bursts]\npermit = \"yes\"\n", "bursts.permit must be true or false"},
           BadFile{"plimsolld", "[limits\n", ":1: "},
       }) {
    write(path, bad.content);
    std::vector<std::string> argv{bad.program};
    if (bad.program == "plimsoll") {
      argv.insert(argv.end(), {"server", "--data", folder / "data"});
    }
    argv.insert(argv.end(), {"--config", path});
    const Finished refused = run(argv);
    EXPECT_EQ(refused.status, 2) << bad.content;
    EXPECT_THAT(refused.err, AllOf(HasSubstr(path), HasSubstr(bad.says))) << bad.content;
  }
  expect_refused("plimsoll",
                 {{{"server", "--data", folder / "data", "--config", folder / "none"}, folder / "none", 1}});
  expect_refused("plimsolld", {{{"--config", folder / "none"}, folder / "none", 1}});
  EXPECT_FALSE(std::filesystem::exists(folder / "data"));
}

Finished run_with(const std::string& variable, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"/usr/bin/env", variable});
  arguments[2] = program(arguments[2]);
  return run(arguments);
}

TEST(Variables, ThatAreUnknownAreRefused) {
  for (const char* name : {"plimsoll", "plimsolld"}) {
    const Finished refused =
        run_with("PLIMSOLL_SERVER_DTA=/srv", {name, name == std::string("plimsoll") ? "demo" : "probe"});
    EXPECT_EQ(refused.status, 2) << name;
    EXPECT_EQ(refused.out, "") << name;
    EXPECT_THAT(refused.err, AllOf(HasSubstr("unknown environment variable PLIMSOLL_SERVER_DTA"),
                                   HasSubstr("did you mean PLIMSOLL_SERVER_DATA?")));
  }
}

TEST(Variables, NameTheServerThatIsAskedWhereNoneIsGiven) {
  const TemporaryFolder folder;
  write(folder / "good", wire::encode(make_profile({.seed = 1, .stacks = "of_server 3\n"})));
  write(folder / "other", wire::encode(make_profile({.seed = 2, .stacks = "of_folder 3\n"})));
  ASSERT_EQ(run({"plimsoll", "import", "--data", folder / "data", folder / "good"}).status, 0);
  ASSERT_EQ(run({"plimsoll", "import", "--data", folder / "other-data", folder / "other"}).status, 0);
  TestServer server(folder / "data");
  ASSERT_TRUE(server.becomes_ready()) << server.process().err();
  const std::string usual = "PLIMSOLL_SERVER=" + server.address();
  EXPECT_THAT(run_with(usual, {"plimsoll", "top", "--csv"}).out, HasSubstr("of_server"));
  EXPECT_THAT(run_with(usual, {"plimsoll", "top", "--csv", "--data", folder / "other-data"}).out,
              HasSubstr("of_folder"));
  EXPECT_THAT(run_with("PLIMSOLL_SERVER=" + free_address(),
                       {"plimsoll", "top", "--server", server.address(), "--csv"})
                  .out,
              HasSubstr("of_server"));
}

}  // namespace
}  // namespace plimsoll::testing
