#include "scheduler/fleet_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/hex.h"
#include "base/time.h"
#include "store/draws/draw_outcome.h"
#include "tests/profile_fixture.h"
#include "tests/start.h"
#include "tests/temporary_directory.h"

namespace plimsoll::scheduler {
namespace {

using plimsoll::testing::kStartNs;

using plimsoll::testing::make_profile;
using plimsoll::testing::profile_id;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kHeartbeatNs = 5 * kNsPerSecond;

// A server of simulated time, without its network.
class FleetServiceTest : public ::testing::Test {
 protected:
  store::DrawStore open_store() {
    return *store::DrawStore::open(ingest_->directory().draws_path(), sqlite::OpenMode::kReadWrite);
  }
  void start(bool draws) {
    breaker_ = *CollectionBreaker::open(open_store(), {});
    if (draws) {
      DrawSettings settings;
      settings.interval_ns = 60 * kNsPerSecond;
      settings.window_ns = kNsPerSecond;
      settings.late_after_ns = 10 * kNsPerSecond;
      settings.heartbeat_ns = kHeartbeatNs;
      settings.size = {.fraction = 1, .min_per_stratum = 1};
      settings.safety = {.share_of_job = 1, .share_of_platform = 1};
      drawer_ = *Drawer::open(open_store(), open_store(), *DrawPolicy::make(settings, 1), *breaker_, now_ns_);
    }
    FleetOptions options;
    options.heartbeat_interval_ns = kHeartbeatNs;
    options.continuous.set_id("continuous");
    options.continuous.set_continuous(true);
    options.now_ns = [this] { return now_ns_; };
    options.enrol = [this](const http::Caller&, const std::string& machine) {
      enrolled_.push_back(machine);
      return Status();
    };
    service_ = std::make_unique<FleetService>(*ingest_, std::move(options), *breaker_, drawer_.get(),
                                              [this] { ++accepted_; });
  }

  void register_machine(const std::string& id) {
    wire::RegisterRequest request;
    request.mutable_machine()->set_id(id);
    request.mutable_machine()->set_boot_id("boot");
    ASSERT_TRUE(service_->register_machine(request, http::Caller()));
  }
  wire::HeartbeatReply heartbeat(const std::string& id,
                                 const std::vector<wire::AssignmentReport>& reports = {},
                                 int64_t daemon_cpu_time_ns = 0) {
    wire::HeartbeatRequest request;
    request.set_machine_id(id);
    request.set_boot_id("boot");
    if (daemon_cpu_time_ns > 0) {
      request.mutable_status()->set_cpu_time_ns(daemon_cpu_time_ns);
    }
    for (const wire::AssignmentReport& report : reports) {
      *request.add_assignments() = report;
    }
    return service_->heartbeat(request, http::Caller()).value_or(wire::HeartbeatReply());
  }
  // The next draw, of whom the server has heard of by now.
  void draw() {
    now_ns_ = kStartNs - 3 * kHeartbeatNs;
    heartbeat("m1");
    auto machines = store::LiveMachines::open(ingest_->directory().live_path(), sqlite::OpenMode::kRead);
    ASSERT_TRUE(drawer_->draw_if_due(now_ns_, *machines));
  }
  Result<wire::UploadReply> upload(const wire::RawProfile& profile) {
    return service_->upload(to_hex(profile.profile_id()), as_bytes(wire::encode(profile)), http::Caller());
  }
  std::string outcome(const std::string& machine) {
    const auto store =
        store::DrawStore::open(ingest_->directory().draws_path(), sqlite::OpenMode::kRead)->newest(1);
    for (const store::DrawnMachine& drawn : store->front().machines) {
      if (drawn.machine_id == machine) {
        return std::string(store::name_of(store::outcome_of(store->front().draw, drawn, now_ns_)));
      }
    }
    return "not drawn";
  }

