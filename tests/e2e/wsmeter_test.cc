// What a change is worth, on the command line: from profiles, by tables or at once, to a plan, a verdict and a report.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/durable_file.h"
#include "http/client.h"
#include "proto/fleet.pb.h"
#include "proto/profile_codec.h"
#include "tests/e2e/fleet.h"
#include "tests/e2e/program.h"
#include "tests/profile_fixture.h"
#include "tests/well_formed_xml.h"

namespace plimsoll::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::string_view kProtobuf = "application/x-protobuf";
constexpr int kMachines = 16;                           // of either platform
constexpr int64_t kFromNs = 1'700'000'000'000'000'000;  // 2023-11-14T22:13:20Z

// Twice 16 machines with an instance of each of two jobs. On the new platform web is a tenth faster, and db as fast as before.
class Wsmeter : public ::testing::Test {
 protected:
  void SetUp() override {
    import("old", 1);
    import("new", 1.1);
    jobs_ = file("jobs.csv", "job,quota\nweb,60\ndb,40\n");
  }

  // Machines of a platform, on which web is so many times as fast.
  void import(const std::string& platform, double gain, int64_t from_ns = kFromNs) {
    std::vector<std::string> command{"plimsoll", "import", "--data", data_};
    for (int i = 0; i < kMachines; ++i) {
      for (const std::string job : {"web", "db"}) {
        const double scatter = 1 + 0.01 * ((i * 7 % kMachines) - 7.5) / 7.5;
        const double instructions = 8000 * (job == "web" ? gain : 1) * scatter;
        wire::RawProfile profile = make_profile(
            {.seed = ++seed_,
             .machine = fmt::format("{}{}", platform, i),
             .from_ns = from_ns,
             .length_ns = 60'000'000'000,
             .events = {{.name = "cycles", .scale = 1000}, {.name = "instructions", .scale = 1000}},
             .job = job,
             .stacks = fmt::format("main 10000\nevent=instructions main {:.0f}\n", instructions)});
        profile.mutable_machine()->set_platform(platform);
        profile.mutable_processes(0)->set_instance(fmt::format("{}/{}/{}", job, platform, i));
        const std::string path = folder_ / fmt::format("{}.profile", seed_);
        ASSERT_TRUE(write_file_durably(path, as_bytes(wire::encode(profile))));
        command.push_back(path);
      }
    }
    const Finished imported = run(command);
    ASSERT_EQ(imported.status, 0) << imported.err;
  }

  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }

  Finished plimsoll(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "plimsoll");
    return run(arguments);
  }

  // What it prints; it must succeed.
  std::string said(std::vector<std::string> arguments) const {
    const Finished finished = plimsoll(std::move(arguments));
    EXPECT_EQ(finished.status, 0) << finished.err;
    return finished.out;
  }

  // The error; it must fail.
  std::string refused(std::vector<std::string> arguments) const {
    const Finished finished = plimsoll(std::move(arguments));
    EXPECT_NE(finished.status, 0) << finished.out;
    return finished.err;
  }

  TemporaryFolder folder_;
  std::string data_ = folder_ / "data";
  std::string jobs_;
  uint64_t seed_ = 0;  // of the newest profile
};

TEST_F(Wsmeter, RowsAreJudgedAsTheirTableIs) {
  const std::string table = file("fleet.csv", said({"wsmeter", "observations", "--data", data_, "--csv"}));
  const auto evaluate = [&](std::vector<std::string> from) {
    std::vector<std::string> command{"wsmeter", "evaluate", "--jobs",           jobs_,   "--current", "old",
                                     "--new",   "new",      "--current-sample", "--json"};
    command.insert(command.end(), from.begin(), from.end());
    return said(command);
  };
  const std::string of_rows = evaluate({"--data", data_});
  EXPECT_EQ(of_rows, evaluate({"--performance", table}));
  // 0.6 x 1.1 + 0.4
  EXPECT_THAT(of_rows, HasSubstr("better: the metric changes by +6 %"));
  EXPECT_THAT(evaluate({"--data", data_, "--where", "job=db"}), HasSubstr("cannot tell"));
  EXPECT_THAT(refused({"wsmeter", "evaluate", "--data", data_, "--jobs", jobs_, "--current", "old", "--new",
                       "new", "--ratio", "cycles/nothing"}),
              HasSubstr("nothing"));
}

