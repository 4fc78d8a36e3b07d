#include "daemon/group_counts/group_counters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <set>

#include "proto/profile_codec.h"
#include "tests/unit/capture/identity/fake_proc.h"
#include "tests/unit/daemon/fake_groups.h"

namespace plimsoll {
namespace {

using ::testing::ElementsAre;
using testing::FakeGroupTree;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A kernel whose counters stand where a test puts them.
class FakeKernel {
 public:
  using Values = std::vector<perf::CounterValues>;

  // The event happened `value` times in the group and those below it, on the first CPU, within `enabled_ns` of its time.
  void count(const std::string& group, const std::string& event, uint64_t value, uint64_t enabled_ns = 1000,
             std::optional<uint64_t> running_ns = {}) {
    perf::CounterValues& counter = of_first_cpu_[group + " " + event];
    counter.value += value;
    counter.time_enabled_ns += enabled_ns;
    counter.time_running_ns += running_ns.value_or(enabled_ns);
  }
  Values read(const std::string& key, size_t counters) const {
    Values values(counters);
    const auto found = of_first_cpu_.find(key);
    if (found != of_first_cpu_.end()) {
      values[0] = found->second;
    }
    return values;
  }
  void take_fds(size_t count) {
    open_fds += count;
    max_fds = std::max(max_fds, open_fds);
  }

  std::vector<int> cpus{0, 1};
  size_t max_open_files = 10'000;
  std::set<std::string> unopened;  // "GROUP EVENT"
  size_t open_fds = 0;
  size_t max_fds = 0;
  size_t opened = 0;  // counters, so far

 private:
  std::map<std::string, perf::CounterValues> of_first_cpu_;  // by "GROUP EVENT"
};

class FakeCounter : public GroupCounter {
 public:
  FakeCounter(FakeKernel& kernel, std::string key, size_t cpus)
      : kernel_(kernel), key_(std::move(key)), since_(kernel.read(key_, cpus)) {
    kernel_.take_fds(cpus);
  }
  FakeCounter(const FakeCounter&) = delete;
  FakeCounter& operator=(const FakeCounter&) = delete;
  ~FakeCounter() override { kernel_.open_fds -= since_.size(); }

  Result<std::vector<perf::CounterValues>> read() const override {
    FakeKernel::Values values = kernel_.read(key_, since_.size());
    for (size_t i = 0; i < values.size(); ++i) {
      values[i].value -= since_[i].value;
      values[i].time_enabled_ns -= since_[i].time_enabled_ns;
      values[i].time_running_ns -= since_[i].time_running_ns;
    }
    return values;
  }

 private:
  FakeKernel& kernel_;
  std::string key_;
  FakeKernel::Values since_;
};

class FakeCounters : public GroupCounterSource {
 public:
  FakeCounters(FakeKernel& kernel, std::string root) : kernel_(kernel), root_(std::move(root)) {}
  Result<std::vector<int>> cpus() const override { return kernel_.cpus; }
  size_t max_open_files() const override { return kernel_.max_open_files; }
  Result<std::unique_ptr<GroupCounter>> open(const std::string& folder, const perf::EventType& event,
                                             std::span<const int> cpus) const override {
    const std::string key = folder.substr(root_.size()) + " " + event.name;
    if (kernel_.unopened.contains(key)) {
      return fail(ErrorCode::kDenied, "the kernel opens no {}", event.name);
    }
    ++kernel_.opened;
    return std::make_unique<FakeCounter>(kernel_, key, cpus.size());
  }

 private:
  FakeKernel& kernel_;
  std::string root_;
};

GroupEvent event_named(const std::string& name, double scale = 1) {
  GroupEvent event{.type = {}, .name = "exact-" + name, .unit = wire::COUNT};
  event.type.name = name;
  event.type.codes = {{}};
  event.type.scale = scale;
  return event;
}

class GroupCountersTest : public ::testing::Test {
 protected:
  void group(const std::string& name, const std::vector<uint32_t>& pids) {
    tree_.add(name, pids);
    for (const uint32_t pid : pids) {
      proc_.gone(pid);
      proc_.process(pid, {.comm = "c",
                          .executable = "/bin/p" + std::to_string(pid),
                          .cgroup = "0::" + name + "\n",
                          .maps = ""});
    }
  }

