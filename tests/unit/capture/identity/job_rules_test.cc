// Rules for who a process works for: what they match, what they make of it, and what is wrong with them.
#include "capture/identity/job_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "config/daemon_config.h"
#include "tests/temporary_directory.h"
#include "tests/unit/capture/identity/container_ids.h"

namespace plimsoll::identity {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

const std::string kPodPath = "/kubepods/burstable/pod" + kPod + "/" + kId;

// From the text of a configuration, as an operator writes it.
Result<JobRules> rules_of(const std::string& toml) {
  const plimsoll::testing::TemporaryDirectory folder;
  const std::string path = folder / "plimsolld.toml";
  std::ofstream(path) << toml;
  const auto config = config::load_daemon_config(
      {.path = path, .environment = [](const char*) -> const char* { return nullptr; }});
  return config ? JobRules::compile(config->identity) : propagate(config);
}

// "job instance image", with the labels behind them.
std::string brief(const JobRules& rules, const ProcessFacts& facts) {
  const Workload workload = rules.apply(facts);
  std::string text = workload.job + " " + workload.instance + " " + workload.image;
  for (const auto& [name, value] : workload.labels) {
    text += fmt::format(" {}={}", name, value);
  }
  return text;
}

TEST(JobRules, ChangeNothingWhereThereAreNone) {
  const auto rules = rules_of("");
  ASSERT_TRUE(rules) << rules.error().text();
  EXPECT_EQ(brief(*rules, {kPodPath, "/usr/bin/search", "s"}), "search " + kId + "  pod=" + kPod);
  EXPECT_EQ(brief(*rules, {"/system.slice/web@1.service", "/usr/bin/python3", "p"}),
            "web /system.slice/web@1.service ");
  EXPECT_EQ(brief(JobRules(), {kPodPath, "/usr/bin/search", "s"}), "search " + kId + " ");
}

TEST(JobRules, TheFirstThatMatchesCounts) {
  const auto rules = rules_of(R"(
    [[identity.rules]]
    unit = "^db-(.+)\\.service$"
    job = "database"
    instance = "$1"
    [[identity.rules]]
    unit = "^db"
    job = "other"
    [[identity.rules]]
    executable = "/python3(?:\\.[0-9]+)?$"
    comm = "^(?P<script>[a-z]+)$"
    job = "py-${script}"
  )");
  ASSERT_TRUE(rules) << rules.error().text();
  EXPECT_EQ(brief(*rules, {"/system.slice/db-north.service", "/usr/bin/pg", "pg"}), "database north ");
  EXPECT_EQ(brief(*rules, {"/system.slice/dbus.service", "/usr/bin/dbus", "d"}),
            "other /system.slice/dbus.service ");
  EXPECT_EQ(brief(*rules, {"/x", "/usr/bin/python3.11", "train"}), "py-train /x ");
  EXPECT_EQ(brief(*rules, {"/x", "/usr/bin/python3.11", "Train"}), "python3.11 /x ")
      << "all patterns must match";
  EXPECT_EQ(brief(*rules, {"/x", "/usr/bin/perl", "train"}), "perl /x ");
}

TEST(JobRules, TemplatesNameGroupsFactsAndVariables) {
  const auto rules = rules_of(R"toml(
    [identity]
    environment = ["ALLOC", "JOB_NAME", "IMAGE"]
    labels = ["unit", "JOB_NAME"]
    [[identity.rules]]
    cgroup = "^/(?P<top>[^/]+)/([^/]+)/"
    environment = "JOB_NAME=(.+)-v([0-9]+)"
    job = "$2"
    instance = "${top}.$1.$3 $$5 ${program}:$comm $ALLOC"
    image = "${IMAGE}"
  )toml");
  ASSERT_TRUE(rules) << rules.error().text();
  const Environment environment{{"ALLOC", "a7"}, {"IMAGE", "repo/x:1"}, {"JOB_NAME", "search-v12"}};
  EXPECT_EQ(brief(*rules, {"/jobs/q/web.service", "/opt/bin/run", "c", &environment}),
            "search jobs.q.12 $5 run:c a7 repo/x:1 JOB_NAME=search-v12 unit=web.service");
  const Environment other{{"JOB_NAME", "search"}};
  EXPECT_EQ(brief(*rules, {"/jobs/q/web.service", "/opt/bin/run", "c", &other}),
            "web /jobs/q/web.service  JOB_NAME=search unit=web.service");
  EXPECT_EQ(brief(*rules, {"/jobs/q/1", "/opt/bin/run", "c"}), "run /jobs/q/1 ");
}

TEST(JobRules, AVariableMatchesFromItsNameOn) {
  const auto rules = rules_of(
      "[identity]\nenvironment = ['MY_JOB', 'JOB']\n[[identity.rules]]\nenvironment = 'JOB=(.+)'\njob = "
      "'$1'\n");
  ASSERT_TRUE(rules) << rules.error().text();
  const Environment mine{{"MY_JOB", "a"}};
  const Environment both{{"JOB", "b"}, {"MY_JOB", "a"}};
  EXPECT_EQ(brief(*rules, {"/", "/bin/x", "x", &mine}), "x / ");
  EXPECT_EQ(brief(*rules, {"/", "/bin/x", "x", &both}), "b / ");
}

TEST(JobRules, WhatComesOutEmptyStaysAsItWas) {
  const auto rules = rules_of("[[identity.rules]]\ncgroup = '^/(a?)'\njob = '$1'\ninstance = 'i'\n");
  ASSERT_TRUE(rules) << rules.error().text();
  EXPECT_EQ(brief(*rules, {"/abc", "/bin/x", "x"}), "a i ");
  EXPECT_EQ(brief(*rules, {"/bc", "/bin/x", "x"}), "x i ");
}

TEST(JobRules, NamesAreShortAndPrintable) {
  const auto rules =
      rules_of("[[identity.rules]]\ncgroup = '(?s)^/(\\C)'\njob = '$1'\ninstance = '$cgroup$cgroup'\n");
  ASSERT_TRUE(rules) << rules.error().text();
  const std::string path = "/\xc3\xb6" + std::string(1000, 'x');
  const Workload workload = rules->apply({path, "/bin/x", "x"});
  EXPECT_EQ(workload.job, "?") << "half a letter";
  EXPECT_EQ(workload.instance.size(), 256);
}

TEST(JobRules, KubernetesSlurmAndNomad) {
  const auto rules = rules_of(R"toml(
    [identity]
    environment = ["NOMAD_JOB_NAME", "NOMAD_ALLOC_ID", "SLURM_JOB_NAME"]
    [[identity.rules]]
    environment = "NOMAD_JOB_NAME=(.+)"
    job = "$1"
    instance = "$NOMAD_ALLOC_ID"
    [[identity.rules]]
    cgroup = "/job_([0-9]+)/"
    environment = "SLURM_JOB_NAME=(.+)"
    job = "$2"
    instance = "slurm/$1"
    [[identity.rules]]
    pod = "."
    executable = "/([^/]+)$"
    job = "k8s/$1"
    instance = "$pod/$1"
  )toml");
  ASSERT_TRUE(rules) << rules.error().text();
  const Environment nomad{{"NOMAD_ALLOC_ID", "f00"}, {"NOMAD_JOB_NAME", "cache"}};
  const Environment slurm{{"SLURM_JOB_NAME", "weather"}};
  EXPECT_EQ(brief(*rules, {"/nomad.slice/share.slice/f00.t.scope", "/bin/redis", "r", &nomad}), "cache f00 ");
  EXPECT_EQ(brief(*rules, {"/slurm/uid_1/job_77/step_0", "/home/x/solve", "s", &slurm}), "weather slurm/77 ");
  EXPECT_EQ(brief(*rules, {kPodPath, "/usr/bin/search", "s"}), "k8s/search " + kPod + "/search  pod=" + kPod);
}

TEST(JobRules, EveryMistakeNamesItsRuleAndKey) {
  struct Mistake {
    std::string toml;
    std::string message;
    std::string field;
    std::string hint;
  };
  const std::string good = "[[identity.rules]]\ncgroup = 'a'\njob = 'b'\n[[identity.rules]]\n";
  const std::vector<Mistake> mistakes{
      {good + "cgroup = '(a'\njob = 'b'\n",
       "rule 2 of identity.rules, cgroup: \"(a\" is not a regular expression: missing ): (a",
       "identity.rules[1].cgroup", ""},
      {good + "pod = 'a'\njob = '$1'\n",
       "rule 2 of identity.rules, job: \"$1\" uses $1, which the rule does not define",
       "identity.rules[1].job", "use a group of its patterns, a fact, or a listed variable"},
      {good + "unit = '(?P<name>.)'\ninstance = '${nam}'\n",
       "rule 2 of identity.rules, instance: \"${nam}\" uses $nam, which the rule does not define",
       "identity.rules[1].instance", "did you mean $name?"},
      {good + "job = 'a ${program'\n",
       "rule 2 of identity.rules, job: \"a ${program\" has a $ that no name follows", "identity.rules[1].job",
       "write $1, ${name}, or $$ for a dollar"},
      {good + "job = 'a$'\n", "rule 2 of identity.rules, job: \"a$\" has a $ that no name follows",
       "identity.rules[1].job", "write $1, ${name}, or $$ for a dollar"},
      {good + "unit = 'a'\n", "rule 2 of identity.rules, job: it sets neither job nor instance nor image",
       "identity.rules[1].job", ""},
      {good + "comm = '(?P<n>a)'\nunit = '(?P<n>a)'\njob = '$n'\n",
       "rule 2 of identity.rules, comm: another pattern of the rule has a group \"n\" as well",
       "identity.rules[1].comm", ""},
      {good + "environment = 'JOB=(.)'\njob = '$1'\n",
       "rule 2 of identity.rules, environment: identity.environment does not list the variable of "
       "\"JOB=(.)\"",
       "identity.rules[1].environment", "add it to identity.environment"},
      {"[identity]\nenvironment = ['JOBS']\n" + good + "environment = '^JOB=(.)'\njob = '$1'\n",
       "rule 2 of identity.rules, environment: identity.environment does not list the variable of "
       "\"^JOB=(.)\"",
       "identity.rules[1].environment", "add it to identity.environment"},
      {"[identity]\nenvironment = ['A=B']\n", "\"A=B\" is not a variable name, or there are more than 64",
       "identity.environment", ""},
      {"[identity]\nlabels = ['HOME']\n", "no such label: \"HOME\"", "identity.labels",
       "labels are pod, unit, and the variables in identity.environment"},
  };
  for (const Mistake& mistake : mistakes) {
    const auto rules = rules_of(mistake.toml);
    ASSERT_FALSE(rules.has_value()) << mistake.toml;
    EXPECT_EQ(rules.error().code, ErrorCode::kInvalid);
    EXPECT_EQ(rules.error().message, mistake.message);
    EXPECT_EQ(rules.error().field, mistake.field);
    EXPECT_EQ(rules.error().hint, mistake.hint);
  }
  EXPECT_THAT(rules_of("[[identity.rules]]\nunitt = 'a'\n").error().text(), HasSubstr("did you mean unit?"));
}

TEST(SelectVariables, TakesTheListedOnesAlone) {
  const std::vector<std::string> names{"JOB", "SHARD", "UNSET"};
  const auto selected = [&](std::string_view text) { return select_variables(text, names); };
  const std::string environ("TOKEN=secret\0JOB=search\0JOBS=x\0SHARD=\xff\n=1\0JOB=again\0", 53);
  EXPECT_THAT(selected(environ),
              ElementsAre(Pair("JOB", "search"), Pair("SHARD", std::string(2, '?') + "=1")));
  EXPECT_THAT(selected(""), IsEmpty());
  EXPECT_THAT(selected(std::string_view("JOB\0=JOB\0\0", 10)), IsEmpty());
  EXPECT_THAT(selected("JOB=cut"), IsEmpty()) << "it may have gone on";
  EXPECT_THAT(selected("JOB=" + std::string(5000, 'x') + std::string(1, '\0')),
              ElementsAre(Pair("JOB", std::string(256, 'x'))));
  EXPECT_THAT(select_variables(environ, {}), IsEmpty());
}

}  // namespace
}  // namespace plimsoll::identity