TEST_F(Wsmeter, QuotasAreThoseThatDaemonsTell) {
  TestServer server(data_);
  ASSERT_TRUE(server.becomes_ready());
  http::Client client({.base_url = server.fleet_address()});
  wire::RegisterRequest registration;
  registration.set_format_version(wire::kFormatVersion);
  registration.mutable_machine()->set_id("old0");
  registration.mutable_machine()->set_boot_id("boot");
  ASSERT_TRUE(client.send("POST", "/fleet/v1/register", registration.SerializeAsString(), kProtobuf)->ok());
  wire::HeartbeatRequest heartbeat;
  heartbeat.set_format_version(wire::kFormatVersion);
  heartbeat.set_machine_id("old0");
  heartbeat.set_boot_id("boot");
  heartbeat.set_census_ns(2'000'000'000);
  for (const auto& [job, quota] : {std::pair("web", 6.0), std::pair("db", 2.0)}) {
    wire::InstanceUsage& usage = *heartbeat.add_instances();
    usage.set_job(job);
    usage.set_instance(fmt::format("{}/old/0", job));
    usage.set_quota_cpus(quota);
  }
  ASSERT_TRUE(client.send("POST", "/fleet/v1/heartbeat", heartbeat.SerializeAsString(), kProtobuf)->ok());
  const std::string baseline =
      said({"wsmeter", "baseline", "--server", server.address(), "--current", "old", "--csv"});
  EXPECT_THAT(baseline, AllOf(HasSubstr("web,0.75,"), HasSubstr("db,0.25,")));
  EXPECT_EQ(baseline, said({"wsmeter", "baseline", "--data", data_, "--current", "old", "--csv"}));
  EXPECT_THAT(said({"wsmeter", "observations", "--server", server.address(), "--csv"}),
              HasSubstr("old0,,old,web/old/0,"));
}

TEST_F(Wsmeter, ABaselineIsWhatPlansAreMadeFrom) {
  const std::string baseline =
      file("baseline.csv",
           said({"wsmeter", "baseline", "--data", data_, "--jobs", jobs_, "--current", "old", "--csv"}));
  EXPECT_THAT(said({"wsmeter", "plan", "--table", baseline, "--margin", "0.01", "--csv"}),
              StartsWith("job,weight,observe,cost\r\nweb,0.6,4,0.15"));
  // 16 instances of web have 0.6, and of db 0.4: 4 of each cost 0.25, and what is left buys 12 more of db, or 8 of web.
  EXPECT_THAT(said({"wsmeter", "plan", "--table", baseline, "--budget", "0.5"}),
              HasSubstr("no plan within the budget of 0.5 has a margin below"));
  EXPECT_THAT(refused({"wsmeter", "plan", "--table", baseline, "--budget", "0.2"}),
              HasSubstr("the minimum instances per job cost 0.25, more than the budget of 0.2"));
  const std::string curve = said({"wsmeter", "plan", "--table", baseline, "--curve", "--csv"});
  EXPECT_THAT(curve, StartsWith("margin,instances,cost,min_cost\r\n"));
  EXPECT_GE(std::ranges::count(curve, '\n'), 4);
  EXPECT_THAT(refused({"wsmeter", "plan", "--table", baseline}), HasSubstr("one of --margin"));
}

TEST_F(Wsmeter, CurvesAndCoverageAreDrawnAsSvg) {
  const std::vector<std::string> baseline{"wsmeter", "baseline", "--data",    data_,
                                          "--jobs",  jobs_,      "--current", "old"};
  const auto with = [](std::vector<std::string> command, const std::vector<std::string>& more) {
    command.insert(command.end(), more.begin(), more.end());
    return command;
  };
  const std::string coverage = said(with(baseline, {"--svg", "-"}));
  EXPECT_EQ(xml_error(coverage), "");
  EXPECT_THAT(coverage,
              AllOf(HasSubstr("<title>1 job: 60 % of the quota; the last is web (weight 60 %)</title>"),
                    HasSubstr("<title>2 jobs: 100 % of the quota; the last is db (weight 40 %)</title>")));
  const std::string table = said(with(baseline, {"--csv"}));
  EXPECT_EQ(said(with(baseline, {"--csv", "--svg", folder_ / "coverage.svg"})), table) << "beside the table";
  std::ifstream written(folder_ / "coverage.svg", std::ios::binary);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(written), {}), coverage);

  const std::vector<std::string> plan{"wsmeter", "plan", "--table", file("baseline.csv", table)};
  const std::string curve = said(with(plan, {"--curve", "--svg", "-"}));
  EXPECT_EQ(xml_error(curve), "");
  EXPECT_THAT(curve, AllOf(HasSubstr(">margin (% of the metric)</text>"),
                           HasSubstr(">lower bound of any plan</text>"),
                           HasSubstr("8 instances, cost 0.25</title>")));
  EXPECT_THAT(refused(with(plan, {"--margin", "1%", "--svg", "-"})), HasSubstr("--svg requires --curve"));
}

