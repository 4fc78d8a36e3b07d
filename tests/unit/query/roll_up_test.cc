// Questions to blocks before and after they are rolled up.
#include "store/rollup/roll_up.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "store/blocks/block_folder.h"
#include "store/frames/binding_writer.h"
#include "store/rollup/scale/common_scale.h"
#include "tests/unit/query/fleet_fixture.h"
#include "tests/unit/query/hooked_source.h"

namespace plimsoll::query {
namespace {

using store::RollUp;
using store::RollUpLimits;
using ::testing::HasSubstr;

constexpr int64_t kSecondNs = 1'000'000'000;
constexpr int64_t kHourOfTestNs = 3600 * kSecondNs;
// A whole hour.
constexpr int64_t kStartNs = 472'222 * kHourOfTestNs;

// Of one hour: three machines, of each of them profiles that come again and again.
struct Sent {
  uint64_t profiles = 0;

  wire::RawProfile next(const std::string& machine, int64_t at_s, const std::string& stacks,
                        double scale = 1000) {
    auto profile = make_profile({.seed = ++profiles,
                                 .machine = machine,
                                 .from_ns = kStartNs + at_s * kSecondNs,
                                 .events = {{.name = "cycles", .scale = scale},
                                            {.name = "faults"},
                                            {.name = "faults^2", .scale = 0.5, .kind = wire::SQUARES}},
                                 .job = profiles % 2 == 0 ? "web" : "db",
                                 .stacks = stacks});
    for (wire::Process& process : *profile.mutable_processes()) {
      process.set_instance(fmt::format("{}-{}", process.job(), profiles % 3));
    }
    return profile;
  }
};

void draw(const std::string& id, double probability, wire::RawProfile& profile) {
  wire::Draw& draw = *profile.mutable_assignment()->mutable_draw();
  draw.set_id(id);
  draw.set_stratum(probability < 0.5 ? "rare" : "usual");
  draw.set_inclusion_probability(probability);
  draw.set_interval_ns(kHourOfTestNs);
}

// Three hours of twelve machines, drawn in the first two; of windows that differ. A last profile opens the next block.
void fill(Fleet& fleet, const std::function<double(uint64_t)>& scale_of) {
  Sent sent;
  for (int64_t hour = 0; hour < 3; ++hour) {
    for (int machine = 0; machine < 12; ++machine) {
      for (int64_t part = 0; part < 4; ++part) {
        auto profile = sent.next(
            fmt::format("m{}", machine), hour * 3600 + part * 800 + machine,
            fmt::format("main;parse;read {}\nthread=t{} main;parse {}\nprocess=tool main;render@r.cc:{} {}\n"
                        "thread=io event=faults main;read {}\nthread=io event=faults^2 main;read 50\n",
                        20 + machine, part, 30 + 3 * machine + part, 7 + part, 11 + hour, 3 + part),
            scale_of(sent.profiles));
        profile.mutable_window()->mutable_end()->set_monotonic_ns(profile.window().start().monotonic_ns() +
                                                                  (part + 1) * kSecondNs);
        if (hour < 2) {
          draw(fmt::format("draw{}", hour), machine % 3 == 0 ? 0.25 : 0.5, profile);
        }
        fleet.add(profile);
      }
    }
  }
  fleet.add({.seed = 1000, .machine = "m1", .from_ns = kStartNs + 90 * kHourOfTestNs, .stacks = "main 1\n"});
}

std::unique_ptr<Fleet> filled(const std::function<double(uint64_t)>& scale_of = [](uint64_t) {
  return 1000;
}) {
  auto fleet = std::make_unique<Fleet>(store::BlockLimits{.max_profiles = 144});
  fill(*fleet, scale_of);
  return fleet;
}

store::RollUpReport roll_up(Fleet& fleet, const RollUp::Environment& environment = {}) {
  RollUp rolled(fleet.ingest(), {}, environment);
  const auto report = rolled.run_once_before(INT64_MAX);
  EXPECT_TRUE(report) << report.error().text();
  return report.value_or(store::RollUpReport());
}

std::vector<Parameters> questions() {
  std::vector<Parameters> questions;
  for (const char* by :
       {"function", "machine", "job", "app", "stack", "file", "draw", "machine,function", "job,function"}) {
    for (const auto& [from, to] : std::vector<std::pair<int64_t, int64_t>>{{0, 3}, {0, 1}, {1, 2}, {2, 3}}) {
      for (const char* event : {"cycles", "faults"}) {
        questions.push_back({{"by", by},
                             {"event", event},
                             {"limit", "1000"},
                             {"since", format_time(kStartNs + from * kHourOfTestNs)},
                             {"until", format_time(kStartNs + to * kHourOfTestNs)}});
      }
    }
  }
  return questions;
}

// Numbers to ten digits: sums are of another order.
std::string answer(const Fleet& fleet, const Parameters& parameters) {
  const auto table = fleet.top(parameters);
  if (!table) {
    return table.error().text();
  }
  std::string text;
  for (const auto& row : table->rows) {
    for (const Value& value : row) {
      if (const auto* name = std::get_if<std::string>(&value)) {
        text += *name + "|";
      } else if (const auto* real = std::get_if<double>(&value)) {
        text += fmt::format("{:.10g}|", *real);
      } else {
        text += "-|";
      }
    }
    text += "\n";
  }
  return text;
}

TEST(RollUpTest, AnswersAboutWholeHoursStayAsTheyWere) {
  const auto fleet = filled();
  std::vector<std::string> before;
  for (const Parameters& question : questions()) {
    before.push_back(answer(*fleet, question));
  }
  EXPECT_THAT(before.front(), HasSubstr("parse|"));
  const store::RollUpReport report = roll_up(*fleet);
  EXPECT_EQ(report.block, 1);
  EXPECT_EQ(report.profiles, 144);
  EXPECT_EQ(report.origins, 36);
  EXPECT_LT(report.rows, report.rows_before);
  EXPECT_EQ(fleet->ingest().blocks()->front().name(), "000001.1");
  EXPECT_FALSE(std::filesystem::exists(fleet->path() + "/blocks/000001"));
  for (size_t i = 0; i < before.size(); ++i) {
    EXPECT_EQ(answer(*fleet, questions()[i]), before[i]) << i;
  }
  EXPECT_EQ(roll_up(*fleet).block, 0) << "once, and the newest never";
}

TEST(RollUpTest, ThreadsAndInstancesAreGone) {
  const auto fleet = filled();
  roll_up(*fleet);
  const Parameters until{{"event", "cycles"}, {"until", format_time(kStartNs + 3 * kHourOfTestNs)}};
  const auto ask = [&](Parameters parameters) {
    parameters.insert(parameters.end(), until.begin(), until.end());
    return brief(fleet->top(parameters));
  };
  EXPECT_THAT(ask({{"by", "thread"}}), ::testing::StartsWith("[rolled up] "));
  EXPECT_THAT(ask({{"by", "instance"}}), ::testing::StartsWith("[rolled up] "));
  EXPECT_EQ(ask({{"by", "function"}, {"where", "instance=web-1"}}), "");
}

// As periods that change at random make them.
TEST(RollUpTest, ScalesThatDifferKeepTheTotalAndNearlyTheRows) {
  const auto fleet = filled([](uint64_t profile) { return 1000 + 37.3 * static_cast<double>(profile % 17); });
  const auto totals = [&](const char* by) {
    std::map<std::string, double> self;
    const auto table = fleet->top({{"by", by},
                                   {"event", "cycles"},
                                   {"limit", "1000"},
                                   {"until", format_time(kStartNs + 3 * kHourOfTestNs)}});
    for (const auto& row : table->rows) {
      self[std::get<std::string>(row[0])] += std::get<double>(row[column_of(*table, "self")]);
    }
    return self;
  };
  // Of one machine: how wide an interval is that counts alone make.
  const auto margins = [&] {
    std::map<std::string, double> widths;
    const auto table = fleet->top({{"by", "function"},
                                   {"event", "cycles"},
                                   {"where", "machine=m7"},
                                   {"until", format_time(kStartNs + 3 * kHourOfTestNs)}});
    for (const auto& row : table->rows) {
      const auto* low = std::get_if<double>(&row[column_of(*table, "self_share_low")]);
      const auto* high = std::get_if<double>(&row[column_of(*table, "self_share_high")]);
      if (low != nullptr && high != nullptr) {
        widths[std::get<std::string>(row[0])] = *high - *low;
      }
    }
    return widths;
  };
  const auto margins_before = margins();
  ASSERT_GE(margins_before.size(), 3);
  const auto machines = totals("machine");
  const auto functions = totals("function");
  roll_up(*fleet);
  const auto machines_after = totals("machine");
  ASSERT_EQ(machines_after.size(), machines.size());
  for (const auto& [machine, value] : machines) {
    EXPECT_NEAR(machines_after.at(machine), value, 1e-9 * value) << machine;
  }
  const auto functions_after = totals("function");
  ASSERT_EQ(functions_after.size(), functions.size());
  bool differs = false;
  // Margins count samples by what they stand for, before and after.
  const auto margins_after = margins();
  ASSERT_EQ(margins_after.size(), margins_before.size());
  for (const auto& [function, width] : margins_before) {
    EXPECT_NEAR(margins_after.at(function), width, 0.02 * width) << function;
  }
  for (const auto& [function, value] : functions) {
    EXPECT_NEAR(functions_after.at(function), value, 0.01 * value) << function;
    differs = differs || functions_after.at(function) != value;
  }
  EXPECT_TRUE(differs);
}

TEST(RollUpTest, SnapshotsKeepTheirMean) {
  Fleet fleet({.max_profiles = 6});
  for (uint64_t i = 1; i <= 7; ++i) {
    auto profile =
        make_profile({.seed = i,
                      .from_ns = kStartNs + static_cast<int64_t>(i) * 60 * kSecondNs,
                      .events = {{.name = "heap-inuse-bytes", .unit = wire::BYTES, .kind = wire::SNAPSHOT}},
                      .stacks = fmt::format("main;keep {}\n", i <= 4 ? 100 * i : 1000)});
    profile.mutable_assignment()->set_id(i <= 4 ? "a" : "b");
    fleet.add(profile);
  }
  const Parameters parameters{{"by", "function"}, {"hide", "none"}};
  const std::string before = brief(fleet.top(parameters));
  EXPECT_EQ(before, "keep 1250 1250\nmain 0 1250\n") << "the means of both";
  roll_up(fleet);
  EXPECT_EQ(brief(fleet.top(parameters)), before);
}

std::string functions_of(const std::string& path) {
  return brief(top(*parse_top({{"by", "function"}, {"limit", "1000"}, {"event", "cycles"}}, 0),
                   **Snapshot::load(path)));
}

void copy_directory(const std::string& from, const std::string& to) {
  std::filesystem::remove_all(to);
  std::filesystem::copy(from, to, std::filesystem::copy_options::recursive);
}

// As a directory is left by a process that was killed.
TEST(RollUpTest, AProcessThatIsKilledLeavesOneOfBoth) {
  const auto fleet = filled();
  const testing::TemporaryDirectory crashed;
  const std::string expected = functions_of(fleet->path());
  const std::string before_publishing = crashed / "before";
  const std::string after_publishing = crashed / "after";
  {
    RollUp rolled(fleet->ingest(), RollUpLimits{.keep_replaced = std::chrono::hours(1)},
                  {.before_publishing = [&] { copy_directory(fleet->path(), before_publishing); }});
    ASSERT_EQ(rolled.run_once_before(INT64_MAX)->block, 1);
    copy_directory(fleet->path(), after_publishing);
  }
  ASSERT_TRUE(std::filesystem::exists(before_publishing + "/blocks/000001.1.tmp/catalogue.db"));
  ASSERT_TRUE(std::filesystem::exists(after_publishing + "/blocks/000001"));
  for (const auto& [path, name] :
       {std::pair(before_publishing, "000001"), std::pair(after_publishing, "000001.1")}) {
    EXPECT_EQ(functions_of(path), expected) << "without a writer";
    const auto ingest = store::Ingest::open(path);
    ASSERT_TRUE(ingest) << ingest.error().text();
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path + "/blocks")) {
      names.push_back(entry.path().filename().string());
    }
    EXPECT_THAT(names, ::testing::UnorderedElementsAre(name, "000002"));
    EXPECT_EQ(functions_of(path), expected);
  }
}