  std::unique_ptr<GroupCounters> counters(const std::vector<std::string>& patterns, size_t max_fds = 100,
                                          std::vector<GroupEvent> events = {event_named("cycles"),
                                                                            event_named("instructions")}) {
    GroupCountPlan plan{
        .patterns = std::make_shared<const GroupPatterns>(std::move(*GroupPatterns::compile(patterns))),
        .events = std::move(events),
        .missing = {},
        .max_fds = max_fds};
    return std::make_unique<GroupCounters>(std::move(plan), tree_.root(),
                                           std::make_unique<FakeCounters>(kernel_, tree_.root()), proc_fs_,
                                           nullptr);
  }

  static wire::RawProfile window(GroupCounters& counters, const std::function<void()>& meanwhile = [] {}) {
    wire::RawProfile profile;
    ProfileBuilder builder;
    counters.start();
    meanwhile();
    counters.add_to(profile, builder);
    builder.finish(profile);
    return profile;
  }

  // "EVENT JOB INSTANCE VALUE" of each row.
  static std::vector<std::string> rows(const wire::RawProfile& profile) {
    std::vector<std::string> lines;
    for (const wire::SampleTable& table : profile.samples()) {
      const wire::Event& event = profile.events(static_cast<int>(table.event(0)));
      for (int row = 0; row < table.thread_size(); ++row) {
        const auto process = profile.threads(static_cast<int>(table.thread(row))).process();
        const wire::Process& who = profile.processes(static_cast<int>(process));
        lines.push_back(fmt::format("{} {} {} {}", event.name(), who.job(), who.instance(),
                                    static_cast<double>(table.hits(row)) * wire::scale_of(event)));
      }
    }
    return lines;
  }
  static std::vector<std::string> missing(const wire::RawProfile& profile) {
    std::vector<std::string> lines;
    for (const wire::MissingEvent& event : profile.missing_events()) {
      lines.push_back(event.name() + ": " + event.reason());
    }
    return lines;
  }

