// Statements over HTTP to servers that answer, refuse, fail and fall silent.
#include "store/clickhouse/connection.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "base/stop_scope.h"
#include "base/unique_fd.h"
#include "http/address.h"
#include "store/clickhouse/server_error.h"
#include "tests/clickhouse/fake_server.h"

namespace plimsoll::store::clickhouse {
namespace {

using plimsoll::testing::answer;
using plimsoll::testing::FakeServer;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

TEST(ClickHouseConnection, SendsTheStatementWithCredentialsDatabaseAndLimits) {
  FakeServer server({answer(200, "1\n")});
  const auto got = server.connection().query("SELECT 1");
  ASSERT_TRUE(got) << got.error().text();
  EXPECT_EQ(*got, "1\n");
  ASSERT_EQ(server.requests().size(), 1);
  const http::Request& request = server.requests()[0];
  EXPECT_EQ(request.body, "SELECT 1");
  EXPECT_EQ(request.header("X-ClickHouse-User"), "writer");
  EXPECT_EQ(request.header("X-ClickHouse-Key"), "secret");
  EXPECT_THAT(request.query, ElementsAre(Pair("wait_end_of_query", "1"), Pair("max_execution_time", "18"),
                                         Pair("database", "fleet")));
}

TEST(ClickHouseConnection, SendsTablesBesideAStatementAsAForm) {
  FakeServer server({answer(200, "")});
  const std::vector<ExternalTable> tables{{"ids", "id UInt32", std::string("\1\0\0\0", 4)},
                                          {"none", "id UInt8, f Float64", ""}};
  ASSERT_TRUE(server.connection().query("SELECT a FROM b WHERE a IN ids", tables));
  const http::Request& request = server.requests().at(0);
  EXPECT_THAT(request.query,
              ElementsAre(Pair("wait_end_of_query", "1"), Pair("max_execution_time", "18"),
                          Pair("database", "fleet"), Pair("query", "SELECT a FROM b WHERE a IN ids"),
                          Pair("ids_format", "RowBinary"), Pair("ids_structure", "id UInt32"),
                          Pair("none_format", "RowBinary"), Pair("none_structure", "id UInt8, f Float64")));
  EXPECT_THAT(request.header("Content-Type"), HasSubstr("multipart/form-data; boundary="));
  EXPECT_THAT(request.body, HasSubstr("name=\"ids\"; filename=\"ids\"\r\nContent-Type: "
                                      "application/octet-stream\r\n\r\n" +
                                      std::string("\1\0\0\0", 4) + "\r\n--"));
  EXPECT_THAT(request.body, ::testing::EndsWith("--\r\n"));
}

TEST(ClickHouseConnection, AStatementTooLongForAUrlIsRefusedHere) {
  FakeServer server({answer(200, "")});
  const std::vector<ExternalTable> tables{{"ids", "id UInt32", ""}};
  const auto got = server.connection().query("SELECT " + std::string(20'000, '1'), tables);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, ErrorCode::kTooLarge);
  EXPECT_TRUE(server.requests().empty());
}

TEST(ClickHouseConnection, AsksAgainWhereThatMayHelp) {
  FakeServer server({answer(500, "Code: 236, e.displayText() = DB::Exception: Server is stopping"),
                     answer(503, "upstream is down"), answer(200, "rows")});
  const auto got = server.connection().query("SELECT 1");
  ASSERT_TRUE(got) << got.error().text();
  EXPECT_EQ(*got, "rows");
  EXPECT_EQ(server.requests().size(), 3);
}

TEST(ClickHouseConnection, GivesUpAfterItsAttemptsWithTheServersCodeAndText) {
  FakeServer server({answer(500,
                            "Code: 243, e.displayText() = DB::Exception: Not enough space on disk, "
                            "e.what() = DB::Exception\n")});
  const auto got = server.connection().query("SELECT 1");
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(got.error().message,
            "asking ClickHouse SELECT 1: ClickHouse error 243: Not enough space on disk");
  EXPECT_THAT(got.error().hint, HasSubstr("disk is full"));
  EXPECT_EQ(server.requests().size(), 3);
}

TEST(ClickHouseConnection, DoesNotAskAgainWhereThatDoesNotHelp) {
  struct Case {
    unsigned status;
    std::string body;
    ErrorCode code;
  };
  for (const Case& refused : {
           Case{400, "Code: 62, e.displayText() = DB::Exception: Syntax error", ErrorCode::kInvalid},
           Case{404, "Code: 60. DB::Exception: Table a.b doesn't exist. (UNKNOWN_TABLE) (version 26.7)",
                ErrorCode::kNotFound},
           Case{401, "Code: 193, e.displayText() = DB::Exception: Wrong password", ErrorCode::kDenied},
           Case{500, "Code: 241. DB::Exception: Memory limit exceeded", ErrorCode::kTooLarge},
           Case{403, "<html>forbidden</html>", ErrorCode::kDenied},
       }) {
    SCOPED_TRACE(refused.body);
    FakeServer server({answer(refused.status, refused.body)});
    const auto got = server.connection().query("SELECT 1");
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().code, refused.code) << got.error().text();
    EXPECT_EQ(server.requests().size(), 1);
  }
}

TEST(ClickHouseConnection, AnInsertIsSentOnceWhateverComesOfIt) {
  FakeServer server({answer(500, "Code: 252. DB::Exception: Too many parts"), answer(200, "")});
  Connection connection = server.connection();
  const Status failed = connection.insert("rows", "a, b", "bytes");
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kUnavailable);
  ASSERT_EQ(server.requests().size(), 1);
  EXPECT_EQ(server.requests()[0].body, "bytes");
  EXPECT_THAT(server.requests()[0].query,
              ::testing::Contains(Pair("query", "INSERT INTO rows (a, b) FORMAT RowBinary")));
  EXPECT_TRUE(connection.insert("rows", "a, b", "bytes"));
}

TEST(ClickHouseConnection, AnAnswerBeyondItsBoundIsRefused) {
  FakeServer server({answer(200, std::string(1001, 'x'))});
  const auto got = server.connection().query("SELECT 1");
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, ErrorCode::kTooLarge) << got.error().text();
  EXPECT_EQ(server.requests().size(), 1);
}

TEST(ClickHouseConnection, TheDatabaseIsMadeWithoutBeingInIt) {
  FakeServer server({answer(200, "")});
  ASSERT_TRUE(server.connection().create_database());
  EXPECT_EQ(server.requests().at(0).body, "CREATE DATABASE IF NOT EXISTS fleet");
  EXPECT_THAT(server.requests()[0].query, Not(::testing::Contains(Pair("database", "fleet"))));
}

TEST(ClickHouseConnection, TextsOfTheServerAreBoundedAndFitForATerminal) {
  const Error error =
      server_error(answer(500, "Code: 1. DB::Exception: bad \x1b[31m" + std::string(5000, 'x')), "asking");
  EXPECT_THAT(error.message, HasSubstr("bad ?[31m"));
  EXPECT_LT(error.message.size(), 600);
}

// A server keeps partitions of more than 50 GB, unless its configuration says otherwise: old rows would stay.
TEST(ClickHouseConnection, APartitionThatIsTooLargeToBeDroppedNamesTheSetting) {
  const Error error = server_error(
      answer(500, "Code: 359. DB::Exception: Table or Partition in fleet.rows was not dropped."), "dropping");
  EXPECT_EQ(error.code, ErrorCode::kTooLarge);
  EXPECT_THAT(error.hint, HasSubstr("max_partition_size_to_drop"));
}

TEST(ClickHouseConnection, TheCodeIsReadWhereThereIsOne) {
  EXPECT_EQ(code_in("Code: 252. DB::Exception: Too many parts"), 252);
  EXPECT_EQ(code_in("Code: , e"), 0);
  EXPECT_EQ(code_in("Code: "), 0);
  EXPECT_EQ(code_in(""), 0);
  EXPECT_EQ(code_in("Code: 99999999999999999999"), 0);
}

// A server that sends bytes of its own choice, and then closes.
class RawServer {
 public:
  explicit RawServer(std::string bytes)
      : socket_(*http::listen_on("127.0.0.1:0", false)), thread_([this, bytes] { serve(bytes); }) {}
  RawServer(const RawServer&) = delete;
  RawServer& operator=(const RawServer&) = delete;
  ~RawServer() {
    is_stopping_ = true;
    thread_.join();
  }