TEST_F(Wsmeter, AClusterIsMadeOfMachines) {
  const auto cluster = [&](const std::string& coverage) {
    return std::vector<std::string>{"wsmeter",   "cluster", "--data",          data_, "--jobs",     jobs_,
                                    "--current", "old",     "--min-instances", "3",   "--coverage", coverage,
                                    "--json"};
  };
  const auto table = query::from_json(said(cluster("0.9")));
  ASSERT_TRUE(table) << table.error().text();
  ASSERT_EQ(table->rows.size(), 3) << "each machine has an instance of each job";
  EXPECT_THAT(std::get<std::string>(table->rows[0][0]), StartsWith("old"));
  EXPECT_THAT(table->notes[0], HasSubstr("3 of 16 machines"));
}

TEST_F(Wsmeter, AnExperimentGoesFromItsDefinitionToAReport) {
  const std::string path = folder_ / "gen2.toml";
  const std::vector<std::string> define{"experiment",
                                        "define",
                                        path,
                                        "--feature",
                                        "new machines",
                                        "--control",
                                        "platform=old",
                                        "--test",
                                        "platform=new",
                                        "--since",
                                        "2023-11-14T22:00:00Z",
                                        "--margin",
                                        "1%"};
  EXPECT_THAT(said(define), HasSubstr("plimsoll experiment plan"));
  EXPECT_THAT(refused(define), HasSubstr("exists already"));
  EXPECT_THAT(refused({"experiment", "define", folder_ / "other.toml", "--feature", "x", "--control",
                       "platfrom=old", "--test", "platform=new"}),
              HasSubstr("platfrom"));
  const auto about = [&](std::vector<std::string> command) {
    command.insert(command.begin(), "experiment");
    command.insert(command.end(), {path, "--data", data_, "--jobs", jobs_});
    return command;
  };
  EXPECT_THAT(said(about({"plan", "--since", "2023-11-14T22:00:00Z", "--csv"})),
              AllOf(StartsWith("job,weight,control,observe,cost,top_coverage\r\nweb,0.6,16,"),
                    HasSubstr("db,0.4,16,")));
  EXPECT_THAT(said(about({"watch"})), HasSubstr("(100 %), so that the metric has a margin of 1 %"));
  EXPECT_THAT(
      said(about({"report"})),
      AllOf(StartsWith("# gen2\n\nnew machines\n\n## Verdict\n\n**better**: the metric changes by +6 %"),
            HasSubstr("platform=new: 32 instances"), HasSubstr("## Warnings\n\nNone.")));
  const auto report = nlohmann::json::parse(said(about({"report", "--json"})));
  EXPECT_EQ(report["verdict"], "better");
  EXPECT_NEAR(report["change"], 0.06, 0.001);
  EXPECT_EQ(report["jobs"].size(), 2);
}

