#include "server/access/authenticator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <optional>
#include <thread>

#include "http/token.h"
#include "sqlite/database.h"
#include "tests/eventually.h"
#include "tests/temporary_directory.h"

namespace plimsoll::server {
namespace {

using http::Right;
using http::Role;
using ::testing::AllOf;
using ::testing::Contains;
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
const http::Route kDefine = route("PUT", "/api/v1/experiments/", Right::kOrder);
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

class AuthenticatorTest : public ::testing::Test {
 protected:
  void open(double max_requests_per_minute = 0, double max_requests_per_minute_per_token = 0) {
    authenticator_.reset();
    AccessSettings settings;
    for (const auto& [name, role] : tokens_) {
      settings.tokens.push_back({name, http::token_hash("token of " + name), role, expires_ns_});
    }
    settings.trusts_certificates = trusts_certificates_;
    settings.max_requests_per_minute = max_requests_per_minute;
    settings.max_requests_per_minute_per_token = max_requests_per_minute_per_token;
    settings.wall_now_ns = [this] { return now_ns_; };
    settings.monotonic_now_ns = [this] { return now_ns_; };
    authenticator_ = *Authenticator::open(std::move(settings), access_store(), access_store());
    people_ = authenticator_->access_control(Authenticator::Notes::kAll);
    daemons_ = authenticator_->access_control(Authenticator::Notes::kRefusals);
  }
  store::AccessStore access_store() {
    return *store::AccessStore::open(folder_ / "access.db", sqlite::OpenMode::kReadWrite);
  }