  std::string url() const { return "http://" + socket_.address; }
  int requests() const { return requests_; }

 private:
  void serve(const std::string& bytes) {
    while (!is_stopping_) {
      pollfd polled{socket_.fd.get(), POLLIN, 0};
      if (::poll(&polled, 1, 10) != 1) {
        continue;
      }
      const UniqueFd client(::accept(socket_.fd.get(), nullptr, nullptr));
      std::array<char, 4096> buffer{};
      if (::recv(client.get(), buffer.data(), buffer.size(), 0) > 0) {
        ++requests_;
        ::send(client.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      }
    }
  }

  http::ListeningSocket socket_;
  std::atomic<bool> is_stopping_ = false;
  std::atomic<int> requests_ = 0;
  std::thread thread_;
};

TEST(ClickHouseConnection, AnAnswerThatIsCutOffIsNoAnswer) {
  for (const std::string answer : {"", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345",
                                   "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n"}) {
    SCOPED_TRACE(answer);
    const RawServer server(answer);
    Connection connection({.base_url = server.url(), .max_attempts = 2, .first_pause_ns = 1000});
    const auto got = connection.query("SELECT 1");
    ASSERT_FALSE(got) << *got;
    EXPECT_EQ(got.error().code, ErrorCode::kUnavailable) << got.error().text();
    EXPECT_GE(server.requests(), 2);
  }
}

// Answers the first request, and closes the connection of the second one unanswered, though it has taken it.
class ForgetfulServer {
 public:
  ForgetfulServer() : socket_(*http::listen_on("127.0.0.1:0", false)), thread_([this] { serve(); }) {}
  ForgetfulServer(const ForgetfulServer&) = delete;
  ForgetfulServer& operator=(const ForgetfulServer&) = delete;
  ~ForgetfulServer() {
    is_stopping_ = true;
    thread_.join();
  }

