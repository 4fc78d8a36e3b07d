#include "server/access/gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "http/token.h"
#include "tests/temporary_directory.h"

namespace plimsoll::server {
namespace {

using http::Right;
using http::Role;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kStart = 1'800'000'000 * kNsPerSecond;

http::Route route(std::string method, std::string path, Right right) {
  http::Route route;
  route.method = std::move(method);
  route.path = std::move(path);
  route.is_prefix = route.path.ends_with('/');
  route.right = right;
  return route;
}

const http::Route kTop = route("GET", "/api/v1/top", Right::kRead);
const http::Route kStop = route("POST", "/api/v1/collection/stop", Right::kOrder);
const http::Route kHealth = route("GET", "/healthz", Right::kNone);
const http::Route kRegister = route("POST", "/fleet/v1/register", Right::kEnrol);
const http::Route kHeartbeat = route("POST", "/fleet/v1/heartbeat", Right::kMachine);
const http::Route kUpload = route("PUT", "/fleet/v1/profiles/", Right::kUpload);

// What a caller shows.
struct Shown {
  std::string token = {};
  std::string enrolment = {};
  std::string certified_name = {};
};

class GateTest : public ::testing::Test {
 protected:
  void open(double most_requests_per_minute = 0) {
    gate_.reset();
    AccessSettings settings;
    for (const auto& [name, role] : tokens_) {
      settings.tokens.push_back({name, http::token_hash("token of " + name), role});
    }
    settings.trusts_certificates = trusts_certificates_;
    settings.most_requests_per_minute = most_requests_per_minute;
    settings.wall_now_ns = [this] { return now_ns_; };
    settings.monotonic_now_ns = [this] { return now_ns_; };
    gate_ = *Gate::open(std::move(settings), access_store(), access_store());
    people_ = gate_->door(Gate::Notes::kAll);
    daemons_ = gate_->door(Gate::Notes::kRefusals);
  }
  store::AccessStore access_store() {
    return *store::AccessStore::open(folder_ / "access.db", sqlite::OpenMode::kReadWrite);
  }

  // "alice", "machine m1", or the status and text of a refusal.
  std::string ask(http::Gatekeeper& door, const http::Route& route, const Shown& shown) {
    http::Request request;
    request.method = route.method;
    request.path = route.path + (route.is_prefix ? std::to_string(++profiles_) : "");
    request.peer = "10.0.0.7:40312";
    request.certified_name = shown.certified_name;
    if (!shown.token.empty()) {
      request.headers.emplace_back("Authorization", "Bearer " + shown.token);
    }
    if (!shown.enrolment.empty()) {
      request.headers.emplace_back(http::kEnrolmentHeader, shown.enrolment);
    }
    const auto refusal = door.admit(request, route);
    door.answered(request, &route, refusal ? refusal->status : 200);
    caller_ = request.caller;
    return refusal ? fmt::format("{} {}", refusal->status, error_of(*refusal, "").text())
                   : text_of(request.caller);
  }
  std::string enrol(const std::string& machine, const std::string& token) {
    const std::string asked = ask(*daemons_, kRegister, {.token = token, .enrolment = "token of rack"});
    if (caller_.role == Role::kMachine) {
      return may_speak_for(caller_, machine) ? "known" : "not its own";
    }
    const Status enrolled = caller_.role == Role::kEnrol ? gate_->enrol(caller_, machine) : Status();
    return enrolled ? asked : enrolled.error().text();
  }
  std::vector<std::string> log() {
    EXPECT_TRUE(gate_->log().write());
    std::vector<std::string> lines;
    const auto newest = access_store().newest(100, INT64_MIN);
    for (const store::AskedFor& one : newest.value()) {
      lines.push_back(
          fmt::format("{}x {} {} {} {}", one.count, one.caller, one.host, one.request, one.status));
    }
    std::ranges::reverse(lines);
    return lines;
  }

