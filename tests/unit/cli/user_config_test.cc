// The configuration file of the command line.
#include "cli/views/user_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/temporary_directory.h"

namespace plimsoll::cli::user_config_test {
namespace {

using ::testing::HasSubstr;

class UserConfigFile : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(directory_.path() + "/plimsoll");
    ::setenv("XDG_CONFIG_HOME", directory_.path().c_str(), 1);
    ::setenv("HOME", "/home/ann", 1);
    for (const char* name : {"PLIMSOLL_SERVER", "PLIMSOLL_TOKEN"}) {
      ::unsetenv(name);
    }
  }

  static void write(const std::string& path, const std::string& text, std::filesystem::perms permissions) {
    std::ofstream(path) << text;
    std::filesystem::permissions(path, permissions);
  }
  void configure(const std::string& text) const { write(user_config_path(), text, kOwnerOnly); }

  static constexpr std::filesystem::perms kOwnerOnly =
      std::filesystem::perms::owner_read | std::filesystem::perms::owner_write;
  testing::TemporaryDirectory directory_;
};

TEST_F(UserConfigFile, LiesWhereTheSpecificationOfXdgPutsIt) {
  EXPECT_EQ(user_config_path(), directory_.path() + "/plimsoll/config.toml");
  ::setenv("XDG_CONFIG_HOME", "relative", 1);
  EXPECT_EQ(user_config_path(), "/home/ann/.config/plimsoll/config.toml");
  ::unsetenv("XDG_CONFIG_HOME");
  EXPECT_EQ(user_config_path(), "/home/ann/.config/plimsoll/config.toml");
  ::unsetenv("HOME");
  EXPECT_EQ(user_config_path(), "");
  EXPECT_TRUE(load_user_config(user_config_path()));
}

TEST_F(UserConfigFile, CompletesWhatFlagsAndVariablesLeaveOpen) {
  configure("server = \"file:1\"\ntoken_file = \"token\"\nserver_ca = \"~/ca.pem\"\n");
  AnswerSource source;
  ASSERT_TRUE(complete_source(source));
  EXPECT_EQ(source.server, "file:1");
  EXPECT_EQ(source.token_file, directory_.path() + "/plimsoll/token");
  EXPECT_EQ(source.server_ca, "/home/ann/ca.pem");

  ::setenv("PLIMSOLL_SERVER", "variable:2", 1);
  ::setenv("PLIMSOLL_TOKEN", "0123456789abcdef", 1);
  AnswerSource of_variables;
  ASSERT_TRUE(complete_source(of_variables));
  EXPECT_EQ(of_variables.server, "variable:2");
  EXPECT_EQ(of_variables.token_file, "") << "the token of the variable is taken";

  AnswerSource of_flags{.server = "flag:3", .data_dir = {}, .token_file = "mine", .server_ca = "my-ca"};
  ASSERT_TRUE(complete_source(of_flags));
  EXPECT_EQ(of_flags.server, "flag:3");
  EXPECT_EQ(of_flags.token_file, "mine");
  EXPECT_EQ(of_flags.server_ca, "my-ca");
}

TEST_F(UserConfigFile, IsNotReadForADataDirectory) {
  configure("no TOML");
  AnswerSource source{.server = {}, .data_dir = "data", .token_file = {}, .server_ca = {}};
  ASSERT_TRUE(complete_source(source));
  EXPECT_EQ(source.server, "");
}

TEST_F(UserConfigFile, NamesTheNearestOfAnUnknownKey) {
  configure("sever = \"a:1\"\n");
  AnswerSource source;
  const Status refused = complete_source(source);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalid);
  EXPECT_THAT(refused.error().text(), HasSubstr("plimsoll/config.toml:1: unknown key sever"));
  EXPECT_THAT(refused.error().text(), HasSubstr("id you mean server?"));
  configure("server = \"a:1\"\ntoken = \"0123456789abcdef\"\n");
  EXPECT_THAT(complete_source(source).error().text(), HasSubstr("config.toml:2: unknown key token"));
}

TEST_F(UserConfigFile, WithATokenFileThatOthersCanReadIsRefused) {
  configure("server = \"a:1\"\ntoken_file = \"token\"\n");
  const std::string token = directory_.path() + "/plimsoll/token";
  write(token, "0123456789abcdef", kOwnerOnly | std::filesystem::perms::others_read);
  AnswerSource source;
  const Status refused = complete_source(source);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kDenied);
  EXPECT_THAT(refused.error().text(), HasSubstr(token));
  EXPECT_THAT(refused.error().text(), HasSubstr("hmod 600 " + token));
  std::filesystem::permissions(token, kOwnerOnly);
  EXPECT_TRUE(complete_source(source));
}

TEST_F(UserConfigFile, ThatOthersCanWriteIsRefused) {
  write(user_config_path(), "server = \"a:1\"\n", kOwnerOnly | std::filesystem::perms::others_write);
  AnswerSource source;
  const Status refused = complete_source(source);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().text(), HasSubstr("may be written by other users"));
}

}  // namespace
}  // namespace plimsoll::cli::user_config_test
