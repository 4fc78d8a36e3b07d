#include "scheduler/heartbeat_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>

namespace plimsoll::scheduler {
namespace {

wire::HeartbeatRequest good() {
  wire::HeartbeatRequest request;
  request.set_census_ns(1'000'000'000);
  for (const char* instance : {"/a", "/b"}) {
    wire::InstanceUsage& usage = *request.add_instances();
    usage.set_job("db");
    usage.set_instance(instance);
    usage.set_quota_cpus(1.5);
    usage.set_weight(100);
    usage.set_cpu_time_ns(500'000'000);
  }
  return request;
}

// The field to blame once `damage` was done to a good heartbeat; empty: none.
std::string blamed(const std::function<void(wire::HeartbeatRequest&)>& damage) {
  wire::HeartbeatRequest request = good();
  damage(request);
  const Status checked = check_census(request);
  return checked ? std::string() : checked.error().field;
}

TEST(CheckCensus, SenseIsAccepted) {
  EXPECT_EQ(blamed([](auto&) {}), "");
  EXPECT_EQ(blamed([](auto& request) { request.clear_instances(); }), "");
  EXPECT_EQ(blamed([](auto& request) { request.mutable_instances(0)->set_quota_cpus(0); }), "");
}

TEST(CheckCensus, NonsenseIsBlamedOnItsField) {
  using Request = wire::HeartbeatRequest;
  EXPECT_EQ(blamed([](Request& request) { request.set_census_ns(-1); }), "census_ns");
  EXPECT_EQ(blamed([](Request& request) { request.set_census_ns(INT64_MAX); }), "census_ns");
  EXPECT_EQ(blamed([](Request& request) { request.mutable_instances(1)->clear_job(); }), "instances[1].job");
  EXPECT_EQ(blamed([](Request& request) { request.mutable_instances(1)->set_instance(""); }),
            "instances[1].instance");
  EXPECT_EQ(blamed([](Request& request) { request.mutable_instances(0)->set_job(std::string(4097, 'x')); }),
            "instances[0].job");
  EXPECT_EQ(blamed([](Request& request) { request.mutable_instances(0)->set_container("\x1b[31m"); }),
            "instances[0].container");
  for (const double value :
       {-1.0, 1e9, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(blamed([&](Request& request) { request.mutable_instances(0)->set_quota_cpus(value); }),
              "instances[0].quota_cpus");
    EXPECT_EQ(blamed([&](Request& request) { request.mutable_instances(0)->set_weight(value); }),
              "instances[0].weight");
  }
  EXPECT_EQ(blamed([](Request& request) { request.mutable_instances(0)->set_cpu_time_ns(-1); }),
            "instances[0].cpu_time_ns");
  EXPECT_EQ(blamed([](Request& request) { request.mutable_instances(0)->set_cpu_time_ns(INT64_MAX); }),
            "instances[0].cpu_time_ns");
  EXPECT_EQ(blamed([](Request& request) {
              for (int i = 0; i < 10'000; ++i) {
                *request.add_instances() = request.instances(0);
              }
            }),
            "instances");
}

// Likewise of reports of assignments.
std::string blamed_report(const std::function<void(wire::AssignmentReport&)>& damage) {
  wire::HeartbeatRequest request;
  wire::AssignmentReport& report = *request.add_assignments();
  report.set_id("fleet-1");
  report.set_state(wire::FAILED);
  report.set_detail("no PMU");
  damage(report);
  const Status checked = check_reports(request);
  return checked ? std::string() : checked.error().field;
}

TEST(CheckReports, NonsenseIsBlamedOnItsField) {
  using Report = wire::AssignmentReport;
  EXPECT_EQ(blamed_report([](Report&) {}), "");
  EXPECT_EQ(blamed_report([](Report& report) { report.clear_detail(); }), "");
  EXPECT_EQ(blamed_report([](Report& report) { report.clear_id(); }), "assignments[0].id");
  EXPECT_EQ(blamed_report([](Report& report) { report.set_id("a\nb"); }), "assignments[0].id");
  EXPECT_EQ(blamed_report([](Report& report) { report.clear_state(); }), "assignments[0].state");
  EXPECT_EQ(blamed_report([](Report& report) { report.set_state(static_cast<wire::AssignmentState>(99)); }),
            "assignments[0].state");
  EXPECT_EQ(blamed_report([](Report& report) { report.set_detail(std::string(4097, 'x')); }),
            "assignments[0].detail");
  EXPECT_EQ(blamed_report([](Report& report) { report.mutable_bursts()->set_detail("\x1b[31m"); }),
            "assignments[0].bursts.detail");
  const auto with_kind = [](uint32_t endpoints, uint32_t answered, uint32_t with_cause,
                            const std::string& kind) {
    return blamed_report([&](Report& report) {
      wire::ApplicationKindReport& added = *report.add_application_kinds();
      added.set_kind(kind);
      added.set_endpoints(endpoints);
      added.set_answered(answered);
      added.set_with_cause(with_cause);
    });
  };
  EXPECT_EQ(with_kind(4, 1, 3, "heap"), "");
  EXPECT_EQ(with_kind(4, 5, 0, "heap"), "assignments[0].application_kinds");
  EXPECT_EQ(with_kind(4, 1, 4, "heap"), "assignments[0].application_kinds");
  EXPECT_EQ(with_kind(100'001, 1, 1, "heap"), "assignments[0].application_kinds");
  EXPECT_EQ(with_kind(1, 1, 0, ""), "assignments[0].application_kinds");
  EXPECT_EQ(with_kind(1, 1, 0, "a\nb"), "assignments[0].application_kinds");
  wire::HeartbeatRequest many;
  for (int i = 0; i < 101; ++i) {
    wire::AssignmentReport& report = *many.add_assignments();
    report.set_id(std::to_string(i));
    report.set_state(wire::DONE);
  }
  EXPECT_EQ(check_reports(many).error().field, "assignments");
}

}  // namespace
}  // namespace plimsoll::scheduler
