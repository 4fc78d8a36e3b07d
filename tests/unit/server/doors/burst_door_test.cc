#include "server/doors/burst_door.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "base/hex.h"
#include "proto/fleet.pb.h"
#include "tests/bursts/burst_recordings.h"
#include "tests/conformance/memory_bursts.h"

namespace plimsoll::testing {
namespace {

using ::testing::HasSubstr;

// Fails where it is told to.
class BurstSinkThatMayFail : public MemoryBursts {
 public:
  BurstSinkThatMayFail() : MemoryBursts([] { return int64_t{5}; }) {}
  Result<bool> add(std::string_view id, const store::StoredBursts& summary, Bytes encoded) override {
    return is_failing ? Result<bool>(fail(ErrorCode::kIo, "the disk is on fire"))
                      : MemoryBursts::add(id, summary, encoded);
  }
  bool is_failing = false;
};

class BurstDoorTest : public ::testing::Test {
 protected:
  http::Response put(const std::string& id, const std::string& body) {
    if (routes_.empty()) {
      routes_ = server::fleet_burst_routes(sink_, options_);
    }
    const http::Route& route = routes_.front();
    EXPECT_EQ(route.method, "PUT");
    EXPECT_EQ(route.right, http::Right::kUpload);
    EXPECT_TRUE(route.is_prefix);
    http::Request request;
    request.path = route.path + id;
    request.body = body;
    request.caller = caller_;
    return route.handle(request);
  }

  BurstSinkThatMayFail sink_;
  server::BurstDoorOptions options_;
  http::Caller caller_;
  const std::string id_ = std::string(32, 'a');

 private:
  std::vector<http::Route> routes_;
};

TEST_F(BurstDoorTest, KeepsARecordingOnce) {
  const std::string body = encode_bursts(burst_recording("m1"));
  for (const bool is_known : {false, true}) {
    const http::Response answer = put(id_, body);
    ASSERT_EQ(answer.status, 200) << answer.body;
    wire::UploadReply reply;
    ASSERT_TRUE(reply.ParseFromString(answer.body));
    EXPECT_EQ(reply.already_known(), is_known);
  }
  ASSERT_EQ(sink_.list({})->size(), 1);
  const store::StoredBursts kept = sink_.list({})->front();
  EXPECT_EQ(kept.machine, "m1");
  EXPECT_EQ(kept.bursts, 2);
  EXPECT_EQ(kept.events, 20);
  EXPECT_EQ(kept.begin_ns, int64_t{32'512} * 1'000'000);
  EXPECT_EQ(kept.end_ns, int64_t{65'536} * 1'000'000);
  EXPECT_EQ(*sink_.read(*from_hex(id_)), body);
  const http::Response other = put(id_, encode_bursts(burst_recording("m2")));
  EXPECT_EQ(other.status, 409) << other.body;
}

TEST_F(BurstDoorTest, RefusesWhatIsNoSoundRecording) {
  EXPECT_EQ(put("abc", encode_bursts(burst_recording("m1"))).status, 400);
  EXPECT_EQ(put(id_, "").status, 400);
  EXPECT_EQ(put(id_, "PLIMBRST").status, 400);
  traces::BurstRecording empty = burst_recording("m1");
  empty.bursts.clear();
  EXPECT_THAT(put(id_, encode_bursts(empty)).body, HasSubstr("no bursts"));
  EXPECT_EQ(sink_.size(), 0);
}

// Whatever is changed: the checksum tells. What its sender has changed with the checksum is refused by the reader, or is a recording.
TEST_F(BurstDoorTest, KeepsNothingThatWasDamaged) {
  const std::string sound = encode_bursts(burst_recording("m1", 1, 300));
  std::mt19937_64 random(5);
  for (int i = 0; i < 2000; ++i) {
    std::string damaged = sound;
    const size_t at = random() % damaged.size();
    if (random() % 4 == 0) {
      damaged.resize(at);
    } else {
      damaged[at] = static_cast<char>(damaged[at] ^ static_cast<char>(1U << random() % 8));
    }
    const unsigned status = put(id_, damaged).status;
    // Four bytes of the header are reserved.
    EXPECT_TRUE(status == 400 || status == 415 || (at >= 12 && at < 16)) << at << " " << status;
  }
}

TEST_F(BurstDoorTest, AMachineSendsItsOwnRecordingsAlone) {
  caller_ = {.role = http::Role::kMachine, .name = "m1"};
  EXPECT_EQ(put(id_, encode_bursts(burst_recording("m2"))).status, 403);
  EXPECT_EQ(put(id_, encode_bursts(burst_recording("m1"))).status, 200);
}

TEST_F(BurstDoorTest, ARecordingOfADrawIsWhatWasDrawn) {
  options_.check_draw = [](const traces::BurstRecording& recording) -> Status {
    return recording.draw == "d1" && recording.machine == "m1" ? Status()
                                                               : fail(ErrorCode::kInvalid, "not drawn");
  };
  traces::BurstRecording recording = burst_recording("m1");
  recording.draw = "d2";
  EXPECT_EQ(put(id_, encode_bursts(recording)).status, 400);
  recording.draw = "d1";
  EXPECT_EQ(put(id_, encode_bursts(recording)).status, 200);
  EXPECT_EQ(sink_.list({.draw = "d1"})->size(), 1);
  EXPECT_EQ(sink_.list({.draw = "d2"})->size(), 0);
  EXPECT_EQ(put(std::string(32, 'b'), encode_bursts(burst_recording("m2"))).status, 200) << "of no draw";
}

TEST_F(BurstDoorTest, SaysWhatIsTooLarge) {
  options_.limits.max_events = 19;
  const http::Response answer = put(id_, encode_bursts(burst_recording("m1")));
  EXPECT_TRUE(answer.status == 400 || answer.status == 413) << answer.status;
  EXPECT_THAT(answer.body, HasSubstr("over 19 events"));
}

TEST_F(BurstDoorTest, AsksToTryAgainWhereTheDiskHasNoRoomOrFails) {
  const std::string body = encode_bursts(burst_recording("m1"));
  sink_.is_failing = true;
  const http::Response failed = put(id_, body);
  EXPECT_EQ(failed.status, 503);
  EXPECT_THAT(failed.body, Not(HasSubstr("on fire")));
  sink_.is_failing = false;
  EXPECT_EQ(put(id_, body).status, 200);
}

TEST_F(BurstDoorTest, TakesNothingBelowTheMinimumOfFreeSpace) {
  options_.check_room = [] { return fail(ErrorCode::kUnavailable, "the disk is nearly full"); };
  EXPECT_EQ(put(id_, encode_bursts(burst_recording("m1"))).status, 503);
  EXPECT_EQ(sink_.size(), 0);
}

}  // namespace
}  // namespace plimsoll::testing
