#include "scheduler/inventory/inventory_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::scheduler {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// "id datacenter cluster rack platform owner" of each machine; "-" stands for nothing.
std::vector<std::string> read(std::string_view text) {
  const auto machines = parse_inventory(text);
  if (!machines) {
    return {machines.error().text()};
  }
  std::vector<std::string> lines;
  for (const store::InventoryMachine& m : *machines) {
    std::string& line = lines.emplace_back(m.id);
    for (const std::string* text_of : {&m.datacenter, &m.cluster, &m.rack, &m.platform, &m.owner}) {
      line += text_of->empty() ? " -" : " " + *text_of;
    }
  }
  return lines;
}

TEST(InventoryText, IsCsvWithColumnsInAnyOrder) {
  EXPECT_THAT(read("rack,machine,serial,owner\nr1,m1,777,ads\nr2,m2,,\n"),
              ElementsAre("m1 - - r1 - ads", "m2 - - r2 - -"));
}

TEST(InventoryText, IsAJsonList) {
  EXPECT_THAT(
      read(R"( [{"machine": "m1", "datacenter": "fra", "cluster": "c1", "platform": "zen", "ports": [1]},
                       {"machine": "m2", "rack": null, "owner": "ads"}])"),
      ElementsAre("m1 fra c1 - zen -", "m2 - - - - ads"));
  EXPECT_THAT(read("[]"), IsEmpty());
}

TEST(InventoryText, ThatMakesNoSenseSaysWhere) {
  EXPECT_THAT(read("rack\nr1\n"),
              ElementsAre(HasSubstr("no such column: \"machine\"; the first line names")));
  EXPECT_THAT(read(""), ElementsAre(HasSubstr("no such column: \"machine\"")));
  EXPECT_THAT(read("machine,rack\n,r1\n"), ElementsAre(HasSubstr("entry 1: machine is missing")));
  EXPECT_THAT(read("machine\nm1\nm1\n"), ElementsAre(HasSubstr("machine m1 is listed twice")));
  EXPECT_THAT(read("machine,rack\nm1,\x01\n"), ElementsAre(HasSubstr("entry 1 (m1): rack must be")));
  EXPECT_THAT(read(R"([{"machine": 7}])"), ElementsAre(HasSubstr("entry 1: machine is not a text")));
  EXPECT_THAT(read(R"([7])"), ElementsAre(HasSubstr("entry 1: machine is missing")));
  EXPECT_THAT(read("[{"), ElementsAre(HasSubstr("not a JSON list")));
  EXPECT_THAT(read("{\"machine\": \"m1\"}"), ElementsAre(HasSubstr("not a JSON list")));
}

// "machine job instance quota weight" of each.
std::vector<std::string> read_instances(std::string_view text) {
  const auto instances = parse_inventory_instances(text);
  if (!instances) {
    return {instances.error().text()};
  }
  std::vector<std::string> lines;
  for (const store::InventoryInstance& i : *instances) {
    lines.push_back(fmt::format("{} {} '{}' {} {}", i.machine_id, i.job, i.instance, i.quota_cpus, i.weight));
  }
  return lines;
}

TEST(InventoryOfInstances, IsCsvOrAJsonList) {
  EXPECT_THAT(read_instances("job,machine,quota_cpus,instance,team\ndb,m1,1.5,db-0,x\nweb,m1,,,y\n"),
              ElementsAre("m1 db 'db-0' 1.5 0", "m1 web '' 0 0"));
  EXPECT_THAT(read_instances(R"([{"machine": "m1", "job": "db", "quota_cpus": 2, "weight": "50"}])"),
              ElementsAre("m1 db '' 2 50"));
}

TEST(InventoryOfInstances, ThatMakesNoSenseSaysWhere) {
  EXPECT_THAT(read_instances("machine\nm1\n"), ElementsAre(HasSubstr("no such column: \"job\"")));
  EXPECT_THAT(read_instances("machine,job\nm1,\n"), ElementsAre(HasSubstr("entry 1 (m1): job is missing")));
  EXPECT_THAT(read_instances("machine,job\nm1,a\nm1,a\n"), ElementsAre(HasSubstr("is listed twice")));
  for (const std::string wrong : {"-1", "nan", "inf", "2 CPUs", "1e99"}) {
    EXPECT_THAT(read_instances("machine,job,quota_cpus\nm1,a,1\nm1,b," + wrong + "\n"),
                ElementsAre(HasSubstr("entry 2 (b of m1): quota_cpus must be a number")));
  }
  EXPECT_THAT(read_instances(R"([{"machine": "m1", "job": "db", "quota_cpus": [2]}])"),
              ElementsAre(HasSubstr("entry 1: quota_cpus is not a number")));
}

}  // namespace
}  // namespace plimsoll::scheduler