TEST_F(Wsmeter, AnExperimentThatAServerKeepsGoesByItsName) {
  TestServer server(data_);
  ASSERT_TRUE(server.becomes_ready());
  const auto define = [&](const std::string& test, const std::vector<std::string>& more) {
    std::vector<std::string> command{"experiment",       "define",    "gen 2",         "--feature",
                                     "new machines",     "--control", "platform=old",  "--test",
                                     "platform=" + test, "--server",  server.address()};
    command.insert(command.end(), more.begin(), more.end());
    return command;
  };
  const auto about = [&](std::vector<std::string> command) {
    command.insert(command.begin(), "experiment");
    command.insert(command.end(), {"gen 2", "--server", server.address(), "--jobs", jobs_});
    return command;
  };
  EXPECT_THAT(said(define("new", {})), HasSubstr("experiment gen 2 is defined"));
  EXPECT_THAT(refused(about({"watch"})), HasSubstr("has not begun"));
  const std::vector<std::string> begun{"--since", "2023-11-14T22:00:00Z", "--owner", "ann"};
  EXPECT_THAT(said(define("new", begun)), HasSubstr("experiment gen 2 is changed"));
  EXPECT_THAT(said(define("new", begun)), HasSubstr("experiment gen 2 is defined so already"));
  EXPECT_THAT(refused(define("late", begun)),
              AllOf(HasSubstr("is running: its test cannot change"), HasSubstr("withdraw this one first")));
  const std::vector<std::string> list{"experiment", "list", "--server", server.address()};
  EXPECT_THAT(said(list), AllOf(HasSubstr("gen 2"), HasSubstr("running"), HasSubstr("platform=new"),
                                Not(HasSubstr("definition"))));

  EXPECT_THAT(said(about({"plan", "--since", "2023-11-14T22:00:00Z", "--csv"})), HasSubstr("web,0.6,16,"));
  EXPECT_THAT(said(about({"watch"})), HasSubstr("(100 %), so that the metric has a margin of 1 %"));
  EXPECT_THAT(said(about({"report"})),
              StartsWith("# gen 2\n\nnew machines\n\n## Verdict\n\n**better**: the metric changes by +6 %"));

  EXPECT_THAT(refused({"experiment", "report", "gen", "--server", server.address()}),
              HasSubstr("no experiment is called \"gen\""));
  EXPECT_THAT(refused({"experiment", "define", "x.toml", "--feature", "x", "--control", "a=1", "--test",
                       "a=2", "--server", server.address()}),
              HasSubstr("x.toml is a file"));
  EXPECT_EQ(server.stop().status, 0);
  EXPECT_THAT(said({"experiment", "list", "--data", data_, "--csv"}),
              HasSubstr("gen 2,running,new machines,ann,"));
  server.start();
  ASSERT_TRUE(server.becomes_ready());
  EXPECT_THAT(said({"experiment", "withdraw", "gen 2", "--server", server.address()}),
              HasSubstr("experiment gen 2 is withdrawn"));
  EXPECT_THAT(refused({"experiment", "withdraw", "gen 2", "--server", server.address()}),
              HasSubstr("no experiment is called"));
  EXPECT_THAT(said(list), HasSubstr("no experiments are defined"));
}

TEST_F(Wsmeter, WhoWatchesWaitsUntilAllIsThere) {
  const std::string path = file("late.toml",
                                "[experiment]\nname = \"late\"\n[arms]\ncontrol = [\"platform=old\"]\ntest = "
                                "[\"platform=late\"]\n[time]\nsince = \"2023-11-14T22:00:00Z\"\n");
  Background watch(
      {"plimsoll", "experiment", "watch", path, "--data", data_, "--jobs", jobs_, "--every", "1"});
  ASSERT_TRUE(eventually([&] { return watch.out().find("  0 of ") != std::string::npos; })) << watch.err();
  import("late", 1);
  const Finished finished = watch.wait();
  EXPECT_EQ(finished.status, 0) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("(100 %), so that the metric has a margin of 1 %"));
}

