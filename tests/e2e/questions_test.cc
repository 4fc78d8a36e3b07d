// Slow questions to a server, and what they leave to others.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <charconv>
#include <csignal>

#include "base/durable_file.h"
#include "base/unique_fd.h"
#include "http/client.h"
#include "http/token.h"
#include "proto/profile_codec.h"
#include "tests/e2e/fleet.h"
#include "tests/profile_fixture.h"

namespace plimsoll::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const std::string kAnn = "the-token-of-ann-0000";
const std::string kBob = "the-token-of-bob-0000";
const std::string kAdmin = "the-token-of-an-admin";

std::string token_table(const std::string& name, const std::string& role, const std::string& token) {
  return fmt::format("[[access.tokens]]\nname = \"{}\"\nrole = \"{}\"\nsha256 = \"{}\"\n", name, role,
                     http::token_hash(token));
}

// Without its client it would take hours.
const std::string kEndless = "/api/v1/sql?q=" + http::url_encode(
                                                    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 "
                                                    "FROM n) SELECT sum(i) FROM n");

class Questions : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string path = folder_ / "1.profile";
    const wire::RawProfile profile = make_profile({.stacks = "main;work 30\n"});
    ASSERT_TRUE(write_file_durably(path, as_bytes(wire::encode(profile))));
    const Finished imported = run({"plimsoll", "import", "--data", data_, path});
    ASSERT_EQ(imported.status, 0) << imported.err;
    server_ = std::make_unique<TestServer>(
        data_, "[query]\nsql_threads = 3\nsql_max_time = \"10h\"\nmax_pending = 100\n" +
                   token_table("ann", "read", kAnn) + token_table("bob", "read", kBob) +
                   token_table("admin", "admin", kAdmin));
    ASSERT_TRUE(server_->becomes_ready());
  }

  http::Response send(const std::string& token, const std::string& method, const std::string& path) const {
    http::Client client({.base_url = server_->address(), .credentials = {.token = token}});
    auto response =
        client.send(method, path, method == "POST" ? "{}" : "", method == "POST" ? "application/json" : "");
    return response ? *std::move(response) : http::error_response(response.error());
  }

  // A client that sends an endless statement, and closes its connection with the object.
  UniqueFd ask_endlessly(const std::string& token) const {
    UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const std::string address = server_->address();
    const size_t colon = address.rfind(':');
    uint16_t port = 0;
    std::from_chars(address.data() + colon + 1, address.data() + address.size(), port);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = ::htons(port);
    to.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
    const std::string head = fmt::format(
        "GET {} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\r\n", kEndless, token);
    EXPECT_EQ(::send(fd.get(), head.data(), head.size(), MSG_NOSIGNAL), static_cast<ssize_t>(head.size()));
    return fd;
  }

  // Of the pool of statements: "plimsoll_http_requests_NAME".
  int64_t statements(const std::string& name) const {
    const std::string text = send(kAdmin, "GET", "/metrics").body;
    const std::string begin =
        "\nplimsoll_http_requests_" + name + "{listener=\"clients\",pool=\"background\"} ";
    const size_t at = text.find(begin);
    int64_t value = -1;
    if (at != std::string::npos) {
      std::from_chars(text.data() + at + begin.size(), text.data() + text.size(), value);
    }
    return value;
  }
  bool there_are(int64_t running, int64_t waiting) const {
    return eventually([&] { return statements("running") == running && statements("waiting") == waiting; });
  }

  TemporaryFolder folder_;
  std::string data_ = folder_ / "data";
  std::unique_ptr<TestServer> server_;
};

TEST_F(Questions, InSlowSqlDelayNoHealthNoViewAndNoOrder) {
  const UniqueFd first = ask_endlessly(kAnn);
  const UniqueFd second = ask_endlessly(kBob);
  ASSERT_TRUE(there_are(2, 0));
  EXPECT_EQ(send("", "GET", "/readyz").status, 200);
  const http::Response top = send(kAnn, "GET", "/api/v1/top");
  EXPECT_EQ(top.status, 200);
  EXPECT_THAT(top.body, HasSubstr("work"));
  EXPECT_EQ(send(kBob, "GET", "/api/v1/status").status, 200);
  EXPECT_EQ(send(kAdmin, "POST", "/api/v1/collection/stop?reason=test").status, 200);
  EXPECT_EQ(statements("running"), 2) << "all the while";
}

TEST_F(Questions, EndWithTheirClients) {
  UniqueFd first = ask_endlessly(kAnn);
  UniqueFd second = ask_endlessly(kAnn);
  ASSERT_TRUE(there_are(2, 0));
  first = UniqueFd();
  second = UniqueFd();
  EXPECT_TRUE(there_are(0, 0));
  EXPECT_EQ(statements("cancelled_total"), 2);
}

TEST_F(Questions, TwentyOfOneCallerKeepNoOtherOut) {
  std::vector<UniqueFd> of_ann;
  for (int i = 0; i < 20; ++i) {
    of_ann.push_back(ask_endlessly(kAnn));
  }
  ASSERT_TRUE(there_are(2, 18));
  EXPECT_THAT(send(kBob, "GET", "/api/v1/sql?q=SELECT%20count(*)%20FROM%20samples").body,
              HasSubstr("\n  [1]]"));
  EXPECT_TRUE(there_are(2, 18)) << "all the while";
}

TEST_F(Questions, EndAtOnceWhenTheServerIsStopped) {
  std::vector<UniqueFd> of_ann;
  for (int i = 0; i < 20; ++i) {
    of_ann.push_back(ask_endlessly(kAnn));
  }
  ASSERT_TRUE(there_are(2, 18));
  EXPECT_EQ(server_->stop().status, 0);
}

}  // namespace
}  // namespace plimsoll::testing
