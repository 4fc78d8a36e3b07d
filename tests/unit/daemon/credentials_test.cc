// The token that a daemon makes for its machine.
#include "daemon/credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "http/token.h"
#include "tests/temporary_directory.h"

namespace plimsoll {
namespace {

using ::testing::HasSubstr;

class CredentialsTest : public ::testing::Test {
 protected:
  CredentialsTest() {
    std::ofstream(folder_ / "permit") << http::make_token() << "\n";
    config_.enrolment_file = folder_ / "permit";
    config_.state_dir = folder_ / "state";
  }

  plimsoll::testing::TemporaryDirectory folder_;
  config::DaemonConfig config_;
};

TEST_F(CredentialsTest, StayTheSameAndAreForNobodyElse) {
  const auto first = daemon_credentials(config_);
  ASSERT_TRUE(first) << first.error().text();
  EXPECT_EQ(daemon_credentials(config_)->own.token, first->own.token);
  struct stat made{};
  ASSERT_EQ(::stat((config_.state_dir + "/enrolment").c_str(), &made), 0);
  EXPECT_EQ(made.st_mode & 07777, 0700);
}

TEST_F(CredentialsTest, AreNotTakenFromAFolderThatOthersMayLookInto) {
  ASSERT_TRUE(daemon_credentials(config_));
  ASSERT_EQ(::chmod((config_.state_dir + "/enrolment").c_str(), 0755), 0);
  const auto refused = daemon_credentials(config_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kDenied);
  EXPECT_THAT(refused.error().text(), HasSubstr("chmod it to 0700"));
}

TEST_F(CredentialsTest, AreNotTakenThroughALink) {
  ASSERT_TRUE(daemon_credentials(config_));
  const std::string folder = config_.state_dir + "/enrolment";
  std::filesystem::rename(folder, folder_ / "elsewhere");
  std::filesystem::create_symlink(folder_ / "elsewhere", folder);
  EXPECT_EQ(daemon_credentials(config_).error().code, ErrorCode::kDenied);
}

TEST_F(CredentialsTest, AreNotTakenFromSomebodyElsesFolder) {
  ASSERT_TRUE(daemon_credentials(config_));
  if (::chown((config_.state_dir + "/enrolment").c_str(), 65534, 65534) != 0) {
    GTEST_SKIP() << "this user may not give files away";
  }
  EXPECT_EQ(daemon_credentials(config_).error().code, ErrorCode::kDenied);
}

}  // namespace
}  // namespace plimsoll
