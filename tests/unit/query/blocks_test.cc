// Questions to a data directory of several blocks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/durable_file.h"
#include "base/file.h"
#include "query/selection/sides.h"
#include "query/snapshot/snapshot.h"
#include "query/views/flame.h"
#include "store/catalogue/catalogue.h"
#include "store/dictionaries/dictionary_reader.h"
#include "store/frames/binding_writer.h"
#include "store/packed/block_packs.h"
#include "tests/unit/query/fleet_fixture.h"
#include "tests/unit/query/hooked_source.h"

namespace plimsoll::query {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kHourNs = 3600 * int64_t{1'000'000'000};

// An hour apart.
std::vector<ProfileSpec> three_hours() {
  return {{.seed = 1,
           .machine = "m1",
           .from_ns = kProfileStartNs,
           .stacks = "main;parse;read 3\nprocess=worker thread=w1 main;parse 2\n"},
          {.seed = 2,
           .machine = "m2",
           .from_ns = kProfileStartNs + kHourNs,
           .stacks = "main;render 5\nprocess=worker thread=w2 main;parse;read 7\n"},
          {.seed = 3,
           .machine = "m1",
           .from_ns = kProfileStartNs + 2 * kHourNs,
           .stacks = "main;parse;read;parse 11\n"}};
}

std::vector<std::string> ranges() {
  return {format_time(kProfileStartNs - 1), format_time(kProfileStartNs + kHourNs / 2),
          format_time(kProfileStartNs + 3 * kHourNs / 2), format_time(kProfileStartNs + 3 * kHourNs)};
}

TEST(Blocks, AnswerTogetherAsOneDoes) {
  Fleet one;
  Fleet many({.max_profiles = 1});
  for (const ProfileSpec& spec : three_hours()) {
    one.add(spec);
    many.add(spec);
  }
  ASSERT_EQ(one.ingest().blocks()->size(), 1);
  ASSERT_EQ(many.ingest().blocks()->size(), 3);
  const auto times = ranges();
  for (size_t first = 0; first < times.size(); ++first) {
    for (size_t last = first + 1; last < times.size(); ++last) {
      for (const char* by :
           {"function", "machine", "app", "thread", "machine,function", "stack", "location"}) {
        const Parameters parameters{{"by", by}, {"since", times[first]}, {"until", times[last]}};
        const std::string expected = brief(one.top(parameters));
        EXPECT_EQ(brief(many.top(parameters)), expected) << by << " " << first << " to " << last;
      }
    }
  }
  EXPECT_EQ(brief(many.top({{"by", "function"}})), "parse 13 23\nread 10 21\nrender 5 5\nmain 0 28\n");
}

TEST(Blocks, WithPackedEntriesAnswerAsWithout) {
  Fleet fleet({.max_profiles = 1});
  for (const ProfileSpec& spec : three_hours()) {
    fleet.add(spec);
  }
  const auto answers = [&] {
    const auto snapshot = Snapshot::load(fleet.path());
    EXPECT_TRUE(snapshot) << snapshot.error().text();
    std::string text;
    for (const char* by : {"function", "machine", "thread"}) {
      const auto request = parse_top({{"by", by}}, 0);
      EXPECT_TRUE(request) << request.error().text();
      text += brief(top(*request, **snapshot));
    }
    return text;
  };
  const std::string expected = answers();
  const auto blocks = *fleet.ingest().blocks();
  ASSERT_TRUE(store::pack_block(blocks[0]));
  ASSERT_TRUE(store::pack_block(blocks[1]));
  EXPECT_EQ(answers(), expected);

  // It is read: what it has wrong is in the answer.
  auto catalogue = *store::Catalogue::open(blocks[0].catalogue_path(), sqlite::OpenMode::kRead);
  const auto dictionaries = *store::load_dictionaries(catalogue.database());
  store::Dictionaries other = dictionaries;
  other.stacks = {store::StackNode()};
  for (size_t id = 1; id < dictionaries.stacks.size(); ++id) {
    other.stacks.push_back({.parent = dictionaries.stacks[id].parent, .location = 1});
  }
  const std::string path = store::entry_pack_path(blocks[0]);
  ASSERT_TRUE(write_file_durably(path, as_bytes(store::pack_entries(other, store::Bindings()))));
  EXPECT_NE(answers(), expected);

  // It is damaged.
  std::string bytes = *read_file(path, 1 << 20);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  ASSERT_TRUE(write_file_durably(path, as_bytes(bytes)));
  EXPECT_EQ(answers(), expected);
}

// Of the profile whose hour it is, without the others' names.
TEST(Blocks, OfOtherTimesAreNotRead) {
  Fleet fleet({.max_profiles = 1});
  for (const ProfileSpec& spec : three_hours()) {
    fleet.add(spec);
  }
  const auto snapshot = *Snapshot::load(
      fleet.path(), {{.from_ns = kProfileStartNs + kHourNs, .to_ns = kProfileStartNs + kHourNs + 1}});
  EXPECT_EQ(snapshot->dictionaries.origins.size(), 2);
  EXPECT_EQ(snapshot->dictionaries.machines[1].machine_id, "m2");
  EXPECT_EQ(snapshot->history_from_ns, kProfileStartNs);
  EXPECT_EQ(snapshot->history_to_ns, kProfileStartNs + 2 * kHourNs + ProfileSpec().length_ns);
}

TEST(Blocks, WhereThereIsNothingItIsSaidWhatThereIs) {
  Fleet fleet({.max_profiles = 1});
  for (const ProfileSpec& spec : three_hours()) {
    fleet.add(spec);
  }
  const auto table = fleet.top({{"since", format_time(kProfileStartNs + 9 * kHourNs)}});
  ASSERT_TRUE(table) << table.error().text();
  EXPECT_THAT(table->notes,
              ::testing::Contains(HasSubstr("there are profiles from " + format_time(kProfileStartNs))));
}

// A draw's profiles stand for its machines together, wherever they are.
TEST(Blocks, NearATimeAreReadForTheDrawsThatSpanIt) {
  Fleet fleet({.max_profiles = 1});
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    auto profile = make_profile({.seed = seed,
                                 .machine = fmt::format("m{}", seed),
                                 .from_ns = kProfileStartNs + static_cast<int64_t>(seed) * kHourNs,
                                 .stacks = "main 1\n"});
    if (seed < 3) {
      wire::Draw& draw = *profile.mutable_assignment()->mutable_draw();
      draw.set_id("one");
      draw.set_inclusion_probability(1);
      draw.set_interval_ns(2 * kHourNs);
    }
    fleet.add(profile);
  }
  const auto snapshot = *Snapshot::load(
      fleet.path(), {{.from_ns = kProfileStartNs + kHourNs, .to_ns = kProfileStartNs + kHourNs + 1}});
  EXPECT_EQ(snapshot->dictionaries.machines.size(), 3) << "and the empty entry";
}

TEST(Blocks, ThatWereDroppedAreInNoAnswerButThoseThatHaveThem) {
  Fleet fleet({.max_profiles = 1});
  for (const ProfileSpec& spec : three_hours()) {
    fleet.add(spec);
  }
  SnapshotCache cache(fleet.path());
  const auto before = cache.newest();
  ASSERT_TRUE(before) << before.error().text();
  const Parameters parameters{{"by", "function"}};
  const auto ask = [&](const Snapshot& snapshot) { return brief(top(*parse_top(parameters, 0), snapshot)); };
  ASSERT_EQ(ask(**before), "parse 13 23\nread 10 21\nrender 5 5\nmain 0 28\n");
  ASSERT_TRUE(fleet.ingest().drop_block(fleet.ingest().blocks()->front()));
  const auto after = cache.newest();
  ASSERT_TRUE(after) << after.error().text();
  EXPECT_EQ(ask(**after), "parse 11 18\nread 7 18\nrender 5 5\nmain 0 23\n");
  EXPECT_EQ(ask(**before), "parse 13 23\nread 10 21\nrender 5 5\nmain 0 28\n");
  EXPECT_EQ((*after)->history_from_ns, kProfileStartNs + kHourNs);
  // The events that are still there, whichever block they came with first.
  EXPECT_EQ(ask(**Snapshot::load(fleet.path())), ask(**after));
}

TEST(Blocks, ThatAreDroppedWhileAQuestionReadsThemAreLeftOut) {
  Fleet fleet({.max_profiles = 1});
  for (const ProfileSpec& spec : three_hours()) {
    fleet.add(spec);
  }
  int dropped = 0;
  const auto snapshot = load_hooked(fleet.path(), [&](const std::vector<std::string>&) {
    if (dropped < 2) {
      ++dropped;
      EXPECT_TRUE(fleet.ingest().drop_block(fleet.ingest().blocks()->front()));
    }
  });
  ASSERT_TRUE(snapshot) << snapshot.error().text();
  EXPECT_EQ((*snapshot)->dictionaries.origins.size(), 2) << "the last one, and the empty entry";
}

// An interval as a stranger may claim it.
TEST(Blocks, StayReadableWhateverTheIntervalOfADraw) {
  Fleet fleet({.max_profiles = 1});
  auto profile = make_profile({.seed = 1, .stacks = "main 1\n"});
  wire::Draw& draw = *profile.mutable_assignment()->mutable_draw();
  draw.set_id("one");
  draw.set_inclusion_probability(1);
  draw.set_interval_ns(INT64_MAX);
  fleet.add(profile);
  fleet.add({.seed = 2, .from_ns = kProfileStartNs + 9 * kHourNs, .stacks = "main 1\n"});
  const auto snapshot = *Snapshot::load(fleet.path(), {{.from_ns = kProfileStartNs + 9 * kHourNs}});
  EXPECT_EQ(snapshot->dictionaries.origins.size(), 3);
}

std::vector<std::pair<int64_t, int64_t>> spans_of(const Parameters& parameters) {
  std::vector<std::pair<int64_t, int64_t>> spans;
  for (const store::TimeSpan& span : times_of(parameters, 100 * kHourNs)) {
    const auto hours = [](int64_t time_ns) {
      return time_ns == INT64_MIN || time_ns == INT64_MAX ? time_ns : time_ns / kHourNs;
    };
    spans.emplace_back(hours(span.from_ns), hours(span.to_ns));
  }
  return spans;
}

TEST(Blocks, AreChosenByTheTimesOfBothSides) {
  using ::testing::ElementsAre;
  using ::testing::Pair;
  EXPECT_THAT(spans_of({}), ElementsAre(Pair(INT64_MIN, INT64_MAX), Pair(INT64_MIN, INT64_MAX)));
  EXPECT_THAT(spans_of({{"since", "3h"}}), ElementsAre(Pair(97, INT64_MAX), Pair(97, INT64_MAX)));
  EXPECT_THAT(spans_of({{"since", "3h"}, {"until", "1h"}, {"earlier", "24h"}}),
              ElementsAre(Pair(73, 75), Pair(97, 99)));
  EXPECT_THAT(spans_of({{"since", "3h"}, {"earlier", "24h"}}),
              ElementsAre(Pair(73, 76), Pair(97, INT64_MAX)));
  EXPECT_THAT(
      spans_of({{"base_since", "9h"}, {"base_until", "8h"}, {"new_since", "2h"}, {"new_until", "1h"}}),
      ElementsAre(Pair(91, 92), Pair(98, 99)));
  EXPECT_THAT(spans_of({{"since", "3h"}, {"base_since", "9h"}}),
              ElementsAre(Pair(91, INT64_MAX), Pair(97, INT64_MAX)));
  EXPECT_THAT(spans_of({{"since", "no time"}}),
              ElementsAre(Pair(INT64_MIN, INT64_MAX), Pair(INT64_MIN, INT64_MAX)));
}

// Whichever was named first, and whether its reader has followed it or reads all of it now.
TEST(Blocks, HaveTheNamesOfTheLastOneThatHasSome) {
  Fleet fleet({.max_profiles = 1});
  SnapshotCache cache(fleet.path());
  const auto add = [&](uint64_t seed) {
    auto profile = make_profile({.seed = seed, .stacks = "main 1\n"});
    wire::Binary binary;
    binary.set_identity_kind(wire::GNU_BUILD_ID);
    binary.set_identity("\x0a\x0b");
    binary.set_path("/usr/bin/tool");
    add_sample(profile, binary, wire::ELF, 0x1000, 1);
    fleet.add(profile);
  };
  const auto name = [&](size_t block, const std::vector<store::Frame>& frames) {
    const std::vector<store::Binding> bindings{{2, frames}};
    ASSERT_TRUE(fleet.ingest().write_catalogue(
        (*fleet.ingest().blocks())[block - 1],
        [&](sqlite::Database& catalogue) { return store::BindingWriter(catalogue).bind(bindings, 1); }));
  };
  const auto names = [&] {
    std::string all;
    for (const auto& snapshot : {*cache.newest(), *Snapshot::load(fleet.path())}) {
      all += brief(top(*parse_top({{"by", "function"}}, 0), *snapshot));
    }
    return all;
  };
  add(1);
  name(1, {{.function = "old"}});
  EXPECT_EQ(names(), "main 1 1\nold 1 1\nmain 1 1\nold 1 1\n");
  add(2);
  EXPECT_EQ(names(), "main 2 2\nold 2 2\nmain 2 2\nold 2 2\n");
  name(2, {{.function = "new"}});
  EXPECT_EQ(names(), "main 2 2\nnew 2 2\nmain 2 2\nnew 2 2\n");
  name(1, {{.function = "older"}});
  EXPECT_EQ(names(), "main 2 2\nnew 2 2\nmain 2 2\nnew 2 2\n");
}

// The cache's series goes from one block to two and on.
TEST(Blocks, AreFollowedAsTheyAreSealed) {
  Fleet fleet({.max_profiles = 2});
  SnapshotCache cache(fleet.path());
  for (uint64_t seed = 1; seed <= 7; ++seed) {
    fleet.add({.seed = seed, .stacks = fmt::format("main;f{} {}\n", seed % 3, seed)});
    const auto followed = *cache.newest();
    const auto read = *Snapshot::load(fleet.path());
    for (const auto& snapshot : {followed, read}) {
      EXPECT_EQ(brief(top(*parse_top({{"by", "function"}}, 0), *snapshot)),
                brief(fleet.top({{"by", "function"}})));
    }
    EXPECT_EQ(*cache.newest(), followed) << "nothing has changed";
  }
  EXPECT_EQ(fleet.ingest().blocks()->size(), 4);
}

TEST(Blocks, ThatWouldTakeTooMuchMemoryTogetherAreRefused) {
  Fleet fleet({.max_profiles = 1});
  for (const ProfileSpec& spec : three_hours()) {
    fleet.add(spec);
  }
  // One block has no union, and no limit.
  store::LocalSource source(fleet.path(), 1);
  const store::TimeSpans last_hour{{kProfileStartNs + 2 * kHourNs, INT64_MAX}};
  EXPECT_TRUE(source.newest(last_hour));
  const auto first = source.newest(store::all_times());
  ASSERT_FALSE(first);
  EXPECT_EQ(first.error().code, ErrorCode::kTooLarge);
  EXPECT_THAT(first.error().text(), HasSubstr("the stacks of 1 of the 3 blocks take "));
  const auto second = source.newest(store::all_times());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().text(), first.error().text());
  EXPECT_TRUE(source.newest(last_hour));
  EXPECT_TRUE(store::LocalSource(fleet.path()).newest(store::all_times()));
}

TEST(Blocks, OneThatIsMissingIsNamed) {
  Fleet fleet({.max_profiles = 1});
  for (const ProfileSpec& spec : three_hours()) {
    fleet.add(spec);
  }
  std::filesystem::remove_all(fleet.path() + "/blocks/000002");
  const auto snapshot = Snapshot::load(fleet.path());
  ASSERT_FALSE(snapshot);
  EXPECT_EQ(snapshot.error().code, ErrorCode::kCorrupt);
  EXPECT_THAT(snapshot.error().text(), HasSubstr("between 000001 and 000003"));
}

}  // namespace
}  // namespace plimsoll::query