  std::string url() const { return "http://" + socket_.address; }
  int requests() const { return requests_; }

 private:
  void serve() {
    while (!is_stopping_) {
      pollfd polled{socket_.fd.get(), POLLIN, 0};
      if (::poll(&polled, 1, 10) == 1) {
        const UniqueFd client(::accept(socket_.fd.get(), nullptr, nullptr));
        serve_connection(client.get());
      }
    }
  }

  void serve_connection(int client) {
    constexpr std::string_view kAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    std::array<char, 4096> buffer{};
    while (::recv(client, buffer.data(), buffer.size(), 0) > 0 && ++requests_ == 1) {
      ::send(client, kAnswer.data(), kAnswer.size(), MSG_NOSIGNAL);
    }
  }

  http::ListeningSocket socket_;
  std::atomic<bool> is_stopping_ = false;
  std::atomic<int> requests_ = 0;
  std::thread thread_;
};

// libcurl would repeat it on a connection that it had used before.
TEST(ClickHouseConnection, AnInsertIsNotSentTwiceWhereItsConnectionDies) {
  const ForgetfulServer server;
  Connection connection({.base_url = server.url()});
  ASSERT_TRUE(connection.insert("rows", "a", "1"));
  const Status failed = connection.insert("rows", "a", "2");
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(server.requests(), 2);
}

TEST(ClickHouseConnection, AServerThatIsNotThereIsUnavailable) {
  std::string url;
  {
    const RawServer gone("");
    url = gone.url();
  }
  Connection connection({.base_url = url, .max_attempts = 2, .first_pause_ns = 1000});
  const auto got = connection.query("SELECT 1");
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, ErrorCode::kUnavailable);
}

// It accepts, and says nothing.
TEST(ClickHouseConnection, ASilentServerTimesOut) {
  const auto socket = http::listen_on("127.0.0.1:0", false);
  ASSERT_TRUE(socket);
  Connection connection({.base_url = "http://" + socket->address, .timeout_ms = 50, .max_attempts = 1});
  const auto got = connection.query("SELECT 1");
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, ErrorCode::kUnavailable);
}

// It accepts, and takes nothing more than its kernel does, as if the network had gone. Without its limit this would take an hour.
TEST(ClickHouseConnection, AServerThatTakesNothingIsGivenUp) {
  const auto socket = http::listen_on("127.0.0.1:0", false);
  ASSERT_TRUE(socket);
  Connection connection(
      {.base_url = "http://" + socket->address, .timeout_ms = 3'600'000, .silence_timeout_ms = 300});
  const Status sent = connection.insert("rows", "a", std::string(32U << 20U, 'x'));
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code, ErrorCode::kUnavailable) << sent.error().text();
}

TEST(ClickHouseConnection, AQuestionThatIsStoppedEndsBesideASilentServer) {
  const auto socket = http::listen_on("127.0.0.1:0", false);
  ASSERT_TRUE(socket);
  Connection connection({.base_url = "http://" + socket->address});
  int asked = 0;
  // The first call is that before the request.
  const StopCheck check = [&] {
    return ++asked > 1 ? fail(ErrorCode::kTooLarge, "the statement took too long") : Status();
  };
  const StopScope scope(check);
  const auto got = connection.query("SELECT 1");
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().message, "the statement took too long");
  EXPECT_EQ(got.error().code, ErrorCode::kTooLarge);
}

TEST(ClickHouseConnectionPool, ThreadsAskAtTheSameTime) {
  FakeServer server({answer(200, "x")});
  ConnectionPool pool(server.connection().options());
  std::vector<std::thread> threads;
  std::atomic<int> answers = 0;
  threads.reserve(4);
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int question = 0; question < 20; ++question) {
        answers += pool.query("SELECT 1") ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(answers, 80);
}

}  // namespace
}  // namespace plimsoll::store::clickhouse
