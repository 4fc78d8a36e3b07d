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

Observations two_of_a_job() {
  return {.event = "instructions/cycles",
          .performance_unit = "instructions/cycles",
          .load_unit = "count",
          .seen = {{.job = "a",
                    .machine = "m1",
                    .rack = "r1",
                    .platform = "A",
                    .instance = "a/0",
                    .performance = 1.5,
                    .margin = 0.25,
                    .margin_kind = "within one machine",
                    .load = 400,
                    .quota_cpus = 2},
                   {.job = "a, b",
                    .machine = "m2",
                    .platform = "A",
                    .instance = "a/1",
                    .performance = 3,
                    .margin_kind = "too few samples",
                    .load = 7}},
          .notes = {"a note"},
          .coverage = {.from_ns = 5'000'000'000, .to_ns = 9'000'000'000}};
}

TEST(Observations, AreTheSameFromTheirTable) {
  const auto read = from_json(to_json(table_of(two_of_a_job())));
  ASSERT_TRUE(read) << read.error().text();
  const auto again = observations_in(*read);
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(to_json(table_of(*again)), to_json(table_of(two_of_a_job())));
  ASSERT_EQ(again->seen.size(), 2);
  EXPECT_EQ(again->seen[0].rack, "r1");
  EXPECT_EQ(again->seen[0].margin, 0.25);
  EXPECT_EQ(again->seen[0].load, 400);
  EXPECT_EQ(again->seen[0].quota_cpus, 2);
  EXPECT_FALSE(again->seen[1].margin);
  EXPECT_FALSE(again->seen[1].quota_cpus);
  EXPECT_EQ(again->coverage.to_ns, 9'000'000'000);
}

TEST(Observations, OfAnotherTableAreAnError) {
  Table table = table_of(two_of_a_job());
  table.rows[1][5] = std::string("fast");
  EXPECT_EQ(observations_in(table).error().code, ErrorCode::kCorrupt);
  table.columns[1].name = "host";
  EXPECT_THAT(observations_in(table).error().message, HasSubstr("no column \"machine\""));
}

// What is observed is the same on the way through a file.
TEST(Observations, GiveThePerformanceOfTheirCsv) {
  Observations seen = two_of_a_job();
  seen.seen.push_back(seen.seen[0]);
  seen.seen[2].performance = 2;
  const PerformanceTable typed = performance_of(seen);
  const auto read = read_performance(to_csv(table_of(seen)));
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_TRUE(typed.has_machines && typed.has_racks);
  for (const PerformanceTable* table : {&typed, &*read}) {
    const auto& jobs = table->platforms.at("A");
    ASSERT_EQ(jobs.at("a").size(), 1);
    EXPECT_EQ(jobs.at("a")[0].performance, 1.75) << "the mean of both rows";
    EXPECT_EQ(jobs.at("a")[0].rack, "r1");
    EXPECT_EQ(jobs.at("a, b")[0].machine, "m2");
  }
}

TEST(JobQuotas, AreThoseThatDaemonsReport) {
  Table jobs;
  jobs.columns = {{"job", ""}, {"instances", "count"}, {"cpu_quota", "CPUs"}};
  jobs.rows = {{std::string("web"), int64_t{3}, 1.5}, {std::string("free"), int64_t{2}, {}}};
  const auto quotas = job_quotas_in(jobs);
  ASSERT_TRUE(quotas) << quotas.error().text();
  ASSERT_EQ(quotas->size(), 2);
  EXPECT_EQ((*quotas)[0].quota, 1.5);
  EXPECT_EQ((*quotas)[0].instances, 3);
  EXPECT_EQ((*quotas)[1].quota, 0) << "no limit does not count";
  jobs.rows[0][2] = Value();
  EXPECT_THAT(job_quotas_in(jobs).error().text(), HasSubstr("no job has a quota"));
  jobs.rows[0][2] = -1.0;
  EXPECT_EQ(job_quotas_in(jobs).error().code, ErrorCode::kCorrupt);
  jobs.columns[2].name = "quota";
  EXPECT_THAT(job_quotas_in(jobs).error().message, HasSubstr("no column \"cpu_quota\""));
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
