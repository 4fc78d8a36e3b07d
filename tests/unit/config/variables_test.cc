#include "config/variables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace plimsoll::config {
namespace {

Status check(std::vector<const char*> environment) {
  environment.push_back(nullptr);
  return check_variables(environment.data());
}

TEST(Variables, ThatProgramsReadAreKnown) {
  EXPECT_TRUE(check({}));
  EXPECT_TRUE(check({"PATH=/bin", "PLIMSOLL_SERVER_DATA=/srv", "PLIMSOLL_DAEMON_STATE_DIR=/var",
                     "PLIMSOLL_SERVER=h:1", "PLIMSOLL_TOKEN=", "PLIMSOLL_CORPUS=/c",
                     "PLIMSOLL_TEST_CRASHES=5", "MY_PLIMSOLL_X=1"}));
}

// Of a service called plimsoll, or plimsoll-server, in the same namespace.
TEST(Variables, OfKubernetesServicesPass) {
  EXPECT_TRUE(check({"PLIMSOLL_SERVICE_HOST=10.0.0.1", "PLIMSOLL_SERVICE_PORT=7070",
                     "PLIMSOLL_SERVICE_PORT_HTTP=7070", "PLIMSOLL_PORT=tcp://10.0.0.1:7070",
                     "PLIMSOLL_PORT_7070_TCP=tcp://10.0.0.1:7070", "PLIMSOLL_PORT_7070_TCP_ADDR=10.0.0.1",
                     "PLIMSOLL_SERVER_PORT=x", "PLIMSOLL_SERVER_SERVICE_HOST=x"}));
}

TEST(Variables, ThatAreMisspeltAreErrorsWithTheNearest) {
  const Status status = check({"HOME=/root", "PLIMSOLL_SERVER_DTA=/srv"});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kInvalid);
  EXPECT_EQ(status.error().message, "unknown environment variable PLIMSOLL_SERVER_DTA");
  EXPECT_EQ(status.error().hint, "did you mean PLIMSOLL_SERVER_DATA?");
}

TEST(Variables, UnlikeAnyAreErrorsToo) {
  const Status status = check({"PLIMSOLL_ABSOLUTELY_NOTHING_OF_THE_KIND=1"});
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().hint, ::testing::HasSubstr("server.example.toml"));
}

}  // namespace
}  // namespace plimsoll::config