  FakeGroupTree tree_;
  identity::FakeProc proc_;
  identity::ProcFs proc_fs_{proc_.root()};
  FakeKernel kernel_;
};

TEST_F(GroupCountersTest, CountChosenGroupsUnderTheNamesOfTheirSamples) {
  group("/a", {11});
  group("/b", {12});
  group("/else", {13});
  const auto counters = this->counters({"^/a$", "^/b$"});
  const wire::RawProfile profile = window(*counters, [&] {
    kernel_.count("/a", "cycles", 1000);
    kernel_.count("/a", "instructions", 2500);
    kernel_.count("/b", "cycles", 70);
    kernel_.count("/else", "cycles", 5);
  });
  EXPECT_THAT(rows(profile), ElementsAre("exact-cycles p11 /a 1000", "exact-cycles p12 /b 70",
                                         "exact-instructions p11 /a 2500"));
  EXPECT_THAT(missing(profile), IsEmpty());
  EXPECT_EQ(profile.events(0).counter_total(), 1070);
  EXPECT_EQ(profile.events(0).kind(), wire::DELTA);
  EXPECT_THAT(profile.events(0).note(), HasSubstr("counted exactly"));
  EXPECT_EQ(kernel_.open_fds, 8);
}

TEST_F(GroupCountersTest, CountEachWindowByItself) {
  group("/a", {11});
  const auto counters = this->counters({"/a"}, 100, {event_named("cycles")});
  EXPECT_THAT(rows(window(*counters, [&] { kernel_.count("/a", "cycles", 10); })),
              ElementsAre("exact-cycles p11 /a 10"));
  kernel_.count("/a", "cycles", 100);
  EXPECT_THAT(rows(window(*counters, [&] { kernel_.count("/a", "cycles", 7); })),
              ElementsAre("exact-cycles p11 /a 7"));
  const wire::RawProfile idle = window(*counters);
  EXPECT_THAT(rows(idle), IsEmpty());
  ASSERT_EQ(idle.events_size(), 1) << "a group that did nothing was counted all the same";
  EXPECT_THAT(missing(idle), IsEmpty());
  EXPECT_EQ(kernel_.opened, 1) << "counters stay open from window to window";
}

TEST_F(GroupCountersTest, ScaleWhatSharedItsCountersAndSaySo) {
  group("/a", {11});
  const auto counters = this->counters({"/a"}, 100, {event_named("cycles")});
  const wire::RawProfile profile = window(*counters, [&] { kernel_.count("/a", "cycles", 50, 1000, 250); });
  EXPECT_THAT(rows(profile), ElementsAre("exact-cycles p11 /a 200"));
  EXPECT_THAT(profile.events(0).note(), HasSubstr("ran for 25 % of the groups' time"));
}

TEST_F(GroupCountersTest, CountInTheUnitOfTheEvent) {
  group("/a", {11});
  const auto counters = this->counters({"/a"}, 100, {event_named("bytes", 64)});
  EXPECT_THAT(rows(window(*counters, [&] { kernel_.count("/a", "bytes", 3); })),
              ElementsAre("exact-bytes p11 /a 192"));
}

TEST_F(GroupCountersTest, TakeCountedGroupsBelowOffThoseAbove) {
  group("/a", {11});
  group("/a/mid", {12});
  group("/a/mid/leaf", {13});
  group("/a/else", {14});
  const auto counters = this->counters({"^/a$", "/mid$", "/leaf$"}, 100, {event_named("cycles")});
  EXPECT_THAT(rows(window(*counters,
                          [&] {
                            kernel_.count("/a", "cycles", 1000);  // with all below
                            kernel_.count("/a/mid", "cycles", 300);
                            kernel_.count("/a/mid/leaf", "cycles", 250);
                          })),
              ElementsAre("exact-cycles p11 /a 700", "exact-cycles p12 /a/mid 50",
                          "exact-cycles p13 /a/mid/leaf 250"));
}

TEST_F(GroupCountersTest, NameAGroupByWhatRunsThereWhenTheWindowEnds) {
  group("/a", {11});
  const auto counters = this->counters({"/a"}, 100, {event_named("cycles")});
  EXPECT_THAT(rows(window(*counters,
                          [&] {
                            kernel_.count("/a", "cycles", 1);
                            group("/a", {21});
                          })),
              ElementsAre("exact-cycles p21 /a 1"));
  EXPECT_THAT(rows(window(*counters,
                          [&] {
                            kernel_.count("/a", "cycles", 2);
                            tree_.remove("/a");
                          })),
              ElementsAre("exact-cycles p21 /a 2"))
      << "a group that ended has the name that it had";
}

TEST_F(GroupCountersTest, LookForGroupsAgainAtEachStart) {
  group("/old", {11});
  const auto counters = this->counters({"/"}, 100, {event_named("cycles")});
  EXPECT_THAT(rows(window(*counters,
                          [&] {
                            group("/new", {12});
                            kernel_.count("/old", "cycles", 1);
                            kernel_.count("/new", "cycles", 2);
                          })),
              ElementsAre("exact-cycles p11 /old 1"));
  tree_.remove("/old");
  EXPECT_THAT(rows(window(*counters,
                          [&] {
                            kernel_.count("/old", "cycles", 3);
                            kernel_.count("/new", "cycles", 4);
                          })),
              ElementsAre("exact-cycles p12 /new 4"));
  EXPECT_EQ(kernel_.open_fds, 2);
}

// As when a service is restarted: its group has the same path, and is another.
TEST_F(GroupCountersTest, OpenAGroupThatWasMadeAgain) {
  group("/a", {11});
  const auto counters = this->counters({"/a"}, 100, {event_named("cycles")});
  window(*counters);
  tree_.add("/other", {11});
  tree_.remove("/a");
  std::filesystem::rename(tree_.root() + "/other", tree_.root() + "/a");
  window(*counters);
  EXPECT_EQ(kernel_.opened, 2);
  EXPECT_EQ(kernel_.open_fds, 2);
}

TEST_F(GroupCountersTest, OpenAllAgainWhenCpusComeOrGo) {
  group("/a", {11});
  const auto counters = this->counters({"/a"}, 100, {event_named("cycles")});
  window(*counters);
  kernel_.cpus = {0, 1, 2};
  window(*counters);
  EXPECT_EQ(kernel_.open_fds, 3);
}

TEST_F(GroupCountersTest, LeaveOutTheLastOverTheBudgetAndSayWho) {
  for (const char* name : {"/first", "/s1", "/s2", "/s3", "/s4", "/s5", "/s6", "/s7"}) {
    group(name, {11});
  }
  // Two events on two CPUs: four descriptors a group.
  const auto counters = this->counters({"^/s", "^/first"}, 11);
  const wire::RawProfile profile = window(*counters, [&] {
    for (const char* name : {"/first", "/s1", "/s2", "/s3"}) {
      kernel_.count(name, "cycles", 1);
    }
  });
  EXPECT_THAT(rows(profile), ElementsAre("exact-cycles p11 /s1 1", "exact-cycles p11 /s2 1"));
  const std::string reason =
      "not counted for /s3, /s4, /s5, /s6, /s7 and 1 more: the 8 matching groups need 32 file descriptors, "
      "and count.max_fds is 11";
  EXPECT_THAT(missing(profile), ElementsAre("exact-cycles: " + reason, "exact-instructions: " + reason));
  EXPECT_EQ(kernel_.max_fds, 8);
}

TEST_F(GroupCountersTest, LeaveHalfOfTheFilesToTheRestOfTheDaemon) {
  group("/a", {11});
  group("/b", {12});
  kernel_.max_open_files = 14;
  const auto counters = this->counters({"/"});
  const wire::RawProfile profile = window(*counters);
  EXPECT_EQ(kernel_.open_fds, 4);
  EXPECT_THAT(missing(profile)[0],
              HasSubstr("not counted for /b: the 2 matching groups need 8 file descriptors, and 7 is half"));
}

// No zero where nothing was counted.
TEST_F(GroupCountersTest, HaveNoEventWhereNoGroupIsCounted) {
  group("/a", {11});
  const auto too_few = this->counters({"/a"}, 1);
  const wire::RawProfile over_budget = window(*too_few);
  EXPECT_EQ(over_budget.events_size(), 0);
  EXPECT_EQ(missing(over_budget).size(), 2);

  const auto nobody = this->counters({"/b"});
  const wire::RawProfile without = window(*nobody);
  EXPECT_EQ(without.events_size(), 0);
  EXPECT_THAT(missing(without),
              ElementsAre("exact-cycles: count.groups matches no control group with processes",
                          "exact-instructions: count.groups matches no control group with processes"));
}

TEST_F(GroupCountersTest, CountAllEventsOfAGroupOrNone) {
  group("/a", {11});
  group("/b", {12});
  kernel_.unopened = {"/b instructions"};
  const auto counters = this->counters({"/"});
  const wire::RawProfile profile = window(*counters, [&] {
    for (const char* name : {"/a", "/b"}) {
      kernel_.count(name, "cycles", 10);
      kernel_.count(name, "instructions", 20);
    }
  });
  EXPECT_THAT(rows(profile), ElementsAre("exact-cycles p11 /a 10", "exact-instructions p11 /a 20"));
  EXPECT_THAT(missing(profile),
              ElementsAre("exact-cycles: not counted for /b: the kernel opens no instructions",
                          "exact-instructions: not counted for /b: the kernel opens no instructions"));
  EXPECT_EQ(kernel_.open_fds, 4) << "what was opened of the other is closed";
}

TEST_F(GroupCountersTest, LeaveOutAGroupWhoseCounterNeverRan) {
  group("/a", {11});
  group("/b", {12});
  group("/c", {13});
  group("/c/below", {14});
  const auto counters = this->counters({"/"});
  const wire::RawProfile profile = window(*counters, [&] {
    for (const char* name : {"/a", "/b", "/c", "/c/below"}) {
      kernel_.count(name, "cycles", 10);
    }
    kernel_.count("/a", "instructions", 20);
    kernel_.count("/b", "instructions", 0, 1000, 0);
    kernel_.count("/c", "instructions", 30);
    kernel_.count("/c/below", "instructions", 0, 1000, 0);
  });
  EXPECT_THAT(rows(profile), ElementsAre("exact-cycles p11 /a 10", "exact-instructions p11 /a 20"));
  EXPECT_THAT(missing(profile)[0],
              HasSubstr("not counted for /b, /c, /c/below: its counter of instructions did not run"));
}

TEST_F(GroupCountersTest, LeaveOutAnEventThatRanForNobody) {
  group("/a", {11});
  const auto counters = this->counters({"/a"});
  const wire::RawProfile profile = window(*counters, [&] {
    kernel_.count("/a", "cycles", 10);
    kernel_.count("/a", "instructions", 0, 1000, 0);
  });
  EXPECT_THAT(rows(profile), ElementsAre("exact-cycles p11 /a 10"));
  EXPECT_EQ(profile.events_size(), 1);
  EXPECT_THAT(missing(profile), ElementsAre(HasSubstr("exact-instructions: its counters did not run")));
}

TEST_F(GroupCountersTest, LeaveANameToTheEventThatHasIt) {
  group("/a", {11});
  const auto counters = this->counters({"/a"});
  wire::RawProfile profile;
  profile.add_events()->set_name("exact-cycles");
  ProfileBuilder builder;
  counters->start();
  counters->add_to(profile, builder);
  EXPECT_EQ(profile.events_size(), 2);
  EXPECT_THAT(missing(profile), ElementsAre("exact-cycles: another event of the profile has that name"));
}

// Groups come, go, and are made again; what is counted is never more than is counted for the machine, and descriptors never
// more than the budget.
TEST_F(GroupCountersTest, StayWithinTheBudgetWhateverGroupsComeAndGo) {
  std::mt19937 random(11);
  constexpr size_t kBudget = 21;
  const auto counters = this->counters({"/[xy]", "/"}, kBudget);
  for (int round = 0; round < 60; ++round) {
    for (int change = 0; change < 4; ++change) {
      const std::string name = fmt::format("/{}{}", "xyz"[random() % 3], random() % 4);
      if (random() % 2 == 0) {
        group(name, {100 + static_cast<uint32_t>(random() % 9)});
      } else {
        tree_.remove(name);
      }
    }
    kernel_.cpus.resize(1 + random() % 3, 5);
    size_t groups = 0;
    for (const auto& entry : std::filesystem::directory_iterator(tree_.root())) {
      groups += entry.is_directory() ? 1 : 0;
    }
    const size_t expected = std::min(groups, kBudget / (2 * kernel_.cpus.size()));
    const wire::RawProfile profile = window(*counters);
    EXPECT_EQ(kernel_.open_fds, expected * 2 * kernel_.cpus.size());
    EXPECT_EQ(missing(profile).empty(), expected == groups && groups > 0);
  }
  EXPECT_LE(kernel_.max_fds, kBudget);
}

}  // namespace
}  // namespace plimsoll
