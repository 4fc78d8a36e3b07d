#include "query/operations/machines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/query/fleet_fixture.h"
#include "tests/unit/store/placed_jobs.h"

namespace plimsoll::query::machines_test {
namespace {

using ::testing::HasSubstr;

store::LiveMachine machine(const std::string& id, int64_t last_seen_ns) {
  store::LiveMachine machine;
  machine.attributes.set_id(id);
  machine.attributes.set_hostname("host-" + id);
  machine.attributes.set_cores(8);
  machine.attributes.set_daemon_version("0.1");
  machine.first_seen_ns = 1'000'000'000;
  machine.last_seen_ns = last_seen_ns;
  machine.heartbeat_ns = 1'000'000'000;
  return machine;
}

wire::InstanceUsage usage(const std::string& job, const std::string& instance, double quota_cpus,
                          int64_t cpu_time_ns) {
  wire::InstanceUsage usage;
  usage.set_job(job);
  usage.set_instance(instance);
  usage.set_quota_cpus(quota_cpus);
  usage.set_weight(100);
  usage.set_cpu_time_ns(cpu_time_ns);
  return usage;
}

std::string ask(const Parameters& parameters, const Fleet& fleet, const LiveFleet& live) {
  const auto request = parse_machines(parameters, 10'000'000'000);
  if (!request) {
    return request.error().text();
  }
  return csv(machines(*request, **Snapshot::load(fleet.path()), live));
}

TEST(Machines, LiveOnesComeFirstAndProfilesTellOfOthers) {
  Fleet fleet;
  fleet.add({.seed = 1, .machine = "imported", .from_ns = 2'000'000'000, .length_ns = 1'000'000'000});
  fleet.add({.seed = 2, .machine = "imported", .from_ns = 5'000'000'000, .length_ns = 1'000'000'000});
  fleet.add({.seed = 3, .machine = "z-live"});
  store::LiveMachine in_inventory = machine("z-live", 9'000'000'000);
  in_inventory.rack = "r7";
  in_inventory.owner = "ads";
  in_inventory.missing_events = {"cycles", "llc-misses"};
  in_inventory.refused = 3;
  in_inventory.refused_why = "cpu-clock counts 1e+31";
  store::LiveMachine unheard;
  unheard.attributes.set_id("unheard");
  const LiveFleet live{
      {machine("a-gone", 4'000'000'000), unheard, in_inventory},
      {{"z-live", 9'000'000'000, 500, {usage("db", "a", 1.5, 250), usage("web", "b", 2, 500)}}}};
  EXPECT_EQ(
      ask({}, fleet, live),
      "machine,hostname,state,platform,cores,architecture,kernel,datacenter,cluster,rack,owner,version,"
      "first_seen,last_seen,instances,cpu_quota,cpu_used,missing_events,refused,"
      "refused_why\n"
      "z-live,host-z-live,live,,8,,,,,r7,ads,0.1,1970-01-01T00:00:01Z,1970-01-01T00:00:09Z,2,3.5,1.5,cycles "
      "llc-misses,3,cpu-clock counts 1e+31\n"
      "a-gone,host-a-gone,gone,,8,,,,,,,0.1,1970-01-01T00:00:01Z,1970-01-01T00:00:04Z,,,,,,\n"
      "imported,imported,profiles,,4,,,,,,,,1970-01-01T00:00:02Z,1970-01-01T00:00:06Z,,,,,,\n"
      "unheard,,unheard,,0,,,,,,,,,,,,,,,\n");
}

TEST(Machines, OfThePastAreAskedFor) {
  Fleet fleet;
  fleet.add({.seed = 1, .machine = "later", .from_ns = 8'000'000'000, .length_ns = 1'000'000'000});
  const LiveFleet then{{machine("m1", 4'000'000'000)}, {}};
  EXPECT_THAT(ask({{"at", "1970-01-01T00:00:05Z"}}, fleet, then), HasSubstr("m1,host-m1,live,"));
  EXPECT_THAT(ask({{"at", "1970-01-01T00:00:05Z"}}, fleet, then), ::testing::Not(HasSubstr("later")));
  EXPECT_THAT(ask({{"at", "tomorrow"}}, fleet, then), HasSubstr("not a time in the past"));
  EXPECT_THAT(ask({{"at", "1h"}, {"by", "instance"}}, fleet, then),
              HasSubstr("past instances are not stored"));
}

TEST(Machines, OfThePastHadTheirInstancesAndQuotas) {
  const Fleet fleet;
  const LiveFleet then{.machines = {machine("m1", 4'000'000'000)},
                       .censuses = {},
                       .past_jobs = plimsoll::testing::placed_jobs({{{"db", 2, 1, 1.5}, {"web", 1, 0, 2}}})};
  EXPECT_THAT(ask({{"at", "1970-01-01T00:00:05Z"}}, fleet, then), HasSubstr(",3,3.5,,"));
}

TEST(Machines, InstancesStandByTheCpusThatTheyUse) {
  const Fleet fleet;
  const LiveFleet live{{machine("m1", 9'000'000'000), machine("m2", 9'000'000'000)},
                       {{"m1", 9'000'000'000, 1000, {usage("db", "a", 0, 250), usage("web", "b", 2, 500)}},
                        {"m2", 9'000'000'000, 0, {usage("db", "c", 1, 0)}}}};
  EXPECT_EQ(ask({{"by", "instance"}}, fleet, live),
            "machine,job,instance,container,cpu_quota,weight,cpu_used,seen\n"
            "m1,web,b,,2,100,0.5,1970-01-01T00:00:09Z\n"
            "m1,db,a,,,100,0.25,1970-01-01T00:00:09Z\n"
            "m2,db,c,,1,100,,1970-01-01T00:00:09Z\n");
}

TEST(Machines, TextHasNoLineAboutSamples) {
  const Fleet fleet;
  const auto table = machines({}, **Snapshot::load(fleet.path()), {{machine("m1", 5)}, {}});
  EXPECT_THAT(to_text(table), HasSubstr("m1"));
  EXPECT_THAT(to_text(table), ::testing::Not(HasSubstr("samples")));
}

TEST(Machines, ParametersAreChecked) {
  const Fleet fleet;
  EXPECT_THAT(ask({{"by", "app"}}, fleet, {}), HasSubstr("not machine or instance"));
  EXPECT_THAT(ask({{"buy", "instance"}}, fleet, {}), HasSubstr("did you mean by?"));
}

}  // namespace
}  // namespace plimsoll::query::machines_test