  plimsoll::testing::TemporaryDirectory folder_;
  std::map<std::string, Role> tokens_{
      {"alice", Role::kRead}, {"root", Role::kAdmin}, {"relay", Role::kUpload}, {"rack", Role::kEnrol}};
  bool trusts_certificates_ = false;
  int64_t now_ns_ = kStart;
  int profiles_ = 0;
  http::Caller caller_;  // of the last request
  std::unique_ptr<Gate> gate_;
  std::unique_ptr<http::Gatekeeper> people_;
  std::unique_ptr<http::Gatekeeper> daemons_;
};

TEST_F(GateTest, AsksNobodyWhereNothingIsConfigured) {
  tokens_.clear();
  open();
  EXPECT_FALSE(gate_->asks());
  EXPECT_EQ(ask(*people_, kStop, {}), "nobody");
  EXPECT_EQ(ask(*daemons_, kHeartbeat, {}), "nobody");
  EXPECT_EQ(caller_.role, Role::kUnasked);
  EXPECT_TRUE(gate_->enrol(caller_, "m1"));
}

TEST_F(GateTest, KnowsPeopleByTheirTokens) {
  open();
  EXPECT_EQ(ask(*people_, kTop, {"token of alice"}), "alice");
  EXPECT_EQ(ask(*people_, kStop, {"token of root"}), "root");
  EXPECT_EQ(ask(*daemons_, kUpload, {"token of relay"}), "relay");
  EXPECT_EQ(ask(*people_, kHealth, {}), "nobody");
}

TEST_F(GateTest, RefusesStrangersAndSaysWhatToShow) {
  open();
  EXPECT_THAT(ask(*people_, kTop, {}), AllOf(HasSubstr("401"), HasSubstr("asks who you are")));
  EXPECT_THAT(ask(*people_, kTop, {"token of eve"}), AllOf(HasSubstr("401"), HasSubstr("not known here")));
  EXPECT_THAT(ask(*daemons_, kHeartbeat, {"token of eve", "token of rack"}), HasSubstr("401"))
      << "a permit to enrol permits to register, and no more";
}

TEST_F(GateTest, RefusesWhatARoleDoesNotPermit) {
  open();
  EXPECT_THAT(ask(*people_, kStop, {"token of alice"}), AllOf(HasSubstr("403"), HasSubstr("role is read")));
  EXPECT_THAT(ask(*people_, kTop, {"token of rack"}), HasSubstr("403"));
  EXPECT_THAT(ask(*daemons_, kHeartbeat, {"token of root"}), HasSubstr("403"));
}

TEST_F(GateTest, AMachineEnrolsAndIsKnownByItsOwnTokenFromThenOn) {
  open();
  EXPECT_EQ(enrol("m1", "own token of m1"), "rack");
  EXPECT_EQ(ask(*daemons_, kHeartbeat, {"own token of m1"}), "machine m1");
  EXPECT_EQ(enrol("m1", "own token of m1"), "known") << "whose first reply was lost asks again";
  open();
  EXPECT_EQ(ask(*daemons_, kUpload, {"own token of m1"}), "machine m1") << "after a restart";
}

TEST_F(GateTest, NobodyTakesAMachinesPlace) {
  open();
  enrol("m1", "own token of m1");
  EXPECT_THAT(enrol("m1", "another token"), HasSubstr("is known already, by another token or a certificate"));
  EXPECT_THAT(ask(*daemons_, kHeartbeat, {"another token"}), HasSubstr("401"));
  EXPECT_EQ(enrol("m2", "own token of m1"), "not its own") << "a cloned image";
  EXPECT_THAT(ask(*daemons_, kRegister, {"token of m3", "token of alice"}), HasSubstr("401"))
      << "alice may not let machines in";
}

TEST_F(GateTest, AnEnrolmentWithoutATokenOfItsOwnIsRefused) {
  open();
  EXPECT_EQ(ask(*daemons_, kRegister, {"token of rack"}), "rack");
  EXPECT_EQ(gate_->enrol(caller_, "m1").error().code, ErrorCode::kDenied);
}

TEST_F(GateTest, ARevokedMachineStaysOutUntilItIsReadmitted) {
  open();
  enrol("m1", "own token of m1");
  ASSERT_TRUE(gate_->accounts().revoke("m1", now_ns_));
  open();
  EXPECT_THAT(ask(*daemons_, kHeartbeat, {"own token of m1"}), AllOf(HasSubstr("403"), HasSubstr("revoked")));
  EXPECT_THAT(enrol("m1", "another token"), HasSubstr("revoked"));
  ASSERT_TRUE(gate_->accounts().readmit("m1"));
  EXPECT_EQ(enrol("m1", "another token"), "rack");
  EXPECT_EQ(ask(*daemons_, kHeartbeat, {"another token"}), "machine m1");
  EXPECT_THAT(ask(*daemons_, kHeartbeat, {"own token of m1"}), HasSubstr("401")) << "that is of before";
  EXPECT_EQ(gate_->accounts().readmit("m9").error().code, ErrorCode::kNotFound);
}

TEST_F(GateTest, KnowsMachinesByTheirCertificates) {
  tokens_.clear();
  trusts_certificates_ = true;
  open();
  EXPECT_TRUE(gate_->asks());
  EXPECT_EQ(ask(*daemons_, kHeartbeat, {.certified_name = "m1"}), "machine m1");
  ASSERT_TRUE(gate_->enrol(caller_, "m1"));
  EXPECT_THAT(ask(*people_, kTop, {.certified_name = "m1"}), HasSubstr("403"));
  EXPECT_THAT(ask(*daemons_, kHeartbeat, {}), HasSubstr("401"));
  ASSERT_TRUE(gate_->accounts().revoke("m1", now_ns_));
  EXPECT_THAT(ask(*daemons_, kHeartbeat, {.certified_name = "m1"}), HasSubstr("revoked"));
}

TEST_F(GateTest, NoTokenTakesThePlaceOfAMachineWithACertificate) {
  trusts_certificates_ = true;
  open();
  ask(*daemons_, kRegister, {.certified_name = "m1"});
  ASSERT_TRUE(gate_->enrol(caller_, "m1"));
  open();
  EXPECT_THAT(enrol("m1", "a token"), HasSubstr("is known already"));
  EXPECT_EQ(enrol("m2", "a token"), "rack");
  ASSERT_TRUE(gate_->accounts().readmit("m1"));
  EXPECT_EQ(enrol("m1", "another token"), "rack") << "it has its certificate no more";
}

TEST_F(GateTest, AMachineThatAsksTooOftenWaitsAndNobodyElseDoes) {
  open(/*most_requests_per_minute=*/6);
  enrol("m1", "own token of m1");
  enrol("m2", "own token of m2");
  for (int request = 0; request < 6; ++request) {
    EXPECT_EQ(ask(*daemons_, kHeartbeat, {"own token of m1"}), "machine m1");
  }
  EXPECT_THAT(ask(*daemons_, kHeartbeat, {"own token of m1"}),
              AllOf(HasSubstr("429"), HasSubstr("too often")));
  EXPECT_EQ(ask(*daemons_, kHeartbeat, {"own token of m2"}), "machine m2");
  now_ns_ += 10 * kNsPerSecond;
  EXPECT_EQ(ask(*daemons_, kHeartbeat, {"own token of m1"}), "machine m1");
  EXPECT_THAT(ask(*daemons_, kHeartbeat, {"own token of m1"}), HasSubstr("429"));
}

TEST_F(GateTest, WritesDownWhoAskedForWhat) {
  open();
  ask(*people_, kTop, {"token of alice"});
  ask(*people_, kTop, {"token of alice"});
  ask(*people_, kHealth, {});
  now_ns_ += kNsPerSecond;
  ask(*people_, kStop, {"token of root"});
  now_ns_ += kNsPerSecond;
  enrol("m1", "own token of m1");
  ask(*daemons_, kHeartbeat, {"own token of m1"});
  EXPECT_THAT(log(), ElementsAre("2x alice 10.0.0.7 GET /api/v1/top 200",
                                 "1x root 10.0.0.7 POST /api/v1/collection/stop 200",
                                 "1x rack  enrol machine m1 200"));
}

TEST_F(GateTest, CountsWhatItRefuses) {
  open();
  for (int time = 0; time < 5; ++time) {
    ask(*daemons_, kUpload, {"token of eve"});
  }
  now_ns_ += kNsPerSecond;
  ask(*daemons_, kHeartbeat, {"token of alice"});
  EXPECT_THAT(log(), ElementsAre("5x nobody 10.0.0.7 PUT /fleet/v1/profiles/ 401",
                                 "1x alice 10.0.0.7 POST /fleet/v1/heartbeat 403"));
}

TEST(AuditLog, HoldsNoMoreThanSoManyDifferentRequests) {
  const plimsoll::testing::TemporaryDirectory folder;
  const std::string path = folder / "access.db";
  {
    AuditLog log(*store::AccessStore::open(path, sqlite::OpenMode::kReadWrite));
    for (size_t request = 0; request < AuditLog::kMostDifferent + 1000; ++request) {
      log.note({kStart, kStart, "nobody", "10.0.0.7", fmt::format("GET /{}", request), 404, 1});
    }
  }
  const auto kept = store::AccessStore::open(path, sqlite::OpenMode::kRead)->newest(100'000, INT64_MIN);
  ASSERT_TRUE(kept);
  uint64_t requests = 0;
  uint64_t most = 0;
  for (const store::AskedFor& one : *kept) {
    requests += one.count;
    most = std::max(most, one.count);
  }
  EXPECT_EQ(requests, AuditLog::kMostDifferent + 1000);
  EXPECT_EQ(most, 1000);
}

TEST(AuditLog, ForgetsWhatIsOld) {
  const plimsoll::testing::TemporaryDirectory folder;
  auto store = *store::AccessStore::open(folder / "access.db", sqlite::OpenMode::kReadWrite);
  AuditLog log(*store::AccessStore::open(folder / "access.db", sqlite::OpenMode::kReadWrite));
  const int64_t later_ns = kStart + int64_t{91} * 24 * 3600 * kNsPerSecond;
  log.note({kStart, kStart, "alice", "10.0.0.7", "GET /api/v1/top", 200, 1});
  log.note({later_ns, later_ns, "bob", "10.0.0.7", "GET /api/v1/top", 200, 1});
  ASSERT_TRUE(log.write());
  const auto kept = store.newest(10, INT64_MIN);
  ASSERT_EQ(kept->size(), 1);
  EXPECT_EQ(kept->front().caller, "bob");
}

}  // namespace
}  // namespace plimsoll::server
