// Recordings of bursts at a server: sent to both listeners, listed, and given back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/time.h"
#include "http/client.h"
#include "server/server.h"
#include "tests/bursts/burst_recordings.h"
#include "tests/temporary_directory.h"

namespace plimsoll::testing {
namespace {

class ServerBursts : public ::testing::Test {
 protected:
  ServerBursts() {
    config_.data_dir = folder_ / "data";
    config_.listen = config_.fleet_listen = "127.0.0.1:0";
    // Whatever is free where the test runs.
    config_.retention_min_free_bytes = 1;
  }

  std::unique_ptr<server::Server> start() const {
    auto started = server::Server::start(config_, {{"/bin/true"}});
    EXPECT_TRUE(started) << started.error().text();
    return std::move(*started);
  }

  static unsigned put(const std::string& address, const std::string& path, const std::string& body) {
    http::Client client({.base_url = address});
    const auto sent = client.send("PUT", path, body, "application/octet-stream");
    EXPECT_TRUE(sent) << sent.error().text();
    return sent ? sent->status : 0;
  }

  static http::Response get(server::Server& server, const std::string& path) {
    http::Client client({.base_url = server.address()});
    const auto got = client.send("GET", path, "", "");
    EXPECT_TRUE(got) << got.error().text();
    return got ? *got : http::Response{.status = 0};
  }

  TemporaryDirectory folder_;
  config::ServerConfig config_;
};

TEST_F(ServerBursts, AreListedAndGivenBackAlsoAfterARestart) {
  const std::string first = encode_bursts(burst_recording("m1", 1));
  const std::string second = encode_bursts(burst_recording("m2", 100));
  const std::string of_first(32, 'a');
  const std::string of_second(32, 'b');
  {
    const auto server = start();
    EXPECT_EQ(put(server->fleet_address(), "/fleet/v1/bursts/" + of_first, first), 200);
    EXPECT_EQ(put(server->address(), "/api/v1/bursts/recordings/" + of_second, second), 200);
    EXPECT_EQ(put(server->address(), "/api/v1/bursts/recordings/" + of_first, second), 409);
  }
  const auto server = start();
  const auto listed = nlohmann::json::parse(get(*server, "/api/v1/bursts").body);
  ASSERT_EQ(listed["rows"].size(), 2) << listed;
  EXPECT_EQ(listed["rows"][0]["machine"], "m2");
  EXPECT_EQ(listed["rows"][0]["config"], "7,8");
  EXPECT_EQ(listed["rows"][0]["bursts"], 2);
  EXPECT_EQ(listed["rows"][1]["id"], of_first);
  const auto of_one = nlohmann::json::parse(get(*server, "/api/v1/bursts?machine=m1").body);
  EXPECT_EQ(of_one["rows"].size(), 1) << of_one;
  EXPECT_EQ(get(*server, "/api/v1/bursts/recordings/" + of_second).body, second);
  EXPECT_EQ(get(*server, "/api/v1/bursts/recordings/" + std::string(32, 'c')).status, 404);
  EXPECT_EQ(get(*server, "/api/v1/bursts/recordings/x").status, 400);
}

// By whichever address it comes: a recording says of itself which draw assigned it.
TEST_F(ServerBursts, OfDrawsThatAssignedNoneAreRefusedAtBothAddresses) {
  config_.draw_interval_ns = kNsPerHour;
  traces::BurstRecording drawn = burst_recording("m1");
  drawn.draw = "no draw of this server";
  const std::string id(32, 'a');
  const auto server = start();
  EXPECT_EQ(put(server->fleet_address(), "/fleet/v1/bursts/" + id, encode_bursts(drawn)), 400);
  EXPECT_EQ(put(server->address(), "/api/v1/bursts/recordings/" + id, encode_bursts(drawn)), 400);
  EXPECT_EQ(get(*server, "/api/v1/bursts/recordings/" + id).status, 404);
  const std::string of_no_draw = encode_bursts(burst_recording("m1"));
  EXPECT_EQ(put(server->address(), "/api/v1/bursts/recordings/" + id, of_no_draw), 200);
}

}  // namespace
}  // namespace plimsoll::testing