TEST(RollUpTest, NamesStayAndAreNotWrittenToWhatWasReplaced) {
  Fleet fleet({.max_profiles = 2});
  wire::Binary binary;
  binary.set_identity_kind(wire::GNU_BUILD_ID);
  binary.set_identity("\x0a\x0b");
  binary.set_path("/usr/bin/tool");
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    auto profile = make_profile({.seed = seed, .from_ns = kStartNs, .stacks = "main 1\n"});
    add_sample(profile, binary, wire::ELF, 0x1000, 1);
    fleet.add(profile);
  }
  const store::BlockFolder full = fleet.ingest().blocks()->front();
  const auto bind = [&](const store::BlockFolder& block, const std::string& name) {
    const std::vector<store::Binding> bindings{{2, {{.function = name}}}};
    return fleet.ingest().write_catalogue(block, [&](sqlite::Database& catalogue) {
      return store::BindingWriter(catalogue).bind(bindings, 1);
    });
  };
  ASSERT_TRUE(bind(full, "old"));
  {
    RollUp rolled(fleet.ingest(), RollUpLimits{.keep_replaced = std::chrono::hours(1)});
    ASSERT_EQ(rolled.run_once_before(INT64_MAX)->block, 1);
    EXPECT_EQ(bind(full, "lost").error().code, ErrorCode::kNotFound);
    EXPECT_TRUE(fleet.ingest().is_dropped(full));
    EXPECT_EQ(brief(fleet.top({{"by", "function"}})), "main 3 3\nold 3 3\n");
    ASSERT_TRUE(bind(fleet.ingest().blocks()->front(), "new"));
  }
  EXPECT_EQ(brief(fleet.top({{"by", "function"}, {"until", format_time(kStartNs + kHourOfTestNs)}})),
            "main 3 3\nnew 3 3\n");
}

