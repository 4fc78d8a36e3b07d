#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/byte_reader.h"
#include "formats/gzip.h"
#include "query/wsmeter/observed/job_quotas.h"
#include "query/wsmeter/observed/performance.h"

namespace plimsoll::query {
namespace {

using ::testing::HasSubstr;

TEST(Performance, IsReadByPlatformAndJob) {
  const auto table = read_performance(
      "platform,job,instance,performance,machine\n"
      "A,search,0,100,m1\nA,search,1,110,m2\nB,search,0,120,m3\n");
  ASSERT_TRUE(table) << table.error().text();
  const auto& search = table->platforms.at("A").at("search");
  ASSERT_EQ(search.size(), 2);
  EXPECT_EQ(search[1].performance, 110);
  EXPECT_EQ(search[1].machine, "m2");
  EXPECT_TRUE(table->has_machines);
  EXPECT_FALSE(table->has_racks);
}

TEST(Performance, OfAnInstanceIsTheMeanOfItsRows) {
  const auto table = read_performance("platform,job,instance,ipc\nA,a,0,1\nA,a,1,5\nA,a,0,2\n");
  ASSERT_TRUE(table);
  const auto& instances = table->platforms.at("A").at("a");
  ASSERT_EQ(instances.size(), 2);
  EXPECT_EQ(instances[0].performance, 1.5);
}

TEST(Performance, MayBeGzipped) {
  const auto zipped = formats::gzip(as_bytes("platform,job,instance,performance\nA,a,0,1\n"));
  ASSERT_TRUE(zipped);
  const auto table = read_performance(*zipped);
  ASSERT_TRUE(table) << table.error().text();
  EXPECT_EQ(table->platforms.size(), 1);
}

TEST(Performance, ThatMakesNoSenseSaysWhere) {
  const auto why = [](std::string_view text) { return read_performance(text).error().text(); };
  EXPECT_THAT(why("platform,job,performance\nA,a,1\n"), HasSubstr("no such column: \"instance\""));
  EXPECT_THAT(why("platform,job,instance,performance\nA,a,0,nan\n"),
              HasSubstr("line 2: performance must be a number, is \"nan\""));
  EXPECT_THAT(why(""), HasSubstr("no such column: \"platform\""));
  const auto table = read_performance("platform,job,instance,performance\nA,a,0,1\n");
  EXPECT_THAT(platform_of(*table, "B").error().text(), HasSubstr("platforms with observations: A"));
  EXPECT_THAT(platform_of({}, "B").error().text(), HasSubstr("or any platform"));
}

TEST(JobQuotas, HaveOneOfSeveralNames) {
  for (const std::string_view name : {"quota", "quota_cores", "quota_cpus"}) {
    const auto jobs = read_job_quotas(fmt::format("job,{},instances,cost\na,10,5,\nb,0,,2\n", name));
    ASSERT_TRUE(jobs) << jobs.error().text();
    EXPECT_EQ((*jobs)[0].quota, 10);
    EXPECT_EQ((*jobs)[0].instances, 5);
    EXPECT_FALSE((*jobs)[0].cost);
    EXPECT_EQ((*jobs)[1].cost, 2);
  }
}

TEST(JobQuotas, ThatMakeNoSenseSayWhere) {
  const auto why = [](std::string_view text) { return read_job_quotas(text).error().text(); };
  EXPECT_THAT(why("job,quota\na,-1\n"), HasSubstr("line 2: the quota of a is -1, must not be negative"));
  EXPECT_THAT(why("job,quota\na,nan\n"), HasSubstr("line 2: quota must be a number"));
  EXPECT_THAT(why("job,quota\na,1\na,2\n"), HasSubstr("line 3: job a is listed twice"));
  EXPECT_THAT(why("job,quota\na,0\n"), HasSubstr("no job has a quota"));
  EXPECT_THAT(why("job,quota\n"), HasSubstr("no job has a quota"));
  EXPECT_THAT(why("job\na\n"), HasSubstr("no such column: \"quota\""));
  EXPECT_THAT(why("job,quota,instances\na,1,1.5\n"), HasSubstr("line 2: instances must be a whole number"));
  EXPECT_THAT(why("job,quota,cost\na,1,0\n"), HasSubstr("line 2: cost is 0"));
}

}  // namespace
}  // namespace plimsoll::query
