// Questions to a source whose server is silent.
#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <memory>
#include <thread>

#include "base/stop_scope.h"
#include "http/address.h"
#include "store/clickhouse/clickhouse_source.h"

namespace plimsoll::store::clickhouse {
namespace {

TEST(ClickHouseSource, AQuestionEndsInItsTimeWhileAnotherOneWaitsForTheServer) {
  constexpr int64_t kHourMs = 3'600'000;
  const auto socket = http::listen_on("127.0.0.1:0", false);
  ASSERT_TRUE(socket) << socket.error().text();
  ClickHouseSource source(std::make_shared<ConnectionPool>(
      ConnectionOptions{.base_url = "http://" + socket->address, .timeout_ms = kHourMs}));
  std::atomic<bool> is_over = false;
  std::thread waiting([&] {
    const StopCheck check = [&]() -> Status {
      return is_over ? fail(ErrorCode::kUnavailable, "the client has gone") : Status();
    };
    const StopScope scope(check);
    const auto got = source.newest(all_times());
    EXPECT_FALSE(got);
  });
  // Its connection is there, and so it waits for the answer.
  pollfd polled{socket->fd.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&polled, 1, 60'000), 1);
  {
    const StopCheck check = []() -> Status { return fail(ErrorCode::kTooLarge, "the query took too long"); };
    const StopScope scope(check);
    const auto got = source.newest(all_times());
    EXPECT_FALSE(got);
    EXPECT_EQ(got ? "" : got.error().message, "the query took too long");
  }
  // What a cache asks between two questions does not wait either.
  EXPECT_TRUE(source.lineages().empty());
  is_over = true;
  waiting.join();
}

}  // namespace
}  // namespace plimsoll::store::clickhouse