// Who has the feature is told by what runs, not by the machine; the test began an hour later.
TEST_F(Wsmeter, AnExperimentWhoseArmsRanAtOtherTimesSaysSo) {
  import("late", 1, kFromNs + 3'600'000'000'000);
  const auto report = [&](const std::string& test) {
    return said(
        {"experiment", "report",
         file("times.toml", fmt::format("[experiment]\nname = \"x\"\n[arms]\ncontrol = "
                                        "[\"instance=~/old/\"]\ntest = [\"instance=~/{}/\"]\n[time]\nsince "
                                        "= \"2023-11-14T22:00:00Z\"\n",
                                        test)),
         "--data", data_, "--jobs", jobs_});
  };
  EXPECT_THAT(report("late"),
              HasSubstr("not observed over the same time: 100 % of the control's load, and 0 %"));
  EXPECT_THAT(report("new"), Not(HasSubstr("not observed over the same time")));
}

TEST_F(Wsmeter, ADefinitionThatIsNoneIsNotWritten) {
  const std::string path = folder_ / "none.toml";
  const auto refused_with = [&](std::vector<std::string> more) {
    std::vector<std::string> command{"experiment", "define", path, "--feature", "x"};
    command.insert(command.end(), more.begin(), more.end());
    const std::string error = refused(command);
    EXPECT_FALSE(std::filesystem::exists(path));
    return error;
  };
  const std::vector<std::string> arms{"--control", "platform=old", "--test", "platform=new"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), arms.begin(), arms.end());
    return more;
  };
  EXPECT_THAT(refused_with({"--control", "platform=old", "--test", "job=\xff"}), HasSubstr("none.toml"));
  EXPECT_THAT(refused_with(with({"--since", "soon"})), HasSubstr("\"soon\" is not a time"));
  EXPECT_THAT(refused_with(with({"--ratio", "speed"})), HasSubstr("speed"));
  EXPECT_THAT(refused_with(with({"--ratio", "cpi"})), HasSubstr("more is worse"));
  EXPECT_THAT(refused_with(with({"--margin", "nan"})), HasSubstr("\"nan\" is not a share"));
  EXPECT_THAT(refused({"experiment", "define", std::string(300, 'x'), "--feature", "x", "--control",
                       "platform=old", "--test", "platform=new"}),
              HasSubstr("xxx"));
  // Whatever TOML has to quote comes back as it was.
  const std::string feature = "half \"price\" \\ 'pages'\n# more";
  said({"experiment", "define", path, "--feature", feature, "--control", "platform=old", "--test",
        "platform=~^n\\w+$", "--since", "2023-11-14T22:00:00Z"});
  EXPECT_THAT(said({"experiment", "report", path, "--data", data_, "--jobs", jobs_, "--json"}),
              AllOf(HasSubstr(R"("feature": "half \"price\" \\ 'pages'\n# more")"),
                    HasSubstr("\"verdict\": \"better\"")));
}

TEST_F(Wsmeter, AnExperimentWithoutATestSaysSo) {
  const std::string path = file("lonely.toml",
                                "[experiment]\nname = \"x\"\n[arms]\ncontrol = [\"platform=old\"]\ntest = "
                                "[\"platform=never\"]\n[time]\nsince = \"2023-11-14T22:00:00Z\"\n");
  EXPECT_THAT(refused({"experiment", "report", path, "--data", data_, "--jobs", jobs_}),
              HasSubstr("web: no new observations"));
  EXPECT_THAT(refused({"experiment", "report", file("bad.toml", "[arms]\ncontrol = 5\n"), "--data", data_}),
              HasSubstr("bad.toml:2"));
  EXPECT_THAT(
      refused({"experiment", "report",
               file("none.toml", "[arms]\ncontrol = [\"a=b\"]\n[time]\nsince = \"7d\"\n"), "--data", data_}),
      HasSubstr("no filter for the test arm"));
}