TEST(RollUpTest, AQuestionThatWasAboutToReadChoosesAgain) {
  const auto fleet = filled();
  const std::string expected = functions_of(fleet->path());
  bool is_done = false;
  const auto snapshot = load_hooked(fleet->path(), [&](const std::vector<std::string>&) {
    if (!std::exchange(is_done, true)) {
      EXPECT_EQ(roll_up(*fleet).block, 1);
    }
  });
  ASSERT_TRUE(snapshot) << snapshot.error().text();
  EXPECT_EQ((*snapshot)->rolled_up_from_ns, kStartNs);
  EXPECT_EQ(
      brief(top(*parse_top({{"by", "function"}, {"limit", "1000"}, {"event", "cycles"}}, 0), **snapshot)),
      expected);
}

TEST(RollUpTest, OldBlocksAreDueAndLargeOnes) {
  const auto blocks_rolled_up = [](const RollUpLimits& limits, int64_t now_ns) {
    Fleet fleet({.max_profiles = 2});
    for (uint64_t seed = 1; seed <= 7; ++seed) {
      fleet.add({.seed = seed, .from_ns = kStartNs + static_cast<int64_t>(seed) * kHourOfTestNs});
    }
    RollUp rolled(fleet.ingest(), limits, {.now_ns = [now_ns] { return now_ns; }});
    std::string numbers;
    for (auto report = rolled.run_once(); report && report->block != 0; report = rolled.run_once()) {
      numbers += fmt::format("{} ", report->block);
    }
    return numbers;
  };
  constexpr int64_t kAgeNs = 3 * kHourOfTestNs;
  EXPECT_EQ(blocks_rolled_up({.full_max_age_ns = kAgeNs}, kStartNs + 6 * kHourOfTestNs), "1 ");
  EXPECT_EQ(blocks_rolled_up({.full_max_age_ns = kAgeNs}, kStartNs + 90 * kHourOfTestNs), "1 2 3 ");
  EXPECT_EQ(blocks_rolled_up({.full_max_age_ns = kAgeNs, .full_max_bytes = 1}, kStartNs), "1 2 3 ");
  EXPECT_EQ(blocks_rolled_up({.full_max_age_ns = 0, .full_max_bytes = 1}, kStartNs + 90 * kHourOfTestNs), "");
}

