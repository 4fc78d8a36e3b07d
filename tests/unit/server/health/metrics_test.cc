#include "server/health/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/time.h"
#include "tests/start.h"

namespace plimsoll::server::metrics_test {
namespace {

using plimsoll::testing::kStartNs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

ServerHealth known_health() {
  ServerHealth health;
  health.now_ns = kStartNs;
  health.version = "1.2.3";
  health.listeners = {
      {.name = "clients",
       .counts = {.connections = 2,
                  .answers = {0, 10, 0, 3, 1},
                  .pools = {{"long", {.waiting = 4, .running = 2, .refused = 7, .cancelled = 5}}}}}};
  health.received = {
      .accepted = 5, .duplicate = 1, .refused = 2, .failed = 0, .samples = 900, .lost_samples = 7};
  health.daemons.reporting = 3;
  health.daemons.with_problem = 1;
  health.daemons.max_cpu_of_limit = 0.5;
  health.daemons.bursts_not_reported = 3;
  health.daemons.profiles_dropped.too_old = 4;
  health.work = {{.name = "rows", .newest_success_ns = kStartNs - 3 * kNsPerSecond},
                 {.name = "symbols",
                  .running_since_ns = kStartNs - 60 * kNsPerSecond,
                  .failing_since_ns = kStartNs - 90 * kNsPerSecond,
                  .errors = 2,
                  .last_error_ns = kStartNs - 70 * kNsPerSecond,
                  .last_error = "disk \"full\""}};
  ViewTimes top{.view = "top", .counts = {}, .sum_s = 121.25};
  top.counts[0] = 1;      // up to 5 ms
  top.counts[5] = 2;      // up to 250 ms
  top.counts.back() = 1;  // longer than all bounds
  health.questions = {top};
  health.symbolizers = {{.name = "w1", .leases = 2, .tables = 30, .failures = 1, .refused = 3, .expired = 4}};
  health.measured.measured_ns = kStartNs - 4 * kNsPerSecond;
  health.measured.store = store::StoreHealth{.profiles_pending = 6,
                                             .profiles_set_aside = 1,
                                             .locations = 200,
                                             .locations_without_symbols = 50,
                                             .binaries_found = 8,
                                             .binaries_missing = 2,
                                             .blocks_unreadable = 2,
                                             .disk_bytes = 4096};
  health.measured.machines_by_version = {{"1.2.3", {.live = 3, .offline = 1}}};
  health.measured.stops_by_hand = 1;
  return health;
}

TEST(Metrics, AreTextForPrometheus) {
  const std::string text = metrics_text(known_health());
  EXPECT_THAT(
      text,
      AllOf(HasSubstr("# HELP plimsoll_profiles_received_total Uploads of profiles by daemons, by result\n"
                      "# TYPE plimsoll_profiles_received_total counter\n"
                      "plimsoll_profiles_received_total{result=\"accepted\"} 5\n"
                      "plimsoll_profiles_received_total{result=\"duplicate\"} 1\n"
                      "plimsoll_profiles_received_total{result=\"refused\"} 2\n"
                      "plimsoll_profiles_received_total{result=\"failed\"} 0\n"),
            HasSubstr("plimsoll_build_info{version=\"1.2.3\"} 1\n"),
            HasSubstr("plimsoll_samples_received_total 900\n"), HasSubstr("plimsoll_samples_lost_total 7\n"),
            HasSubstr("plimsoll_profiles_pending 6\n"), HasSubstr("plimsoll_blocks_unreadable 2\n"),
            HasSubstr("plimsoll_locations_without_symbols_ratio 0.25\n"),
            HasSubstr("plimsoll_binaries{symbols=\"missing\"} 2\n"),
            HasSubstr("plimsoll_machines{state=\"offline\",version=\"1.2.3\"} 1\n"),
            HasSubstr("plimsoll_collection_stops{by=\"hand\"} 1\n"),
            HasSubstr("plimsoll_daemon_cpu_limit_used_max_ratio 0.5\n"),
            HasSubstr("plimsoll_daemons_bursts{can_record=\"not reported\"} 3\n"),
            HasSubstr("plimsoll_daemon_profiles_dropped_total{reason=\"too_old\"} 4\n"),
            HasSubstr("plimsoll_http_requests_total{listener=\"clients\",status=\"4xx\"} 3\n"),
            HasSubstr("plimsoll_http_connections{listener=\"clients\"} 2\n"),
            HasSubstr("plimsoll_http_requests_waiting{listener=\"clients\",pool=\"long\"} 4\n"),
            HasSubstr("plimsoll_http_requests_running{listener=\"clients\",pool=\"long\"} 2\n"),
            HasSubstr("plimsoll_http_requests_refused_total{listener=\"clients\",pool=\"long\"} 7\n"),
            HasSubstr("plimsoll_http_requests_cancelled_total{listener=\"clients\",pool=\"long\"} 5\n")));
}

TEST(Metrics, CountWhatSymbolizerWorkersDo) {
  EXPECT_THAT(metrics_text(known_health()),
              AllOf(HasSubstr("plimsoll_symbolizer_worker_leases{worker=\"w1\"} 2\n"),
                    HasSubstr("plimsoll_symbolizer_worker_tables_total{worker=\"w1\"} 30\n"),
                    HasSubstr("plimsoll_symbolizer_worker_failures_total{worker=\"w1\"} 1\n"),
                    HasSubstr("plimsoll_symbolizer_worker_refused_total{worker=\"w1\"} 3\n"),
                    HasSubstr("plimsoll_symbolizer_worker_expired_total{worker=\"w1\"} 4\n")));
}

TEST(Metrics, HaveAHistogramForEachView) {
  EXPECT_THAT(metrics_text(known_health()),
              AllOf(HasSubstr("# TYPE plimsoll_question_duration_seconds histogram\n"
                              "plimsoll_question_duration_seconds_count{view=\"top\"} 4\n"
                              "plimsoll_question_duration_seconds_sum{view=\"top\"} 121.25\n"
                              "plimsoll_question_duration_seconds_bucket{view=\"top\",le=\"0.005\"} 1\n"),
                    HasSubstr("{view=\"top\",le=\"0.25\"} 3\n"), HasSubstr("{view=\"top\",le=\"120\"} 3\n"),
                    HasSubstr("{view=\"top\",le=\"+Inf\"} 4\n")));
}

TEST(Metrics, TellFailingWorkFromIdleWork) {
  EXPECT_THAT(metrics_text(known_health()),
              AllOf(HasSubstr("plimsoll_background_work_failing{work=\"rows\"} 0\n"),
                    HasSubstr("plimsoll_background_work_failing{work=\"symbols\"} 1\n"),
                    HasSubstr("plimsoll_background_work_failing_seconds{work=\"rows\"} 0\n"),
                    HasSubstr("plimsoll_background_work_failing_seconds{work=\"symbols\"} 90\n"),
                    HasSubstr("plimsoll_background_work_errors_total{work=\"symbols\"} 2\n"),
                    HasSubstr("plimsoll_background_work_last_error_age_seconds{work=\"symbols\"} 70\n"),
                    Not(HasSubstr("full\\\"")),  // its error
                    Not(HasSubstr("last_error_age_seconds{work=\"rows\"")),
                    HasSubstr("plimsoll_background_work_running_seconds{work=\"symbols\"} 60\n"),
                    HasSubstr("plimsoll_background_work_success_age_seconds{work=\"rows\"} 3\n"),
                    Not(HasSubstr("success_age_seconds{work=\"symbols\"}"))));
}

TEST(Metrics, LeaveOutWhatCouldNotBeMeasured) {
  ServerHealth health = known_health();
  health.measured.store.reset();
  health.measured.store_error = "disk is gone";
  EXPECT_THAT(metrics_text(health), AllOf(HasSubstr("plimsoll_data_directory_measuring_failed 1\n"),
                                          Not(HasSubstr("plimsoll_profiles_pending"))));
}

TEST(Metrics, EscapeVersionsOfDaemons) {
  ServerHealth health = known_health();
  health.measured.machines_by_version = {{"1\"} 5\nevil 1", {.live = 1}}};
  EXPECT_THAT(metrics_text(health),
              AllOf(HasSubstr("version=\"1\\\"} 5?evil 1\"} 1\n"), Not(HasSubstr("\nevil"))));
}

TEST(Metrics, BoundTheVersions) {
  std::map<std::string, MeasuredFacts::Machines> machines;
  for (int i = 0; i < 100; ++i) {
    machines["v" + std::to_string(i)] = {.live = i, .offline = 1};
  }
  limit_versions(machines);
  EXPECT_EQ(machines.size(), kMaxVersions + 1);
  EXPECT_EQ(machines.at("v99").live, 99);
  EXPECT_EQ(machines.at("other").live, 79 * 80 / 2);
  EXPECT_EQ(machines.at("other").offline, 80);
}

TEST(QuestionTimesTest, CountByTheFirstBoundThatIsNotSmaller) {
  QuestionTimes times({"diff", "top"});
  times.note("top", 5 * kNsPerMs);
  times.note("top", 6 * kNsPerMs);
  times.note("top", 600 * kNsPerSecond);
  const auto all = times.all();
  ASSERT_EQ(all.size(), 2);
  EXPECT_EQ(all[1].view, "top");
  EXPECT_EQ(all[1].counts[0], 1);
  EXPECT_EQ(all[1].counts[1], 1);
  EXPECT_EQ(all[1].counts.back(), 1);
  EXPECT_DOUBLE_EQ(all[1].sum_s, 600.011);
}

TEST(ProcessHealthTest, IsOfThisProcess) {
  const ProcessHealth health = process_health();
  EXPECT_GT(health.resident_bytes, 1 << 20);
  EXPECT_GT(health.virtual_bytes, health.resident_bytes);
  EXPECT_GE(health.open_fds, 3);
  EXPECT_GE(health.max_fds, health.open_fds);
  const double now_s = static_cast<double>(wall_now_ns()) / static_cast<double>(kNsPerSecond);
  EXPECT_NEAR(health.start_s, now_s, 3600);
}

}  // namespace
}  // namespace plimsoll::server::metrics_test
