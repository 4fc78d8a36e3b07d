// A server that waits for the data directory of another one, and one whose directory another server has taken over.
#include "server/standby.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "http/client.h"
#include "server/server.h"
#include "store/directory/data_directory.h"
#include "store/draws/draw_store.h"
#include "tests/eventually.h"
#include "tests/temporary_directory.h"

namespace plimsoll::server::standby_test {
namespace {

using plimsoll::testing::eventually;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class StandbyTest : public ::testing::Test {
 protected:
  StandbyTest() {
    config_.data_dir = folder_ / "data";
    config_.listen = config_.fleet_listen = "127.0.0.1:0";
    // Whatever is free where the test runs.
    config_.retention_min_free_bytes = 1;
  }

  std::unique_ptr<Standby> start() const {
    auto started = Standby::start(config_);
    EXPECT_TRUE(started) << started.error().text();
    return std::move(*started);
  }

  // "200 ok\n".
  static std::string get(const Standby& standby, const std::string& path) {
    http::Client client({.base_url = standby.address()});
    const auto got = client.send("GET", path);
    EXPECT_TRUE(got) << got.error().text();
    return got ? fmt::format("{} {}", got->status, got->body) : std::string();
  }

  plimsoll::testing::TemporaryDirectory folder_;
  config::ServerConfig config_;
};

TEST_F(StandbyTest, SaysWhichProcessWritesTheDirectoryUntilNoneDoes) {
  std::optional<store::DataDirectory> held(*store::DataDirectory::open_for_writing(config_.data_dir));
  const auto standby = start();
  EXPECT_THAT(get(*standby, "/readyz"), HasSubstr("has not been looked at yet"));
  EXPECT_FALSE(standby->may_take_over());
  EXPECT_EQ(get(*standby, "/healthz"), "200 ok\n");
  EXPECT_THAT(get(*standby, "/readyz"),
              AllOf(HasSubstr("503 "),
                    HasSubstr(fmt::format("standby: {} is being written by process {}", config_.data_dir,
                                          ::getpid())),
                    HasSubstr("this server takes over when that process ends")));
  EXPECT_FALSE(standby->may_take_over());
  EXPECT_THAT(get(*standby, "/metrics"),
              AllOf(HasSubstr("plimsoll_standby 1\n"), HasSubstr("plimsoll_standby_looks_total 2\n")));
  EXPECT_THAT(get(*standby, "/api/v1/machines"),
              AllOf(HasSubstr("404 "), HasSubstr("this server is a standby")));
  held.reset();
  EXPECT_TRUE(standby->may_take_over());
  EXPECT_THAT(get(*standby, "/readyz"), AllOf(HasSubstr("503 "), HasSubstr("standby: taking over")));
  EXPECT_TRUE(Standby::may_start(config_));
}

// As where the disk that has it is mounted on the primary alone.
TEST_F(StandbyTest, ADirectoryThatIsNotThereIsNeitherTakenNorMade) {
  const auto standby = start();
  EXPECT_FALSE(standby->may_take_over());
  EXPECT_FALSE(std::filesystem::exists(config_.data_dir));
  std::filesystem::create_directory(config_.data_dir);
  EXPECT_FALSE(standby->may_take_over());
  EXPECT_TRUE(std::filesystem::is_empty(config_.data_dir));
  EXPECT_THAT(get(*standby, "/readyz"),
              AllOf(HasSubstr("503 "), HasSubstr("is not a Plimsoll data directory"),
                    HasSubstr("mount the disk"), Not(HasSubstr("is being written"))));
  ASSERT_TRUE(store::DataDirectory::open_for_writing(config_.data_dir));
  EXPECT_TRUE(standby->may_take_over());
}

TEST_F(StandbyTest, ListensWhereItsPrimaryMay) {
  config_.listen = "0.0.0.0:0";
  const auto refused = Standby::start(config_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kDenied);
  config_.access_allow_unauthenticated = true;
  EXPECT_TRUE(Standby::start(config_));
  config_.data_dir = "";
  EXPECT_EQ(Standby::start(config_).error().field, "--data");
}

TEST_F(StandbyTest, AServerIsToldThatAnotherOneHasTakenOverItsDirectory) {
  std::atomic<int> told = 0;
  auto started = Server::start(config_, {{"/bin/true"}}, {}, [&] { ++told; });
  ASSERT_TRUE(started) << started.error().text();
  const std::unique_ptr<Server> server = std::move(*started);
  EXPECT_FALSE(server->taken_over());
  // As a server does that opens the directory where the file system has lost the lock.
  const store::DrawWriter other{.id = 1, .process = 4711, .host = "db2", .since_ns = 0};
  ASSERT_TRUE(store::DrawStore::open_for(config_.data_dir + "/draws.db", other));
  ASSERT_TRUE(eventually([&] { return told == 1; }));
  const auto taken_over = server->taken_over();
  ASSERT_TRUE(taken_over);
  EXPECT_EQ(taken_over->code, ErrorCode::kConflict);
  EXPECT_THAT(taken_over->text(),
              AllOf(HasSubstr("another server has taken over"), HasSubstr("process 4711 on db2")));
}

}  // namespace
}  // namespace plimsoll::server::standby_test