TEST(RollUpTest, WithoutRoomOrWithDamageABlockStaysAsItIs) {
  const auto fleet = filled();
  EXPECT_EQ(roll_up(*fleet, {.free_bytes = [](const std::string&) -> Result<int64_t> { return 1000; }}).block,
            0);
  for (const auto& segment : std::filesystem::directory_iterator(fleet->path() + "/blocks/000001/segments")) {
    std::filesystem::resize_file(segment.path(), std::filesystem::file_size(segment.path()) - 1);
    break;
  }
  EXPECT_EQ(roll_up(*fleet).block, 0);
  EXPECT_FALSE(std::filesystem::exists(fleet->path() + "/blocks/000001.1.tmp"));
}

TEST(RollUpTest, ABlockThatFailsWaitsAndHoldsUpNoOther) {
  Fleet fleet({.max_profiles = 2});
  for (uint64_t seed = 1; seed <= 7; ++seed) {
    fleet.add({.seed = seed, .from_ns = kStartNs + static_cast<int64_t>(seed) * kHourOfTestNs});
  }
  RollUp::Clock::time_point now;
  int failures_left = 2;
  RollUp rolled(fleet.ingest(), {},
                {.free_bytes = [&](const std::string&) -> Result<int64_t> {
                   return failures_left-- > 0 ? Result<int64_t>(fail(ErrorCode::kIo, "no answer"))
                                              : INT64_MAX / 2;
                 },
                 .steady_now = [&] { return now; }});
  const auto run = [&] {
    const auto report = rolled.run_once_before(INT64_MAX);
    return report ? fmt::format("{}", report->block) : report.error().text();
  };
  // Of blocks 1 and 2.
  EXPECT_EQ(run(), "3");
  EXPECT_THAT(run(), HasSubstr("rolling up block 1: no answer"));
  failures_left = 1;
  now += std::chrono::seconds(61);
  EXPECT_EQ(run(), "2") << "the first has failed again";
  now += std::chrono::seconds(61);
  EXPECT_THAT(run(), HasSubstr("rolling up block 1: no answer")) << "two minutes now";
  now += std::chrono::seconds(60);
  EXPECT_EQ(run(), "1");
  EXPECT_EQ(run(), "0");
}

