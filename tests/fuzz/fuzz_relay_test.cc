// Damaged batches of ingest servers, and damaged answers to them.
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "http/exchange.h"
#include "proto/fleet_messages.h"
#include "server/relay/relay_codec.h"
#include "server/relay/relay_door.h"
#include "server/relay/relay_limits.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/seed.h"

namespace plimsoll::server {
namespace {

constexpr int kMutations = 10'000;

std::string sample_batch() {
  wire::RelayRequest batch;
  batch.set_format_version(wire::kFormatVersion);
  for (int i = 0; i < 4; ++i) {
    wire::Relayed& entry = *batch.add_entries();
    entry.mutable_credentials()->set_token("plm_0123456789abcdef");
    entry.mutable_credentials()->set_enrolment("plm_fedcba9876543210");
    entry.mutable_credentials()->set_certified_name("m1");
    entry.mutable_credentials()->set_peer("10.0.0.7:40312");
    switch (i) {
      case 0:
        entry.set_registration("registration");
        break;
      case 1:
        entry.set_heartbeat("heartbeat");
        break;
      case 2:
        entry.mutable_profile()->set_id("00112233445566778899aabbccddeeff");
        entry.mutable_profile()->set_content("profile");
        break;
      default:
        entry.mutable_recording()->set_id("00112233445566778899aabbccddeeff");
        entry.mutable_recording()->set_content("recording");
    }
  }
  return batch.SerializeAsString();
}

// Permits all, as a server without authentication.
class Counting : public http::AccessControl {
 public:
  std::optional<http::Response> admit(http::Request& request, const http::Route& /*route*/) override {
    EXPECT_LE(request.peer.size(), 3 * 64) << "printable, and cut";
    return std::nullopt;
  }
  void answered(const http::Request& /*request*/, const http::Route* /*route*/,
                unsigned /*status*/) override {
    ++answered_;
  }
  int answers() const { return answered_; }

 private:
  std::atomic<int> answered_ = 0;
};

TEST(FuzzRelay, DamagedBatchesAreRefusedOrAnsweredOneByOne) {
  std::vector<http::Route> direct;
  for (const std::string_view path :
       {wire::kRegisterPath, wire::kHeartbeatPath, wire::kProfilesPath, wire::kBurstsPath}) {
    http::Route route;
    route.method = path.ends_with('/') ? "PUT" : "POST";
    route.path = path;
    route.is_prefix = path.ends_with('/');
    route.max_body_bytes = 8;  // some bodies of the sample are larger
    route.handle = [](const http::Request& request) { return http::Response{.body = request.body}; };
    direct.push_back(std::move(route));
  }
  Counting access_control;
  const auto doors = *relay_routes(direct, {.access_control = &access_control, .takes_certificates = true});
  const std::string batch = sample_batch();
  std::mt19937_64 random(fuzz::seed(1));
  int taken = 0;
  for (int i = 0; i < kMutations; ++i) {
    http::Request request{.method = "POST", .path = "/"};
    request.body = fuzz::mutated(batch, random);
    const auto decoded = decode_relay_request(as_bytes(request.body));
    const http::Response response = http::answer_of(doors[random() % doors.size()], request);
    EXPECT_EQ(response.ok(), decoded.has_value()) << "mutation " << i;
    if (!decoded) {
      EXPECT_FALSE(decoded.error().message.empty());
      EXPECT_TRUE(response.status == 400 || response.status == 413 || response.status == 415)
          << response.status;
      continue;
    }
    ++taken;
    EXPECT_TRUE(decode_relay_reply(response.body, static_cast<size_t>(decoded->entries_size())))
        << "mutation " << i;
  }
  EXPECT_GT(taken, kMutations / 100);
  EXPECT_LT(taken, kMutations);
  EXPECT_GT(access_control.answers(), 0);
}

TEST(FuzzRelay, DamagedAnswersAreRefusedOrHaveAStatusForEachRequest) {
  wire::RelayReply reply;
  reply.set_format_version(wire::kFormatVersion);
  for (const unsigned status : {200U, 403U, 503U}) {
    wire::RelayedReply& one = *reply.add_replies();
    one.set_status(status);
    one.set_body("a reply");
    one.set_retry_after_s(status == 503U ? 5 : 0);
  }
  const std::string encoded = reply.SerializeAsString();
  std::mt19937_64 random(fuzz::seed(2));
  int taken = 0;
  for (int i = 0; i < kMutations; ++i) {
    auto decoded = decode_relay_reply(fuzz::mutated(encoded, random), 3);
    if (!decoded) {
      EXPECT_FALSE(decoded.error().message.empty());
      continue;
    }
    ++taken;
    ASSERT_EQ(decoded->replies_size(), 3);
    for (int at = 0; at < 3; ++at) {
      const http::Response response = response_of(std::move(*decoded->mutable_replies(at)));
      EXPECT_TRUE(response.status >= 200 && response.status <= 599) << response.status;
    }
  }
  EXPECT_GT(taken, kMutations / 100);
  EXPECT_LT(taken, kMutations);
}

}  // namespace
}  // namespace plimsoll::server