TEST_F(Wsmeter, WhatMakesNoSenseIsNamed) {
  EXPECT_THAT(refused({"wsmeter", "baseline"}), HasSubstr("performance data is missing"));
  EXPECT_THAT(refused({"wsmeter", "baseline", "--performance", jobs_, "--data", data_}),
              HasSubstr("excludes"));
  EXPECT_THAT(refused({"wsmeter", "baseline", "--performance", jobs_, "--jobs", jobs_, "--where", "job=web"}),
              HasSubstr("filters and --ratio do not apply"));
  EXPECT_THAT(refused({"wsmeter", "baseline", "--data", data_, "--current", "old"}),
              HasSubstr("--jobs FILE"));
  EXPECT_THAT(refused({"wsmeter", "observations"}), HasSubstr("is required"));
  const auto evaluated = [&](const std::string& rows, const std::string& jobs) {
    return refused({"wsmeter", "evaluate", "--performance",
                    file("p.csv", "platform,job,instance,performance\n" + rows), "--jobs",
                    file("j.csv", "job,quota\n" + jobs), "--current", "old", "--new", "new"});
  };
  EXPECT_THAT(evaluated("old,web,1,nan\n", "web,1\n"), HasSubstr("line 2: performance must be a number"));
  EXPECT_THAT(evaluated("old,web,1,1\nnew,web,1,1\nnew,web,2,1\n", "web,-1\n"),
              HasSubstr("must not be negative"));
  EXPECT_THAT(evaluated("old,web,1,1\n", "web,1\n"), HasSubstr("no observations of the platform new"));
  EXPECT_THAT(evaluated("", "web,1\n"), HasSubstr("no observations of old or any platform"));
  EXPECT_THAT(evaluated("old,web,1,1\nnew,db,1,1\nnew,db,2,1\n", "web,1\n"), HasSubstr("web"));
}

TEST_F(Wsmeter, AssignPutsJobsOnPlatforms) {
  const std::vector<std::string> tables{
      "assign",
      "--costs",
      file("costs.csv", "job,platform,cpi\nweb,old,2\nweb,new,1\ndb,old,1.1\ndb,new,1\n"),
      "--jobs",
      file("load.csv", "job,load\nweb,100\ndb,100\n"),
      "--platforms",
      file("platforms.csv", "platform,capacity\nold,1000\nnew,120\n")};
  // web gains most from the new platform, which has no room for both.
  auto command = tables;
  command.emplace_back("--csv");
  EXPECT_THAT(said(command), AllOf(HasSubstr("web,new,100,"), HasSubstr("db,new,"), HasSubstr("db,old,80,")));
  command = tables;
  command.back() = file("small.csv", "platform,capacity\nold,10\nnew,10\n");
  EXPECT_THAT(refused(command), HasSubstr("web"));
}

// All machines are equal, and web gains from the new ones: there is room for it, so db makes way.
TEST_F(Wsmeter, AssignGoesByWhatWasMeasured) {
  const std::string measured = said({"assign", "--data", data_, "--measured", "--csv"});
  EXPECT_THAT(measured, AllOf(StartsWith("job,platform,cpi,margin,margin_kind,load,machines\r\n"),
                              HasSubstr("db,new,1.25"), HasSubstr("web,old,1.25")));
  // 16 machines a platform, each with 10,000 thousand cycles of either job in 2 minutes: 2.67 million a second.
  const std::string platforms = file("platforms.csv", "platform,capacity\nold,4e6\nnew,2.7e6\n");
  const std::string plan =
      said({"assign", "--data", data_, "--platforms", platforms, "--by", "move", "--csv"});
  EXPECT_THAT(plan, AllOf(HasSubstr("web,old,new,"), HasSubstr("db,new,old,")));
  const std::string pairs = file("pairs.csv", measured);
  const std::string loads = file("loads.csv", "job,load\nweb,1000\ndb,1000\n");
  EXPECT_THAT(said({"assign", "--costs", pairs, "--jobs", loads, "--platforms", platforms, "--csv"}),
              HasSubstr("web,new,1000,"));
  EXPECT_THAT(refused({"assign", "--platforms", platforms}), HasSubstr("missing --costs and --jobs"));
  EXPECT_THAT(refused({"assign", "--data", data_}), HasSubstr("--platforms FILE is required"));
}

}  // namespace
}  // namespace plimsoll::testing
