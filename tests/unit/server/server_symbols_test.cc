// The process that reads symbols, as the server starts and ends it. A shell stands for it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>
#include <fstream>
#include <string>

#include "base/file.h"
#include "base/hex.h"
#include "base/time.h"
#include "http/client.h"
#include "proto/symbol_table.pb.h"
#include "server/server.h"
#include "tests/eventually.h"
#include "tests/unit/symbolizer/binding_fixture.h"
#include "tests/unit/symbolizer/repository/sample_binary.h"

namespace plimsoll::symbolizer {
namespace {

class ServerSymbols : public BindingTest {
 protected:
  ServerSymbols() {
    auto profile = plimsoll::testing::make_profile({.stacks = "main 1\n"});
    plimsoll::testing::add_sample(profile, binary("build", "/nowhere/app"), wire::ELF, 0x1000, 1);
    ingest(profile);
    ingest_.reset();  // the server's from now on
    EXPECT_EQ(::mkfifo((folder_ / "started").c_str(), 0600), 0);
    EXPECT_EQ(::mkfifo((folder_ / "done").c_str(), 0600), 0);
    config_.data_dir = folder_ / "data";
    config_.retention_max_upload_age_ns = INT64_MAX;  // profiles of tests are of 2023
    config_.listen = config_.fleet_listen = "127.0.0.1:0";
  }

  // Its table worker tells its process number, and does that.
  std::unique_ptr<server::Server> start(const std::string& script) const {
    auto started = server::Server::start(
        config_,
        {{"/bin/sh", "-c", fmt::format("cd '{}' && echo $$ > started && {}", folder_.path(), script)}});
    EXPECT_TRUE(started) << started.error().text();
    return std::move(*started);
  }

  // Waits until a worker writes its process number into the pipe: "started", or "done".
  int worker(const char* pipe) const {
    int number = -1;
    std::ifstream(folder_ / pipe) >> number;
    return number;
  }

  int64_t number(const char* query) const {
    auto catalogue = *store::Catalogue::open(catalogue_path_, sqlite::OpenMode::kRead);
    return *catalogue.database().integer(query, -1);
  }

  config::ServerConfig config_;
};

TEST_F(ServerSymbols, AServerThatStopsEndsWhatReadsSymbols) {
  const auto server = start("exec sleep 1000");
  const int running = worker("started");
  EXPECT_EQ(::kill(running, 0), 0);
  server->stop();
  EXPECT_EQ(::kill(running, 0), -1);
  // So that it is looked up after the next start.
  EXPECT_EQ(number("SELECT count(*) FROM location WHERE id NOT IN (SELECT location FROM binding)"), 1);
  EXPECT_EQ(number("SELECT count(*) FROM binary WHERE reasons != '' OR looked_at != ''"), 0);
}

TEST_F(ServerSymbols, RowsBecomeVisibleWhileSymbolsAreRead) {
  const auto server = start("exec sleep 1000");
  const int running = worker("started");
  const auto profile = plimsoll::testing::make_profile({.seed = 2});
  http::Client daemon({.base_url = server->fleet_address()});
  const auto sent =
      daemon.send("PUT", "/fleet/v1/profiles/" + to_hex(profile.profile_id()), wire::encode(profile));
  ASSERT_TRUE(sent) << sent.error().text();
  ASSERT_TRUE(sent->ok()) << sent->body;
  EXPECT_TRUE(plimsoll::testing::eventually([&] { return number("SELECT count(*) FROM origin") == 2; }));
  EXPECT_EQ(::kill(running, 0), 0);
}

TEST_F(ServerSymbols, AFileThatArrivesIsSearchedForAtOnce) {
  config_.symbol_retry_ns = 24 * kNsPerHour;
  const auto server = start("cat > /dev/null && echo $$ > done");
  // One for all there is; since it gives no reply, one by our own reader alone, and one for symbols alone.
  const auto wait_for_search = [this] {
    for (int attempt = 0; attempt < 3; ++attempt) {
      EXPECT_GT(worker("started"), 0);
      EXPECT_GT(worker("done"), 0);
    }
  };
  wait_for_search();
  http::Client client({.base_url = server->address()});
  const auto added =
      client.send("PUT", "/api/v1/binaries/", image_of({.build_id = "build", .kind = BinaryKind::kDebug}),
                  "application/octet-stream");
  ASSERT_TRUE(added) << added.error().text();
  ASSERT_EQ(added->status, 201) << added->body;
  wait_for_search();
}

TEST_F(ServerSymbols, TheConfigurationSaysWhatItMayAllocate) {
  config_.symbol_max_memory_bytes = int64_t{48} << 20;
  const auto server = start("cat > request && echo $$ > done");
  worker("started");
  worker("done");
  const auto sent = read_file(folder_ / "request", 1 << 20);
  ASSERT_TRUE(sent) << sent.error().text();
  wire::TableRequest request;
  ASSERT_TRUE(request.ParseFromString(*sent));
  EXPECT_EQ(request.memory_bytes(), uint64_t{48} << 20);
}

}  // namespace
}  // namespace plimsoll::symbolizer
