// How much becomes rows in a pass.
#include <gtest/gtest.h>

#include <cstdint>
#include <stop_token>

#include "proto/profile_codec.h"
#include "server/background/background_work.h"
#include "server/passes.h"
#include "store/door/sink.h"
#include "store/ingest.h"
#include "tests/profile_fixture.h"
#include "tests/temporary_directory.h"

namespace plimsoll::testing {
namespace {

// Between passes the task gathers what comes, for seconds: a batch for each pass would be all that a fleet can send.
TEST(RowsPass, BuildsOneFullBatchAfterTheOther) {
  const TemporaryDirectory folder;
  const auto ingest = store::Ingest::open(folder / "data");
  ASSERT_TRUE(ingest) << ingest.error().text();
  constexpr int64_t kProfiles = 2 * int64_t{store::Sink::kBatchProfiles} + 3;
  for (int64_t seed = 1; seed <= kProfiles; ++seed) {
    const auto profile = wire::encode(make_profile({.seed = static_cast<uint64_t>(seed)}));
    ASSERT_TRUE((*ingest)->accept(as_bytes(profile), {}));
  }
  server::BackgroundWork work;
  auto pass = server::rows_pass(**ingest, work);
  const auto first = pass(std::stop_token());
  ASSERT_TRUE(first) << first.error().text();
  EXPECT_EQ((*ingest)->built_up_to(), kProfiles);
  const auto idle = pass(std::stop_token());
  ASSERT_TRUE(idle) << idle.error().text();
  EXPECT_FALSE(idle->after.has_value());
}

}  // namespace
}  // namespace plimsoll::testing