TEST(RollUpTest, DroppingTakesWhatWasReplacedToo) {
  const auto fleet = filled();
  RollUp rolled(fleet->ingest(), RollUpLimits{.keep_replaced = std::chrono::hours(1)});
  ASSERT_EQ(rolled.run_once_before(INT64_MAX)->block, 1);
  ASSERT_TRUE(fleet->ingest().drop_block(fleet->ingest().blocks()->front()));
  EXPECT_EQ(fleet->ingest().blocks()->front().number, 2);
  EXPECT_FALSE(std::filesystem::exists(fleet->path() + "/blocks/000001"));
}

std::string common(const std::vector<store::ScaledHits>& parts) {
  const auto scale = store::common_scale(parts);
  if (!scale) {
    return "none";
  }
  return fmt::format("{} x {:.6g}: {}", scale->hits, scale->scale, fmt::join(scale->multipliers, ","));
}

TEST(CommonScale, IsTheSmallestOverAsLittleAsWillDo) {
  EXPECT_EQ(common({{10, 3}, {10, 4}}), "7 x 10: 1,1");
  EXPECT_EQ(common({{10, 3}, {0, 0}}), "3 x 10: 1,1");
  EXPECT_EQ(common({{10, 3}, {10.1, 3}}), "6 x 10.05: 1,1");
  EXPECT_EQ(common({{10, 3}, {20, 3}}), "9 x 10: 1,2");
  EXPECT_EQ(common({{10, 4}, {15, 2}}), "14 x 5: 2,3");
  EXPECT_EQ(common({{1000, 1}, {1250, 1}}), "9 x 250: 4,5");
  EXPECT_EQ(common({{0, 0}, {0, 0}}), "0 x 0: 1,1");
}

TEST(CommonScale, IsNoneWhereHitsWouldNotBeExact) {
  EXPECT_EQ(common({{0, 3}, {10, 3}}), "none");
  EXPECT_EQ(common({{1e-300, 3}, {1e300, 3}}), "none");
  EXPECT_EQ(common({{1, 1}, {1000, uint64_t{1} << 52U}}), "none");
}

}  // namespace
}  // namespace plimsoll::query
