// Both sides of a relay together, without a network: what a daemon gets through an ingest server is what it gets directly.
#include "server/relay/relay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <latch>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "http/exchange.h"
#include "http/token.h"
#include "proto/fleet.pb.h"
#include "proto/fleet_messages.h"
#include "server/relay/relay_codec.h"
#include "server/relay/relay_door.h"
#include "server/relay/relay_limits.h"
#include "tests/profile_fixture.h"

namespace plimsoll::server {
namespace {

using plimsoll::testing::make_profile;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Machines have the tokens "token-of-ID" and certificates; keeps what came of requests.
class KnownMachines : public http::AccessControl {
 public:
  std::optional<http::Response> admit(http::Request& request, const http::Route& /*route*/) override {
    EXPECT_TRUE(request.body.empty()) << "access is decided by the head";
    const std::string token(http::bearer_token(request).value_or(""));
    const std::string prefix = "token-of-";
    if (!request.certified_name.empty()) {
      request.caller = {.role = http::Role::kMachine, .name = request.certified_name, .by_certificate = true};
    } else if (token.starts_with(prefix)) {
      request.caller = {http::Role::kMachine, token.substr(prefix.size())};
    } else {
      http::Response refusal = http::error_response(
          Error{ErrorCode::kDenied,
                "unknown, with enrolment " + std::string(request.header(http::kEnrolmentHeader)),
                {},
                {}});
      refusal.status = 401;
      refusal.headers.emplace_back("WWW-Authenticate", "Bearer");
      return refusal;
    }
    if (request.caller.name == "hasty") {
      http::Response refusal = http::unavailable("it asks too often", 7);
      refusal.status = 429;
      return refusal;
    }
    return std::nullopt;
  }
  void answered(const http::Request& request, const http::Route* route, unsigned status) override {
    const std::lock_guard lock(mutex_);
    seen_.push_back(fmt::format("{} {} {} {} {}", http::text_of(request.caller), request.method,
                                route == nullptr ? "nowhere" : route->path, status, request.peer));
  }
  std::vector<std::string> take_seen() {
    const std::lock_guard lock(mutex_);
    return std::exchange(seen_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> seen_;  // guarded by mutex_
};

http::Response message_response(const google::protobuf::MessageLite& message) {
  return {.content_type = std::string(wire::kProtobufType), .body = message.SerializeAsString()};
}

http::Route direct_route(std::string method, std::string_view path, size_t max_body_bytes,
                         std::function<http::Response(const http::Request&)> handle) {
  return {.method = std::move(method),
          .path = std::string(path),
          .is_prefix = path.ends_with('/'),
          .max_body_bytes = max_body_bytes,
          .handle = std::move(handle)};
}

// What the primary's own routes do in these tests.
std::vector<http::Route> direct_routes() {
  const auto heartbeat = [](const http::Request& request) {
    const auto message = wire::parse_message<wire::HeartbeatRequest>(request.body);
    const Status speaks = message ? may_speak_for(request.caller, message->machine_id()) : propagate(message);
    if (!speaks) {
      return http::error_response(speaks.error());
    }
    wire::HeartbeatReply reply;
    reply.set_server_time_ns(static_cast<int64_t>(request.body.size()));
    return message_response(reply);
  };
  const auto upload = [](const http::Request& request) {
    if (request.path.find("full") != std::string::npos) {
      return http::error_response(Error{ErrorCode::kUnavailable, "the disk is full", {}, {}});
    }
    wire::UploadReply reply;
    reply.set_format_version(static_cast<uint32_t>(request.body.size()));
    return message_response(reply);
  };
  const auto out_of_order = [](const http::Request&) -> http::Response {
    throw std::runtime_error("out of order");
  };
  return {direct_route("POST", wire::kRegisterPath, 1 << 20, out_of_order),
          direct_route("POST", wire::kHeartbeatPath, 1 << 20, heartbeat),
          direct_route("PUT", wire::kProfilesPath, 64 << 10, upload),
          direct_route("PUT", wire::kBurstsPath, 64 << 10, upload)};
}

http::Response handled(const http::RouteTable& table, const std::string& path, const std::string& body) {
  http::Request request{.method = "POST", .path = path};
  request.body = body;
  return http::answer_of(*table.match("POST", path).route, request);
}

// A request as a listener has it once its body is there.
struct Sent {
  std::string method;
  std::string path;
  std::string body;
  std::string token = {};
  std::string certified_name = {};
  std::string enrolment = {};

  http::Request request() const {
    http::Request request{.method = method, .path = path, .peer = "10.0.0.7:40312"};
    if (!token.empty()) {
      request.headers.emplace_back("Authorization", "Bearer " + token);
    }
    if (!enrolment.empty()) {
      request.headers.emplace_back(http::kEnrolmentHeader, enrolment);
    }
    request.certified_name = certified_name;
    return request;
  }
};

std::string heartbeat_of(const std::string& machine, uint32_t version = wire::kFormatVersion) {
  wire::HeartbeatRequest request;
  request.set_format_version(version);
  request.set_machine_id(machine);
  return request.SerializeAsString();
}

std::string registration_of(const std::string& machine) {
  wire::RegisterRequest request;
  request.set_format_version(wire::kFormatVersion);
  request.mutable_machine()->set_id(machine);
  return request.SerializeAsString();
}

// What the daemon gets in the end.
std::future<http::Response> asked(const http::RouteTable& ingest, const Sent& sent) {
  auto request = std::make_shared<http::Request>(sent.request());
  request->body = sent.body;
  auto answer = std::make_shared<std::promise<http::Response>>();
  std::future<http::Response> response = answer->get_future();
  const http::RouteMatch match = ingest.match(sent.method, sent.path);
  EXPECT_NE(match.route, nullptr) << sent.path;
  match.route->handle_later(*request, http::LaterAnswer([request, answer](http::Response given) {
    answer->set_value(std::move(given));
  }));
  return response;
}

class RelayTest : public ::testing::Test {
 protected:
  // `is_down`: the primary's address refuses connections.
  void start(bool takes_certificates = true, bool is_down = false) {
    relay_.reset();
    primary_ = std::make_unique<http::RouteTable>(
        *http::RouteTable::create(*relay_routes(direct_routes(), {.access_control = &machines_,
                                                                  .takes_certificates = takes_certificates,
                                                                  .max_upload_bytes = 1 << 20})));
    RelaySettings settings;
    settings.max_upload_bytes = 1 << 20;
    settings.connect = [this, is_down]() -> PostBatch {
      return [this, is_down](std::string_view path, const std::string& body) -> Result<http::Response> {
        return is_down ? Result<http::Response>(
                             fail(ErrorCode::kUnavailable, "10.1.2.3:7071: connection refused"))
                       : handled(*primary_, std::string(path), body);
      };
    };
    relay_ = std::make_unique<Relay>(settings);
    ingest_ = std::make_unique<http::RouteTable>(*http::RouteTable::create(relay_->routes()));
  }

  http::Response through_ingest(const Sent& sent) const { return asked(*ingest_, sent).get(); }
  // As a listener of the primary does it.
  http::Response directly(const Sent& sent) {
    http::Request request = sent.request();
    const http::RouteMatch match = direct_.match(sent.method, sent.path);
    auto refused = machines_.admit(request, *match.route);
    if (!refused && sent.body.size() > match.route->max_body_bytes) {
      refused = http::error_response(fail(ErrorCode::kTooLarge, "PUT {} takes a body of at most {} bytes",
                                          match.route->path, match.route->max_body_bytes)
                                         .error());
    }
    request.body = sent.body;
    http::Response response = refused ? *std::move(refused) : http::answer_of(*match.route, request);
    machines_.answered(request, match.route, response.status);
    return response;
  }

  KnownMachines machines_;
  const http::RouteTable direct_ = *http::RouteTable::create(direct_routes());
  std::unique_ptr<http::RouteTable> primary_;
  std::unique_ptr<http::RouteTable> ingest_;
  std::unique_ptr<Relay> relay_;  // the last member: its threads use the others
};

TEST_F(RelayTest, AnswersWhatThePrimaryAnswersDirectly) {
  start();
  const std::string profile = wire::encode(make_profile({.seed = 1}));
  const std::string profile_path = std::string(wire::kProfilesPath) + "00112233445566778899aabbccddeeff";
  const std::string heartbeat_path(wire::kHeartbeatPath);
  const std::vector<Sent> all{
      {"POST", heartbeat_path, heartbeat_of("m1"), "token-of-m1"},
      {"POST", heartbeat_path, heartbeat_of("m1"), "", "m1"},
      {"POST", heartbeat_path, heartbeat_of("m1"), "token-of-m2"},
      {"POST", heartbeat_path, heartbeat_of("m1"), "", "m2"},
      {"POST", heartbeat_path, heartbeat_of("m1")},
      {"POST", heartbeat_path, heartbeat_of("m1"), "\xff\xfe stolen"},
      {"POST", heartbeat_path, heartbeat_of("m1"), "token-of-hasty"},
      {"POST", heartbeat_path, heartbeat_of("m1", wire::kFormatVersion), "a-new-one", "", "permit"},
      {"POST", std::string(wire::kRegisterPath), registration_of("m1"), "token-of-m1"},
      {"PUT", profile_path, profile, "token-of-m1"},
      {"PUT", profile_path, profile, ""},
      {"PUT", std::string(wire::kProfilesPath) + "full", profile, "token-of-m1"},
      {"PUT", std::string(wire::kProfilesPath) + "\xff", profile, "token-of-m1"},
      {"PUT", std::string(wire::kBurstsPath) + "00", "a recording", "token-of-m1"},
      {"PUT", std::string(wire::kBurstsPath) + "00", std::string(100 << 10, 'x'), "token-of-m1"},
  };
  std::set<unsigned> statuses;
  for (const Sent& sent : all) {
    const http::Response expected = directly(sent);
    const auto noted = machines_.take_seen();
    const http::Response response = through_ingest(sent);
    EXPECT_EQ(response.status, expected.status) << sent.path << " " << sent.token;
    EXPECT_EQ(response.body, expected.body) << sent.path;
    EXPECT_EQ(response.content_type, expected.content_type);
    for (const char* header : {"Retry-After", "WWW-Authenticate"}) {
      EXPECT_EQ(response.header(header), expected.header(header)) << header;
    }
    EXPECT_EQ(machines_.take_seen(), noted);
    statuses.insert(response.status);
  }
  EXPECT_THAT(statuses, ElementsAre(200, 401, 403, 413, 429, 500, 503));
}

TEST_F(RelayTest, NamesInCertificatesCountOnlyWhereThePrimaryTakesSome) {
  start(/*takes_certificates=*/false);
  const Sent sent{"POST", std::string(wire::kHeartbeatPath), heartbeat_of("m1"), "", "m1"};
  EXPECT_EQ(through_ingest(sent).status, 401);
}

TEST_F(RelayTest, ChecksWhatNeedsNoStateBeforeItForwards) {
  start();
  const std::string heartbeat_path(wire::kHeartbeatPath);
  const std::string profile_path = std::string(wire::kProfilesPath) + "00112233445566778899aabbccddeeff";
  std::string damaged = wire::encode(make_profile({.seed = 1}));
  damaged.back() = static_cast<char>(~damaged.back());
  EXPECT_EQ(through_ingest({"POST", heartbeat_path, "\xff garbage", "token-of-m1"}).status, 400);
  EXPECT_EQ(through_ingest({"POST", heartbeat_path, heartbeat_of("m1", 77), "token-of-m1"}).status, 415);
  EXPECT_EQ(through_ingest({"POST", std::string(wire::kRegisterPath), "", "token-of-m1"}).status, 415);
  EXPECT_EQ(through_ingest({"PUT", profile_path, damaged, "token-of-m1"}).status, 400);
  EXPECT_THAT(machines_.take_seen(), IsEmpty());
  EXPECT_EQ(relay_->status().requests, 0);
}

TEST_F(RelayTest, DaemonsKeepWhatAPrimaryThatIsDownDoesNotAnswer) {
  start(/*takes_certificates=*/true, /*is_down=*/true);
  const Sent sent{"POST", std::string(wire::kHeartbeatPath), heartbeat_of("m1"), "token-of-m1"};
  const http::Response response = through_ingest(sent);
  EXPECT_EQ(response.status, 503);
  EXPECT_GT(http::retry_after_s(response), 0);
  EXPECT_THAT(response.body, ::testing::Not(HasSubstr("10.1.2.3"))) << "strangers learn no address";
  EXPECT_THAT(relay_->status().newest_error, HasSubstr("10.1.2.3"));
  EXPECT_EQ(relay_->status().failed_requests, 1);
  EXPECT_FALSE(primary_readiness(relay_->status(), 0));
  relay_->stop();
  EXPECT_EQ(through_ingest(sent).status, 503) << "it takes nothing more";
}

TEST(RelayOfProfiles, DelaysNoHeartbeatWhileThePrimaryIsSlow) {
  std::latch goes_on(1);
  RelaySettings settings;
  settings.connect = [&goes_on]() -> PostBatch {
    return [&goes_on](std::string_view path, const std::string& body) -> Result<http::Response> {
      if (path == kRelayProfilesPath) {
        goes_on.wait();
      }
      const auto batch = decode_relay_request(as_bytes(body));
      wire::RelayReply reply;
      reply.set_format_version(wire::kFormatVersion);
      for (int i = 0; batch && i < batch->entries_size(); ++i) {
        reply.add_replies()->set_status(200);
      }
      return message_response(reply);
    };
  };
  Relay relay(settings);
  const http::RouteTable ingest = *http::RouteTable::create(relay.routes());
  const std::string profile = wire::encode(make_profile({.seed = 1}));
  std::vector<std::future<http::Response>> uploads;
  for (int i = 0; i < 20; ++i) {
    uploads.push_back(asked(ingest, {"PUT", std::string(wire::kProfilesPath) + std::to_string(i), profile}));
  }
  EXPECT_EQ(asked(ingest, {"POST", std::string(wire::kHeartbeatPath), heartbeat_of("m1")}).get().status, 200);
  EXPECT_GT(relay.status().held_bytes, 0) << "no profile has its answer";
  goes_on.count_down();
  for (auto& upload : uploads) {
    EXPECT_EQ(upload.get().status, 200);
  }
}

TEST_F(RelayTest, BatchesThatAreWrongAreRefusedAsAWhole) {
  start();
  const std::string path(kRelayMachinesPath);
  wire::RelayRequest batch;
  batch.set_format_version(wire::kFormatVersion);
  EXPECT_EQ(handled(*primary_, path, batch.SerializeAsString()).status, 200)
      << "an empty one asks for an answer";
  EXPECT_EQ(handled(*primary_, path, "\xff garbage").status, 400);
  for (size_t i = 0; i <= kMaxRelayedEntries; ++i) {
    batch.add_entries();
  }
  EXPECT_EQ(handled(*primary_, path, batch.SerializeAsString()).status, 413);
  // An entry of two bytes takes hundreds in memory: the bound holds before they are parsed.
  std::string bomb = wire::RelayRequest(batch).SerializeAsString();
  for (int i = 0; i < 12; ++i) {
    bomb += bomb;
  }
  EXPECT_EQ(handled(*primary_, path, bomb).status, 413);
  batch.Clear();
  batch.set_format_version(77);
  EXPECT_EQ(handled(*primary_, path, batch.SerializeAsString()).status, 415);
  batch.set_format_version(wire::kFormatVersion);
  EXPECT_EQ(handled(*primary_, path, batch.SerializeAsString() + "\x98\x06\x01").status, 415)
      << "of a newer version";
  EXPECT_THAT(machines_.take_seen(), IsEmpty());
}

TEST_F(RelayTest, ABatchHasRequestsOfItsKindAlone) {
  start();
  wire::RelayRequest batch;
  batch.set_format_version(wire::kFormatVersion);
  wire::Relayed& heartbeat = *batch.add_entries();
  heartbeat.mutable_credentials()->set_token("token-of-m1");
  heartbeat.set_heartbeat(heartbeat_of("m1"));
  wire::Relayed& profile = *batch.add_entries();
  profile.mutable_credentials()->set_token("token-of-m1");
  profile.mutable_profile()->set_id("00");
  batch.add_entries();  // nothing
  const auto statuses = [&](std::string_view path) {
    const auto reply =
        decode_relay_reply(handled(*primary_, std::string(path), batch.SerializeAsString()).body, 3);
    std::vector<unsigned> found;
    for (const wire::RelayedReply& one : reply->replies()) {
      found.push_back(one.status());
    }
    return found;
  };
  EXPECT_THAT(statuses(kRelayMachinesPath), ElementsAre(200, 503, 503));
  EXPECT_THAT(statuses(kRelayProfilesPath), ElementsAre(503, 200, 503));
  EXPECT_THAT(statuses(kRelayRecordingsPath), ElementsAre(503, 503, 503));
}

}  // namespace
}  // namespace plimsoll::server