  // "alice", "machine m1", or the status and text of a refusal.
  std::string ask(http::AccessControl& access, const http::Route& route, const Shown& shown) {
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
    const auto refusal = access.admit(request, route);
    access.answered(request, &route, refusal ? refusal->status : 200);
    caller_ = request.caller;
    return refusal ? fmt::format("{} {}", refusal->status, error_of(*refusal, "").text())
                   : text_of(request.caller);
  }
  std::string enrol(const std::string& machine, const std::string& token) {
    const std::string asked = ask(*daemons_, kRegister, {.token = token, .enrolment = "token of rack"});
    if (caller_.role == Role::kMachine) {
      return may_speak_for(caller_, machine) ? "known" : "not its own";
    }
    const Status enrolled = caller_.role == Role::kEnrol ? authenticator_->enrol(caller_, machine) : Status();
    return enrolled ? asked : enrolled.error().text();
  }
  std::vector<std::string> log() {
    EXPECT_TRUE(authenticator_->log().write());
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
  int64_t expires_ns_ = INT64_MAX;  // of the tokens
  bool trusts_certificates_ = false;
  int64_t now_ns_ = kStart;
  int profiles_ = 0;
  http::Caller caller_;  // of the last request
  std::unique_ptr<Authenticator> authenticator_;
  std::unique_ptr<http::AccessControl> people_;
  std::unique_ptr<http::AccessControl> daemons_;
};

TEST_F(AuthenticatorTest, AsksNobodyWhereNothingIsConfigured) {
  tokens_.clear();
  open();
  EXPECT_FALSE(authenticator_->asks());
  EXPECT_EQ(ask(*people_, kStop, {}), "unauthenticated");
  EXPECT_EQ(ask(*daemons_, kHeartbeat, {}), "unauthenticated");
  EXPECT_EQ(caller_.role, Role::kUnasked);
  EXPECT_TRUE(authenticator_->enrol(caller_, "m1"));
}

TEST_F(AuthenticatorTest, KnowsPeopleByTheirTokens) {
  open();
  EXPECT_EQ(ask(*people_, kTop, {"token of alice"}), "alice");
  EXPECT_EQ(ask(*people_, kStop, {"token of root"}), "root");
  EXPECT_EQ(ask(*daemons_, kUpload, {"token of relay"}), "relay");
  EXPECT_EQ(ask(*people_, kHealth, {}), "unauthenticated");
}

TEST_F(AuthenticatorTest, RefusesStrangersAndSaysWhatToShow) {
  open();
  EXPECT_THAT(ask(*people_, kTop, {}), AllOf(HasSubstr("401"), HasSubstr("authentication is required")));
  EXPECT_THAT(ask(*people_, kTop, {"token of eve"}), AllOf(HasSubstr("401"), HasSubstr("unknown token")));
  EXPECT_THAT(ask(*daemons_, kHeartbeat, {"token of eve", "token of rack"}), HasSubstr("401"))
      << "a permit to enrol permits to register, and no more";
}

TEST_F(AuthenticatorTest, RefusesWhatARoleDoesNotPermit) {
  open();
  EXPECT_THAT(ask(*people_, kStop, {"token of alice"}),
              AllOf(HasSubstr("403"), HasSubstr("alice (role read) may not")));
  EXPECT_THAT(ask(*people_, kTop, {"token of rack"}), HasSubstr("403"));
  EXPECT_THAT(ask(*daemons_, kHeartbeat, {"token of root"}), HasSubstr("403"));
}

TEST_F(AuthenticatorTest, AMachineEnrolsAndIsKnownByItsOwnTokenFromThenOn) {
  open();
  EXPECT_EQ(enrol("m1", "own-token-of-machine-m1"), "rack");
  EXPECT_EQ(ask(*daemons_, kHeartbeat, {"own-token-of-machine-m1"}), "machine m1");
  EXPECT_EQ(enrol("m1", "own-token-of-machine-m1"), "known") << "whose first reply was lost asks again";
  open();
  EXPECT_EQ(ask(*daemons_, kUpload, {"own-token-of-machine-m1"}), "machine m1") << "after a restart";
}

TEST_F(AuthenticatorTest, NobodyTakesAMachinesPlace) {
  open();
  enrol("m1", "own-token-of-machine-m1");
  EXPECT_THAT(enrol("m1", "another-token-of-its-own"),
              HasSubstr("is enrolled already, with another token or a certificate"));
  EXPECT_THAT(ask(*daemons_, kHeartbeat, {"another-token-of-its-own"}), HasSubstr("401"));
  EXPECT_EQ(enrol("m2", "own-token-of-machine-m1"), "not its own") << "a cloned image";
  EXPECT_THAT(ask(*daemons_, kRegister, {"own-token-of-machine-m3", "token of alice"}), HasSubstr("401"))
      << "alice may not let machines in";
}

TEST_F(AuthenticatorTest, AnEnrolmentWithoutATokenOfItsOwnIsRefused) {
  open();
  EXPECT_EQ(ask(*daemons_, kRegister, {"token of rack"}), "rack");
  EXPECT_EQ(authenticator_->enrol(caller_, "m1").error().code, ErrorCode::kDenied);
}

TEST_F(AuthenticatorTest, ARevokedMachineStaysOutUntilItIsReadmitted) {
  open();
  enrol("m1", "own-token-of-machine-m1");
  ASSERT_TRUE(authenticator_->accounts().revoke("m1", now_ns_).value());
  open();
  EXPECT_THAT(ask(*daemons_, kHeartbeat, {"own-token-of-machine-m1"}),
              AllOf(HasSubstr("403"), HasSubstr("revoked")));
  EXPECT_THAT(enrol("m1", "another-token-of-its-own"), HasSubstr("revoked"));
  ASSERT_TRUE(authenticator_->accounts().readmit("m1"));
  EXPECT_EQ(enrol("m1", "another-token-of-its-own"), "rack");
  EXPECT_EQ(ask(*daemons_, kHeartbeat, {"another-token-of-its-own"}), "machine m1");
  EXPECT_THAT(ask(*daemons_, kHeartbeat, {"own-token-of-machine-m1"}), HasSubstr("401"))
      << "that is of before";
  EXPECT_EQ(authenticator_->accounts().readmit("m9").error().code, ErrorCode::kNotFound);
}

TEST_F(AuthenticatorTest, KnowsMachinesByTheirCertificates) {
  tokens_.clear();
  trusts_certificates_ = true;
  open();
  EXPECT_TRUE(authenticator_->asks());
  EXPECT_EQ(ask(*daemons_, kHeartbeat, {.certified_name = "m1"}), "machine m1");
  ASSERT_TRUE(authenticator_->enrol(caller_, "m1"));
  EXPECT_THAT(ask(*people_, kTop, {.certified_name = "m1"}), HasSubstr("403"));
  EXPECT_THAT(ask(*daemons_, kHeartbeat, {}), HasSubstr("401"));
  ASSERT_TRUE(authenticator_->accounts().revoke("m1", now_ns_).value());
  EXPECT_THAT(ask(*daemons_, kHeartbeat, {.certified_name = "m1"}), HasSubstr("revoked"));
}

TEST_F(AuthenticatorTest, NoTokenTakesThePlaceOfAMachineWithACertificate) {
  trusts_certificates_ = true;
  open();
  ask(*daemons_, kRegister, {.certified_name = "m1"});
  ASSERT_TRUE(authenticator_->enrol(caller_, "m1"));
  open();
  EXPECT_THAT(enrol("m1", "a-token-of-its-own"), HasSubstr("is enrolled already"));
  EXPECT_EQ(enrol("m2", "a-token-of-its-own"), "rack");
  ASSERT_TRUE(authenticator_->accounts().readmit("m1"));
  EXPECT_EQ(enrol("m1", "another-token-of-its-own"), "rack") << "it has its certificate no more";
}

TEST_F(AuthenticatorTest, ACertificateDisplacesATokenInItsMachinesName) {
  trusts_certificates_ = true;
  open();
  enrol("m1", "token-of-an-impostor");
  ask(*daemons_, kRegister, {.certified_name = "m1"});
  ASSERT_TRUE(authenticator_->enrol(caller_, "m1"));
  EXPECT_THAT(ask(*daemons_, kHeartbeat, {"token-of-an-impostor"}), HasSubstr("401"));
  open();
  EXPECT_THAT(ask(*daemons_, kHeartbeat, {"token-of-an-impostor"}), HasSubstr("401")) << "after a restart";
  EXPECT_EQ(ask(*daemons_, kHeartbeat, {.certified_name = "m1"}), "machine m1");
}

TEST_F(AuthenticatorTest, AMachineThatRegistersByItsTokenKeepsIt) {
  open();
  enrol("m1", "own-token-of-machine-m1");
  ask(*daemons_, kRegister, {"own-token-of-machine-m1"});
  ASSERT_TRUE(authenticator_->enrol(caller_, "m1"));
  EXPECT_EQ(ask(*daemons_, kHeartbeat, {"own-token-of-machine-m1"}), "machine m1");
}

TEST_F(AuthenticatorTest, AMachinesTokenCannotBeGuessed) {
  open();
  for (const std::string& weak :
       {std::string("short"), std::string("with a space in it"), std::string(257, 'x')}) {
    EXPECT_EQ(ask(*daemons_, kRegister, {weak, "token of rack"}), "rack");
    const Status enrolled = authenticator_->enrol(caller_, "m1");
    ASSERT_FALSE(enrolled) << weak;
    EXPECT_THAT(enrolled.error().text(), HasSubstr("16 to 256 visible characters"));
  }
}

TEST_F(AuthenticatorTest, AMachineThatAsksTooOftenWaitsAndNobodyElseDoes) {
  open(/*max_requests_per_minute=*/6);
  enrol("m1", "own-token-of-machine-m1");
  enrol("m2", "own-token-of-machine-m2");
  for (int request = 0; request < 6; ++request) {
    EXPECT_EQ(ask(*daemons_, kHeartbeat, {"own-token-of-machine-m1"}), "machine m1");
  }
  EXPECT_THAT(ask(*daemons_, kHeartbeat, {"own-token-of-machine-m1"}),
              AllOf(HasSubstr("429"), HasSubstr("over its request limit")));
  EXPECT_EQ(ask(*daemons_, kHeartbeat, {"own-token-of-machine-m2"}), "machine m2");
  now_ns_ += 10 * kNsPerSecond;
  EXPECT_EQ(ask(*daemons_, kHeartbeat, {"own-token-of-machine-m1"}), "machine m1");
  EXPECT_THAT(ask(*daemons_, kHeartbeat, {"own-token-of-machine-m1"}), HasSubstr("429"));
}

TEST_F(AuthenticatorTest, RelaysForwardAsOftenAsTheyLikeAndDoNothingElse) {
  const http::Route relay = route("POST", "/fleet/v1/relay/machines", Right::kRelay);
  tokens_["ingest"] = Role::kRelay;
  open(/*max_requests_per_minute=*/1, /*max_requests_per_minute_per_token=*/1);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(ask(*daemons_, relay, {"token of ingest"}), "ingest");
  }
  for (const http::Route& other : {kTop, kStop, kRegister, kHeartbeat, kUpload}) {
    EXPECT_THAT(ask(*daemons_, other, {"token of ingest"}), HasSubstr("ingest (role relay) may not"));
  }
  for (const char* token : {"token of alice", "token of root", "token of relay", "token of rack"}) {
    EXPECT_THAT(ask(*daemons_, relay, {token}), HasSubstr("may not POST /fleet/v1/relay/machines"));
  }
}

TEST_F(AuthenticatorTest, ATokenThatAsksTooOftenWaitsAndOrdersNever) {
  open(/*max_requests_per_minute=*/0, /*max_requests_per_minute_per_token=*/3);
  for (int request = 0; request < 3; ++request) {
    EXPECT_EQ(ask(*people_, kTop, {"token of alice"}), "alice");
    EXPECT_EQ(ask(*daemons_, kUpload, {"token of relay"}), "relay");
  }
  EXPECT_THAT(ask(*people_, kTop, {"token of alice"}),
              AllOf(HasSubstr("429"), HasSubstr("alice is over its request limit")));
  EXPECT_THAT(ask(*daemons_, kUpload, {"token of relay"}), HasSubstr("429"));
  for (int request = 0; request < 10; ++request) {
    EXPECT_EQ(ask(*people_, kStop, {"token of root"}), "root");
  }
  now_ns_ += 20 * kNsPerSecond;
  EXPECT_EQ(ask(*people_, kTop, {"token of alice"}), "alice");
}

TEST_F(AuthenticatorTest, ATokenCountsUntilItExpires) {
  expires_ns_ = kStart + kNsPerMinute;
  open();
  EXPECT_EQ(ask(*people_, kTop, {"token of alice"}), "alice");
  now_ns_ = kStart + kNsPerMinute;
  EXPECT_THAT(ask(*people_, kTop, {"token of alice"}),
              AllOf(HasSubstr("401"), HasSubstr("the token has expired")));
  EXPECT_THAT(ask(*people_, kTop, {"token of eve"}), HasSubstr("unknown token"));
  EXPECT_THAT(enrol("m1", "own-token-of-machine-m1"), HasSubstr("401"))
      << "that of the rack has expired, too";
}

TEST_F(AuthenticatorTest, TokensAreReplacedWhileItRuns) {
  open();
  const auto token = [](const std::string& name, Role role) {
    return KnownToken{name, http::token_hash("token of " + name), role};
  };
  ASSERT_TRUE(authenticator_->reload({token("alice", Role::kAdmin), token("carol", Role::kRead)}));
  EXPECT_EQ(ask(*people_, kStop, {"token of alice"}), "alice") << "she may order now";
  EXPECT_EQ(ask(*people_, kTop, {"token of carol"}), "carol");
  EXPECT_THAT(ask(*people_, kStop, {"token of root"}), HasSubstr("401"));
  const Status nobody = authenticator_->reload({});
  ASSERT_FALSE(nobody) << "then everybody might do everything";
  EXPECT_EQ(nobody.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(ask(*people_, kTop, {"token of carol"}), "carol");
}

TEST_F(AuthenticatorTest, UploadsThatWereTakenAreWrittenDownInSum) {
  open();
  for (const std::string machine : {"m1", "m2"}) {
    enrol(machine, "own-token-of-machine-" + machine);
    now_ns_ += kNsPerSecond;
    for (int profile = 0; profile < 10; ++profile) {
      ask(*daemons_, kUpload, {"own-token-of-machine-" + machine});
    }
  }
  ask(*daemons_, kUpload, {"token of relay"});
  const auto lines = log();
  EXPECT_THAT(lines, Contains("20x (machines)  PUT /fleet/v1/profiles/ 200"));
  EXPECT_THAT(lines, Contains("1x relay  PUT /fleet/v1/profiles/ 200"));
}

TEST_F(AuthenticatorTest, WritesDownWhoAskedForWhat) {
  open();
  ask(*people_, kTop, {"token of alice"});
  ask(*people_, kTop, {"token of alice"});
  ask(*people_, kHealth, {});
  now_ns_ += kNsPerSecond;
  ask(*people_, kStop, {"token of root"});
  now_ns_ += kNsPerSecond;
  enrol("m1", "own-token-of-machine-m1");
  ask(*daemons_, kHeartbeat, {"own-token-of-machine-m1"});
  EXPECT_THAT(log(), ElementsAre("2x alice 10.0.0.7 GET /api/v1/top 200",
                                 "1x root 10.0.0.7 POST /api/v1/collection/stop 200",
                                 "1x rack  enrol machine m1 200"));
}

TEST_F(AuthenticatorTest, WritesDownWhatAnOrderIsAbout) {
  open();
  ask(*people_, kDefine, {"token of alice"});
  ask(*people_, kDefine, {"token of root"});
  ask(*people_, kDefine, {});
  EXPECT_THAT(log(), AllOf(Contains("1x alice 10.0.0.7 PUT /api/v1/experiments/1 403"),
                           Contains("1x root 10.0.0.7 PUT /api/v1/experiments/2 200"),
                           Contains("1x unauthenticated 10.0.0.7 PUT /api/v1/experiments/ 401")))
      << "who is unknown writes no names into the log";
}

TEST_F(AuthenticatorTest, CountsWhatItRefuses) {
  open();
  for (int time = 0; time < 5; ++time) {
    ask(*daemons_, kUpload, {"token of eve"});
  }
  now_ns_ += kNsPerSecond;
  ask(*daemons_, kHeartbeat, {"token of alice"});
  EXPECT_THAT(log(), ElementsAre("5x unauthenticated 10.0.0.7 PUT /fleet/v1/profiles/ 401",
                                 "1x alice 10.0.0.7 POST /fleet/v1/heartbeat 403"));
}

TEST_F(AuthenticatorTest, TellsWhenEachCallerAskedLast) {
  open();
  ask(*people_, kTop, {"token of alice"});
  EXPECT_TRUE(authenticator_->log().write());
  now_ns_ += kNsPerHour;
  ask(*people_, kTop, {"token of alice"});
  ask(*people_, kStop, {"token of alice"});
  now_ns_ += kNsPerHour;
  ask(*people_, kTop, {"token of root"});
  EXPECT_TRUE(authenticator_->log().write());
  const auto callers = [this](size_t limit, int64_t since_ns) {
    std::vector<std::string> lines;
    const auto found = access_store().callers(limit, since_ns);
    for (const store::CallerUse& one : found.value()) {
      lines.push_back(fmt::format("{} from {} h to {} h: {}, refused {}", one.caller,
                                  (one.first_ns - kStart) / kNsPerHour, (one.last_ns - kStart) / kNsPerHour,
                                  one.count, one.refused));
    }
    return lines;
  };
  EXPECT_THAT(callers(10, INT64_MIN),
              ElementsAre("root from 2 h to 2 h: 1, refused 0", "alice from 0 h to 1 h: 3, refused 1"));
  EXPECT_THAT(callers(1, INT64_MIN), ElementsAre(HasSubstr("root")));
  EXPECT_THAT(callers(10, kStart + kNsPerHour),
              ElementsAre(HasSubstr("root"), HasSubstr("from 1 h to 1 h: 2")));
}

TEST_F(AuthenticatorTest, StrangersWriteNothingOfTheirOwnDown) {
  open();
  http::Request request;
  request.method = "GET";
  request.query = {{"story", "of mine"}};
  for (const std::string path : {"/one", "/two", "/three"}) {
    request.path = path;
    people_->answered(request, nullptr, 404);
  }
  now_ns_ += kNsPerSecond;
  request.path = kTop.path;
  EXPECT_TRUE(people_->admit(request, kTop));
  people_->answered(request, &kTop, 401);
  EXPECT_THAT(log(), ElementsAre("3x unauthenticated  (no such route) 404",
                                 "1x unauthenticated  GET /api/v1/top 401"));
}

TEST_F(AuthenticatorTest, MachinesAreKnownWhileTheDiskIsBusy) {
  open();
  enrol("m1", "own-token-of-machine-m1");
  auto database = *sqlite::Database::open(folder_ / "access.db", sqlite::OpenMode::kReadWrite);
  std::optional<sqlite::Transaction> slow = *sqlite::Transaction::begin(database);
  std::atomic<bool> is_enrolled = false;
  std::jthread enrolling([&] {
    EXPECT_TRUE(authenticator_->accounts().enrol("m2", "hash", "rack", kStart));
    is_enrolled = true;
  });
  for (int request = 0; request < 100; ++request) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(ask(*daemons_, kHeartbeat, {"own-token-of-machine-m1"}), "machine m1");
  }
  EXPECT_FALSE(is_enrolled) << "it is to wait for the disk, and nobody for it";
  slow.reset();
  enrolling.join();
  EXPECT_TRUE(is_enrolled);
}

class AuditLogTest : public ::testing::Test {
 protected:
  store::AccessStore store() { return *store::AccessStore::open(path_, sqlite::OpenMode::kReadWrite); }
  std::vector<store::AskedFor> kept() { return store().newest(100'000, INT64_MIN).value(); }
  uint64_t kept_of(std::string_view caller) {
    uint64_t requests = 0;
    for (const store::AskedFor& one : kept()) {
      requests += one.caller == caller ? one.count : 0;
    }
    return requests;
  }
  static store::AskedFor asked(std::string caller, std::string request, unsigned status = 200,
                               int64_t at_ns = kStart) {
    return {at_ns, at_ns, std::move(caller), "10.0.0.7", std::move(request), status, 1};
  }

  plimsoll::testing::TemporaryDirectory folder_;
  std::string path_ = folder_ / "access.db";
};

TEST_F(AuditLogTest, StrangersHideNobodysRequests) {
  {
    AuditLog log(store());
    for (size_t request = 0; request < AuditLog::kMaxOfStrangers + 1000; ++request) {
      log.note(asked("unauthenticated", fmt::format("GET /{}", request), 401), Asker::kStranger);
    }
    log.note(asked("unauthenticated", "GET /0", 401), Asker::kStranger);
    log.note(asked("alice", "GET /api/v1/top"), Asker::kKnown);
    log.note(asked("root", "POST /api/v1/collection/stop"), Asker::kOrderer);
  }
  EXPECT_EQ(kept_of("unauthenticated"), AuditLog::kMaxOfStrangers + 1)
      << "what is there already is counted on";
  EXPECT_EQ(kept_of("(others)"), 1000);
  EXPECT_EQ(kept_of("alice"), 1);
  EXPECT_EQ(kept_of("root"), 1);
  EXPECT_EQ(kept().size(), AuditLog::kMaxOfStrangers + 3);
}

TEST_F(AuditLogTest, WhoIsKnownHidesNoOrders) {
  {
    AuditLog log(store());
    for (size_t request = 0; request < AuditLog::kMaxOfKnown + 1000; ++request) {
      log.note(asked("alice", fmt::format("GET /{}", request)), Asker::kKnown);
    }
    for (const std::string machine : {"m1", "m2"}) {
      log.note(asked("rack", "enrol machine " + machine), Asker::kOrderer);
    }
  }
  EXPECT_EQ(kept_of("alice"), AuditLog::kMaxOfKnown);
  EXPECT_EQ(kept_of("(others)"), 1000);
  EXPECT_EQ(kept_of("rack"), 2);
}

TEST_F(AuditLogTest, HasRoomAgainInTheNextMinute) {
  AuditLog log(store());
  for (size_t request = 0; request <= AuditLog::kMaxOfStrangers; ++request) {
    log.note(asked("unauthenticated", fmt::format("GET /{}", request), 401), Asker::kStranger);
  }
  ASSERT_TRUE(log.write());
  log.note(asked("unauthenticated", "GET /within", 401), Asker::kStranger);
  ASSERT_TRUE(log.end_minute());
  EXPECT_EQ(kept_of("(others)"), 2);
  log.note(asked("unauthenticated", "GET /after", 401), Asker::kStranger);
  ASSERT_TRUE(log.end_minute());
  EXPECT_EQ(kept_of("(others)"), 2);
  EXPECT_EQ(kept_of("unauthenticated"), AuditLog::kMaxOfStrangers + 1);
}

TEST_F(AuditLogTest, ForgetsWhatIsOldAndStrangersRequestsFirst) {
  constexpr int64_t kDay = int64_t{24} * 3600 * kNsPerSecond;
  int64_t boot_ns = kDay;
  AuditLog log(store(), [&] { return boot_ns; });
  log.note(asked("alice", "GET /1"), Asker::kKnown);
  ASSERT_TRUE(log.write());
  boot_ns += 83 * kDay;
  log.note(asked("bob", "GET /2", 200, kStart + 83 * kDay), Asker::kKnown);
  log.note(asked("unauthenticated", "GET /3", 401, kStart + 83 * kDay), Asker::kStranger);
  ASSERT_TRUE(log.write());
  boot_ns += 8 * kDay;
  log.note(asked("unauthenticated", "GET /4", 401, kStart + 91 * kDay), Asker::kStranger);
  ASSERT_TRUE(log.write());
  std::vector<std::string> requests;
  for (const store::AskedFor& one : kept()) {
    requests.push_back(one.request);
  }
  EXPECT_THAT(requests, ElementsAre("GET /4", "GET /2"));
}

// As where somebody sets it, or its battery is empty.
TEST_F(AuditLogTest, AClockThatIsSetAheadDeletesNothing) {
  constexpr int64_t kDay = int64_t{24} * 3600 * kNsPerSecond;
  int64_t boot_ns = kDay;
  {
    AuditLog log(store(), [&] { return boot_ns; });
    log.note(asked("alice", "POST /api/v1/collection/stop"), Asker::kOrderer);
    ASSERT_TRUE(log.write());
    boot_ns += kNsPerMinute;
    log.note(asked("eve", "GET /1", 200, kStart + 120 * kDay), Asker::kKnown);
  }
  EXPECT_EQ(kept_of("alice"), 1);
  AuditLog log(store(), [&] { return boot_ns; });  // after a restart
  boot_ns += 91 * kDay;
  log.note(asked("eve", "GET /2", 200, kStart + 121 * kDay), Asker::kKnown);
  ASSERT_TRUE(log.write());
  EXPECT_EQ(kept_of("alice"), 0) << "it has run for as long by now";
}

TEST_F(AuditLogTest, IsOfSoManyRowsAtMost) {
  const store::KeptRequests most{.all_ns = kStart, .refused_strangers_ns = kStart, .max_rows = 3};
  store::AccessStore log = store();
  for (int request = 1; request <= 5; ++request) {
    ASSERT_TRUE(log.add({asked("alice", fmt::format("GET /{}", request))}, {.now_ns = kStart}, most));
  }
  ASSERT_EQ(kept().size(), 3);
  EXPECT_EQ(kept().back().request, "GET /3");
}

}  // namespace
}  // namespace plimsoll::server