  plimsoll::testing::TemporaryDirectory folder_;
  std::unique_ptr<store::Ingest> ingest_ = *store::Ingest::open(folder_ / "data");
  int64_t now_ns_ = kStartNs - 40 * kNsPerSecond;
  std::unique_ptr<CollectionBreaker> breaker_;
  std::unique_ptr<Drawer> drawer_;
  std::unique_ptr<FleetService> service_;
  int accepted_ = 0;
  std::vector<std::string> enrolled_;
};

TEST_F(FleetServiceTest, ACloneDoesNotTakeTheAccountOfItsMachine) {
  start(false);
  register_machine("m1");
  EXPECT_EQ(enrolled_, std::vector<std::string>{"m1"});
  wire::RegisterRequest clone;
  clone.mutable_machine()->set_id("m1");
  clone.mutable_machine()->set_boot_id("another");
  EXPECT_EQ(service_->register_machine(clone, http::Caller()).error().code, ErrorCode::kConflict);
  EXPECT_EQ(enrolled_.size(), 1);
}

TEST_F(FleetServiceTest, CountsUploadsByTheirResult) {
  start(false);
  register_machine("m1");
  wire::RawProfile profile = make_profile({.seed = 1, .stacks = "main 3\nmain;work 4\n"});
  profile.mutable_events(0)->set_lost(2);
  ASSERT_TRUE(upload(profile));
  ASSERT_TRUE(upload(profile));
  ASSERT_FALSE(service_->upload("00", {}, http::Caller()));
  const ReceivedProfiles received = service_->received();
  EXPECT_EQ(received.accepted, 1);
  EXPECT_EQ(received.duplicate, 1);
  EXPECT_EQ(received.refused, 1);
  EXPECT_EQ(received.failed, 0);
  EXPECT_EQ(received.samples, 7);
  EXPECT_EQ(received.lost_samples, 2);
}

TEST_F(FleetServiceTest, KeepsTheStatusOfRegisteredMachines) {
  start(false);
  register_machine("m1");
  for (const char* machine : {"m1", "stranger"}) {
    heartbeat(machine, {}, /*daemon_cpu_time_ns=*/1);
  }
  EXPECT_EQ(service_->daemons().reporting, 1);
  now_ns_ += 3 * kHeartbeatNs;
  EXPECT_EQ(service_->daemons().reporting, 0);
}

TEST_F(FleetServiceTest, MissingEventsAreNames) {
  start(false);
  wire::RegisterRequest request;
  request.mutable_machine()->set_id("m1");
  request.add_missing_events("cycles");
  EXPECT_TRUE(service_->register_machine(request, http::Caller()));
  for (const std::string& wrong : {std::string(), std::string("\x1b[2J"), std::string(129, 'a')}) {
    request.set_missing_events(0, wrong);
    EXPECT_EQ(service_->register_machine(request, http::Caller()).error().field, "missing_events");
  }
  request.set_missing_events(0, "cycles");
  for (int i = 0; i < 1000; ++i) {
    request.add_missing_events("cycles");
  }
  EXPECT_EQ(service_->register_machine(request, http::Caller()).error().field, "missing_events");
}

TEST_F(FleetServiceTest, WithoutDrawsEveryMachineCollectsAllTheTime) {
  start(false);
  EXPECT_TRUE(heartbeat("m1").register_again());
  register_machine("m1");
  const wire::HeartbeatReply reply = heartbeat("m1");
  EXPECT_FALSE(reply.register_again());
  EXPECT_EQ(reply.server_time_ns(), now_ns_);
  ASSERT_EQ(reply.assignments_size(), 1);
  EXPECT_EQ(reply.assignments(0).id(), "continuous");
  EXPECT_EQ(reply.lease_ns(), 0) << "it goes on while the server is away";
}

TEST_F(FleetServiceTest, ADrawnMachineIsToldToMeasureAndItsProfileIsItsAnswer) {
  start(true);
  register_machine("m1");
  EXPECT_THAT(heartbeat("m1").assignments(), IsEmpty());
  draw();
  const wire::HeartbeatReply reply = heartbeat("m1");
  EXPECT_EQ(reply.lease_ns(), 3 * kHeartbeatNs);
  ASSERT_EQ(reply.assignments_size(), 1);
  now_ns_ = reply.assignments(0).start_ns() + kNsPerSecond;
  wire::RawProfile profile = make_profile(
      {.seed = 5, .machine = "m1", .from_ns = reply.assignments(0).start_ns(), .length_ns = kNsPerSecond});
  *profile.mutable_assignment() = reply.assignments(0);
  EXPECT_EQ(outcome("m1"), "pending");
  const auto accepted = upload(profile);
  ASSERT_TRUE(accepted) << accepted.error().text();
  EXPECT_EQ(accepted_, 1);
  EXPECT_EQ(outcome("m1"), "answered");
  EXPECT_TRUE(upload(profile)->already_known());
  EXPECT_EQ(accepted_, 1);
}

// What a daemon sends of an application that it observed in a part of the window of a draw.
wire::RawProfile profile_of_application(const wire::Assignment& assignment, uint64_t seed,
                                        int64_t length_ns) {
  wire::RawProfile profile =
      make_profile({.seed = seed, .machine = "m1", .from_ns = assignment.start_ns(), .length_ns = length_ns});
  profile.mutable_assignment()->set_id("scrape:127.0.0.1:6060/debug/pprof/heap");
  *profile.mutable_assignment()->mutable_draw() = assignment.draw();
  return profile;
}

TEST_F(FleetServiceTest, AProfileOfAnApplicationIsNoAnswerOfItsMachine) {
  start(true);
  register_machine("m1");
  draw();
  const wire::HeartbeatReply reply = heartbeat("m1");
  ASSERT_EQ(reply.assignments_size(), 1);
  const wire::Assignment& assignment = reply.assignments(0);
  now_ns_ = assignment.start_ns() + kNsPerSecond;
  const auto accepted = upload(profile_of_application(assignment, 5, kNsPerSecond));
  ASSERT_TRUE(accepted) << accepted.error().text();
  EXPECT_EQ(accepted_, 1) << "it is stored";
  EXPECT_EQ(outcome("m1"), "pending");
  wire::RawProfile own =
      make_profile({.seed = 6, .machine = "m1", .from_ns = assignment.start_ns(), .length_ns = kNsPerSecond});
  *own.mutable_assignment() = assignment;
  const auto answered = upload(own);
  ASSERT_TRUE(answered) << answered.error().text();
  EXPECT_EQ(outcome("m1"), "answered");
}

TEST_F(FleetServiceTest, ADaemonThatCrashedIsNotAskedAgainThoughItSentAProfileOfAnApplication) {
  start(true);
  register_machine("m1");
  draw();
  const wire::HeartbeatReply reply = heartbeat("m1");
  ASSERT_EQ(reply.assignments_size(), 1);
  now_ns_ = reply.assignments(0).start_ns() + kNsPerSecond / 2;
  const auto accepted = upload(profile_of_application(reply.assignments(0), 5, kNsPerSecond / 2));
  ASSERT_TRUE(accepted) << accepted.error().text();
  // It restarted within its window, and knows of no assignment.
  EXPECT_THAT(heartbeat("m1").assignments(), IsEmpty());
  EXPECT_EQ(outcome("m1"), "failed");
}

TEST_F(FleetServiceTest, WhatDaemonsSayOfTheirCostLimitsTheNextDraw) {
  start(true);
  for (const std::string id : {"m1", "m2", "m3"}) {
    register_machine(id);
  }
  now_ns_ = kStartNs - 3 * kHeartbeatNs;
  heartbeat("m2");
  heartbeat("m3");
  draw();
  for (const std::string id : {"m1", "m2", "m3"}) {
    EXPECT_THAT(heartbeat(id, {}, kNsPerSecond).assignments(), SizeIs(1));
  }
  const int64_t next_ns = kStartNs + 120 * kNsPerSecond;
  // The window is over, and a quarter of each CPU was the daemon's so far.
  now_ns_ = next_ns - 3 * kHeartbeatNs;
  for (const std::string id : {"m1", "m2", "m3"}) {
    heartbeat(id, {}, 31 * kNsPerSecond);
  }
  auto machines = store::LiveMachines::open(ingest_->directory().live_path(), sqlite::OpenMode::kRead);
  ASSERT_TRUE(drawer_->draw_if_due(now_ns_, *machines));
  const auto draws = open_store().newest(1);
  ASSERT_THAT(draws->front().machines, SizeIs(3));
  EXPECT_EQ(std::ranges::count(draws->front().machines, 0, &store::DrawnMachine::window_start_ns), 2);
}

TEST_F(FleetServiceTest, AProfileOfAnotherDrawIsRefusedForGood) {
  start(true);
  register_machine("m1");
  draw();
  wire::RawProfile profile = make_profile({.seed = 5, .machine = "m1"});
  *profile.mutable_assignment() = heartbeat("m1").assignments(0);
  profile.mutable_assignment()->mutable_draw()->set_inclusion_probability(0.001);
  const auto refused = upload(profile);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalid);
  EXPECT_EQ(refused.error().field, "assignment.draw");
  EXPECT_EQ(accepted_, 0);
  // Applications' own profiles are of no draw.
  EXPECT_TRUE(upload(make_profile({.seed = 6, .machine = "m1"})));
}

TEST_F(FleetServiceTest, AProfileUnderAnotherNameIsRefused) {
  start(false);
  const std::string encoded = wire::encode(make_profile({.seed = 3}));
  const auto refused = service_->upload(to_hex(profile_id(4)), as_bytes(encoded), http::Caller());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalid);
  EXPECT_EQ(refused.error().field, "profile_id");
  EXPECT_TRUE(service_->upload(to_hex(profile_id(3)), as_bytes(encoded), http::Caller()));
  EXPECT_FALSE(service_->upload("no ID", as_bytes(encoded), http::Caller()));
}

TEST_F(FleetServiceTest, AHeartbeatThatMakesNoSenseChangesNothing) {
  start(true);
  register_machine("m1");
  wire::HeartbeatRequest request;
  request.set_machine_id("m1");
  request.set_boot_id("boot");
  request.add_assignments()->set_id("a");
  const auto refused = service_->heartbeat(request, http::Caller());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().field, "assignments[0].state");
}

}  // namespace
}  // namespace plimsoll::scheduler
