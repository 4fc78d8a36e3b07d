// What every implementation of Source and Symbols does. memory_store.h is the definition; the others must agree with it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/conformance/random_profiles.h"
#include "tests/conformance/stores.h"
#include "tests/temporary_directory.h"

namespace plimsoll::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// A pending binary without the IDs of its store.
std::string text_of(const store::PendingBinary& binary) {
  std::string text =
      fmt::format("{} of {}: {}, generation {}, looked at '{}', reasons '{}', {} new, kernel {}, {} bytes",
                  binary.key(), fmt::join(std::set(binary.paths.begin(), binary.paths.end()), " "),
                  name_of(binary.quality), binary.generation, binary.looked_at, binary.reasons,
                  binary.new_locations, binary.is_kernel, binary.kernel_symbol_bytes);
  std::set<std::string> locations;
  for (const store::PendingLocation& location : binary.locations) {
    locations.insert(fmt::format("{}:{}{}", static_cast<int>(location.kind), location.address,
                                 location.is_new ? " new" : ""));
  }
  return fmt::format("{}; {}", text, fmt::join(locations, ", "));
}

// What a search found, for one block: keeps what NamedBinary borrows.
struct Found {
  store::PendingBinary binary;
  std::vector<store::Binding> bindings = {};
  store::BinaryAccount account = {};

  store::NamedBinary named() const { return {binary.ids, binary.paths.front(), account, bindings}; }
};

// Names of all its locations, which follow from the binary, the address and the generation.
Found find_names(store::PendingBinary binary, int64_t generation, store::SymbolQuality quality) {
  Found found{.binary = std::move(binary)};
  for (const store::PendingLocation& location : found.binary.locations) {
    std::vector<store::Frame> frames;
    // Some have no name, some two inlined functions.
    for (uint64_t depth = 0; depth < location.address % 3; ++depth) {
      frames.push_back({.function = fmt::format("f{}_{}", location.address / 4, depth),
                        .file = depth == 0 ? "f.cc" : "",
                        .line = static_cast<uint32_t>(location.address),
                        .linkage_name = fmt::format("{}:f{}_{}.{}", found.binary.key(), location.address / 4,
                                                    depth, generation)});
    }
    found.bindings.push_back({location.id, std::move(frames)});
  }
  found.account = {.quality = quality,
                   .generation = generation,
                   .reasons = quality == store::SymbolQuality::kFull ? "" : "no debug file",
                   .looked_at = fmt::format("search {}", generation)};
  return found;
}

class StoreTest : public ::testing::TestWithParam<StoreImplementation> {
 protected:
  void SetUp() override {
    if (const std::string why = GetParam().why_missing(); !why.empty()) {
      GTEST_SKIP() << why;
    }
    tested_ = GetParam().make(folder_.path());
  }
  // The tested store goes first: it has files open in the folder.
  void TearDown() override { tested_.reset(); }

  static void add(TestedStore& store, const wire::RawProfile& profile) {
    const Status added = store.add(profile);
    ASSERT_TRUE(added) << added.error().text();
  }
  void add_to_both(const wire::RawProfile& profile) {
    add(*tested_, profile);
    add(model_, profile);
  }
  // So many, none of which is set aside.
  void add_random(Random& random, uint32_t count) {
    while (count > 0) {
      Arrived arrived = random_arrival(random, ++sequence_);
      if (arrived.why_set_aside.empty() && is_plain(arrived.profile)) {
        ASSERT_NO_FATAL_FAILURE(add_to_both(arrived.profile));
        --count;
      }
    }
  }
  // Whether its events contradict none.
  static bool is_plain(const wire::RawProfile& profile) {
    for (const wire::Event& event : profile.events()) {
      if (event.unit() == wire::BYTES) {
        return false;
      }
    }
    return true;
  }

  store::Contents newest(const store::TimeSpans& times = store::all_times()) {
    const auto contents = tested_->source().newest(times);
    EXPECT_TRUE(contents) << contents.error().text();
    return contents.value_or(
        store::Contents{.rows = std::make_shared<MemoryRows>(std::vector<store::Row>())});
  }

  static Shown shown(const store::Contents& contents) {
    auto shown = shown_of(contents);
    EXPECT_TRUE(shown) << shown.error().text();
    return shown.value_or(Shown());
  }
  Shown model_shown() { return shown(*model_.source().newest(store::all_times())); }

  void expect_shows_what_the_model_shows() {
    ASSERT_NO_FATAL_FAILURE(expect_has_the_rows_of_the_model());
    ASSERT_EQ(shown(newest()).entries, model_shown().entries);
  }
  // Without a block another one may know entries of its kernels all the same.
  void expect_has_the_rows_of_the_model() {
    const Shown of_tested = shown(newest());
    const Shown expected = model_shown();
    ASSERT_EQ(of_tested.rows, expected.rows);
    ASSERT_EQ(of_tested.origins, expected.origins);
  }

  // Of all blocks, in words, by block; sets all marks to what was there.
  static std::vector<std::string> pending(TestedStore& store, std::map<int64_t, int64_t>& marks) {
    std::vector<std::string> texts;
    const auto blocks = store.symbols().blocks();
    EXPECT_TRUE(blocks);
    for (const auto& block : *blocks) {
      auto binaries = block->find_pending(marks[block->number()]);
      EXPECT_TRUE(binaries) << binaries.error().text();
      std::set<std::string> of_block;
      for (store::PendingBinary& binary : *binaries) {
        EXPECT_TRUE(block->add_locations(true, binary));
        of_block.insert(fmt::format("block {}: {}", block->number(), text_of(binary)));
      }
      texts.insert(texts.end(), of_block.begin(), of_block.end());
    }
    return texts;
  }

  // As a pass over all blocks does.
  static void symbolize(TestedStore& store, int64_t generation, store::SymbolQuality quality) {
    const auto blocks = store.symbols().blocks();
    ASSERT_TRUE(blocks);
    for (const auto& block : *blocks) {
      int64_t mark = 0;
      auto binaries = block->find_pending(mark);
      ASSERT_TRUE(binaries) << binaries.error().text();
      std::vector<Found> found;
      for (store::PendingBinary& binary : *binaries) {
        ASSERT_TRUE(block->add_locations(true, binary));
        found.push_back(find_names(std::move(binary), generation, quality));
      }
      std::vector<store::NamedBinary> named;
      for (const Found& one : found) {
        named.push_back(one.named());
      }
      const Status bound = block->bind(named);
      ASSERT_TRUE(bound) << bound.error().text();
    }
  }
  void symbolize_both(int64_t generation, store::SymbolQuality quality) {
    ASSERT_NO_FATAL_FAILURE(symbolize(*tested_, generation, quality));
    ASSERT_NO_FATAL_FAILURE(symbolize(model_, generation, quality));
  }

  TemporaryDirectory folder_;
  std::unique_ptr<TestedStore> tested_;
  TestedMemoryStore model_{GetParam().max_profiles};
  int64_t sequence_ = 0;
};

template <typename List>
void expect_begins(const List& later, const List& before, const auto& same, const char* name) {
  ASSERT_GE(later.size(), before.size()) << name;
  for (size_t id = 0; id < before.size(); ++id) {
    ASSERT_TRUE(same(later[id], before[id])) << name << " " << id << " means something else";
  }
}

// Of one lineage: every ID means what it meant.
void expect_extends(const store::Contents& later, const store::Contents& before) {
  const auto same = [](const auto& a, const auto& b) { return a == b; };
  const store::Dictionaries& a = later.dictionaries;
  const store::Dictionaries& b = before.dictionaries;
  expect_begins(a.machines, b.machines, same, "machine");
  expect_begins(a.events, b.events, [](const auto& x, const auto& y) { return x.name == y.name; }, "event");
  expect_begins(
      a.origins, b.origins,
      [](const auto& x, const auto& y) { return x.machine == y.machine && x.from_ns == y.from_ns; },
      "origin");
  expect_begins(a.workloads, b.workloads, same, "workload");
  expect_begins(a.threads, b.threads, same, "thread");
  expect_begins(a.label_sets, b.label_sets, same, "label set");
  expect_begins(a.binaries, b.binaries, same, "binary");
  expect_begins(a.locations, b.locations, same, "location");
  expect_begins(a.stacks, b.stacks, same, "stack");
  expect_begins(later.bindings.functions, before.bindings.functions, same, "function");
  expect_begins(later.bindings.files, before.bindings.files, same, "file");
}

TEST_P(StoreTest, HasNothingAtFirst) {
  const store::Contents contents = newest();
  EXPECT_EQ(sizes_of(contents.dictionaries), store::DictionarySizes());
  EXPECT_GT(contents.history_from_ns, contents.history_to_ns);
  EXPECT_THAT(contents.damaged_blocks, IsEmpty());
  std::map<int64_t, int64_t> marks;
  EXPECT_THAT(pending(*tested_, marks), IsEmpty());
}

// Profiles come, are named, and named better, in any order.
TEST_P(StoreTest, ShowsWhatTheModelShows) {
  for (const uint64_t seed : {1, 2}) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    std::map<int64_t, int64_t> marks, of_model;
    for (int64_t round = 1; round <= 12; ++round) {
      SCOPED_TRACE(fmt::format("round {}", round));
      ASSERT_NO_FATAL_FAILURE(add_random(random, 1 + random.below(4)));
      ASSERT_NO_FATAL_FAILURE(expect_shows_what_the_model_shows());
      if (random.one_in(2)) {
        marks.clear();
        of_model.clear();
      }
      ASSERT_EQ(pending(*tested_, marks), pending(model_, of_model));
      if (random.one_in(2)) {
        // One generation, where several blocks may say different things of a location.
        const int64_t generation =
            GetParam().has_many_blocks() ? 1 : static_cast<int64_t>(seed) * 100 + round;
        ASSERT_NO_FATAL_FAILURE(symbolize_both(
            generation, random.one_in(2) ? store::SymbolQuality::kFull : store::SymbolQuality::kDynsym));
        ASSERT_NO_FATAL_FAILURE(expect_shows_what_the_model_shows());
      }
    }
  }
}

TEST_P(StoreTest, ContentsOfALineageGrowAndEarlierOnesStay) {
  Random random(3);
  struct Earlier {
    store::Contents contents;
    Shown shown;
  };
  std::vector<Earlier> all;
  for (int64_t round = 1; round <= 10; ++round) {
    SCOPED_TRACE(fmt::format("round {}", round));
    ASSERT_NO_FATAL_FAILURE(add_random(random, 1));
    if (round % 3 == 0) {
      ASSERT_NO_FATAL_FAILURE(symbolize_both(1, store::SymbolQuality::kDynsym));
    }
    const store::Contents contents = newest();
    for (const Earlier& earlier : all) {
      if (earlier.contents.lineage == contents.lineage) {
        EXPECT_GT(contents.version, earlier.contents.version);
        ASSERT_NO_FATAL_FAILURE(expect_extends(contents, earlier.contents));
      }
      ASSERT_EQ(shown(earlier.contents), earlier.shown);
    }
    EXPECT_THAT(tested_->source().lineages(), Contains(contents.lineage));
    all.push_back({contents, shown(contents)});
  }
  EXPECT_EQ(all[all.size() - 2].contents.lineage, all.back().contents.lineage) << "each would be read again";
}

TEST_P(StoreTest, WithoutAChangeTheVersionStays) {
  Random random(4);
  ASSERT_NO_FATAL_FAILURE(add_random(random, 3));
  const store::Contents first = newest();
  const store::Contents second = newest();
  EXPECT_EQ(first.lineage, second.lineage);
  EXPECT_EQ(first.version, second.version);
  EXPECT_EQ(shown(first), shown(second));
}

TEST_P(StoreTest, HasTheProfilesOfTheTimesThatAreAskedFor) {
  Random random(5);
  ASSERT_NO_FATAL_FAILURE(add_random(random, 13));
  const Shown all = model_shown();
  const auto history = *model_.source().newest(store::all_times());
  for (int question = 0; question < 40; ++question) {
    const int64_t from_ns =
        history.history_from_ns + (static_cast<int64_t>(random.below(20)) - 3) * 1'000'000'000;
    const store::TimeSpan span{from_ns, from_ns + 1 + static_cast<int64_t>(random.below(5)) * 1'000'000'000};
    SCOPED_TRACE(fmt::format("from {} to {}", span.from_ns, span.to_ns));
    const store::Contents contents = newest({span});
    EXPECT_EQ(contents.history_from_ns, history.history_from_ns);
    EXPECT_EQ(contents.history_to_ns, history.history_to_ns);
    std::multiset<int64_t> touching, expected;
    for (const auto& [of, into] : {std::pair(&contents, &touching), std::pair(&history, &expected)}) {
      for (const store::OriginEntry& origin : of->dictionaries.origins.span().subspan(1)) {
        if (store::touches({span}, origin.from_ns, origin.to_ns, 0)) {
          into->insert(origin.from_ns);
        }
      }
    }
    ASSERT_EQ(touching, expected);
    for (const auto& [row, hits] : shown(contents).rows) {
      ASSERT_EQ(all.rows.at(row), hits);
    }
  }
}

// The newest block neither goes nor is done without.
class SeveralBlocksTest : public StoreTest {};

TEST_P(SeveralBlocksTest, ADamagedBlockIsNamedAndTheOthersAnswer) {
  Random random(6);
  ASSERT_NO_FATAL_FAILURE(add_random(random, 12));
  ASSERT_TRUE(tested_->damage_first());
  ASSERT_TRUE(model_.damage_first());
  EXPECT_THAT(newest().damaged_blocks, SizeIs(1));
  EXPECT_THAT(newest().damaged_blocks[0].why, Not(IsEmpty()));
  expect_has_the_rows_of_the_model();
}

TEST_P(SeveralBlocksTest, WhatIsDroppedStaysWithThoseWhoHaveIt) {
  Random random(7);
  ASSERT_NO_FATAL_FAILURE(add_random(random, 12));
  const store::Contents before = newest();
  const Shown shown_before = shown(before);
  const auto blocks = tested_->symbols().blocks();
  ASSERT_TRUE(blocks);
  ASSERT_TRUE(tested_->drop_first());
  ASSERT_TRUE(model_.drop_first());
  tested_->source().forget_dropped();
  EXPECT_THAT(tested_->source().lineages(), Not(Contains(before.lineage)));
  if (GetParam().keeps_dropped_rows) {
    EXPECT_EQ(shown(before), shown_before);
  } else {
    const auto none = shown_of(before);
    ASSERT_FALSE(none) << "rows of a dropped block are missing, and nothing says so";
    EXPECT_EQ(none.error().code, ErrorCode::kUnavailable);
  }
  EXPECT_NE(newest().lineage, before.lineage);
  expect_has_the_rows_of_the_model();
  // Who looks for symbols finds it gone.
  int64_t mark = 0;
  EXPECT_FALSE(blocks->front()->find_pending(mark));
  EXPECT_TRUE(blocks->front()->is_gone());
  EXPECT_FALSE(blocks->front()->is_unreadable());
  EXPECT_FALSE(blocks->back()->is_gone());
}

// Of one binary at three addresses, whose kernel symbols a profile brought.
class SymbolsTest : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    if (IsSkipped()) {
      return;
    }
    wire::RawProfile profile = make_profile({});
    add_sample(profile, binary("kernel", "[kernel]"), wire::KERNEL, 0x1000, 1);
    wire::KernelImage& image = *profile.mutable_kernel_symbols()->add_images();
    image.set_binary(0);
    image.add_offset_delta(0x1000);
    image.set_names(std::string("start\0", 6));
    for (const uint64_t address : {7, 8, 10}) {
      add_sample(profile, binary("id", "/bin/tool"), wire::ELF, address, 1);
    }
    ASSERT_NO_FATAL_FAILURE(add(*tested_, profile));
    auto blocks = tested_->symbols().blocks();
    ASSERT_TRUE(blocks);
    block_ = std::move(blocks->back());
  }

  store::PendingBinary pending_tool(int64_t bound_up_to = 0) {
    return pending_of("/bin/tool", bound_up_to).value_or(store::PendingBinary());
  }
  std::optional<store::PendingBinary> pending_of(const std::string& path, int64_t bound_up_to = 0) {
    auto binaries = block_->find_pending(bound_up_to);
    EXPECT_TRUE(binaries) << binaries.error().text();
    for (store::PendingBinary& binary : *binaries) {
      if (binary.paths.front() == path) {
        EXPECT_TRUE(block_->add_locations(true, binary));
        return std::move(binary);
      }
    }
    return std::nullopt;
  }

  std::unique_ptr<store::BlockSymbols> block_;
};

TEST_P(SymbolsTest, BindingAgainChangesNothing) {
  const Found found = find_names(pending_tool(), 1, store::SymbolQuality::kFull);
  const std::vector<store::NamedBinary> named{found.named()};
  ASSERT_TRUE(block_->bind(named));
  const Shown once = shown(newest());
  ASSERT_TRUE(block_->bind(named));
  EXPECT_EQ(shown(newest()), once);
  EXPECT_EQ(pending_of("/bin/tool"), std::nullopt) << "its symbols are the best there are";
}

TEST_P(SymbolsTest, BetterNamesReplaceAllThatWereThere) {
  ASSERT_TRUE(
      block_->bind(std::vector{find_names(pending_tool(), 1, store::SymbolQuality::kDynsym).named()}));
  const store::PendingBinary tool = pending_tool();
  EXPECT_EQ(tool.generation, 1);
  EXPECT_EQ(tool.quality, store::SymbolQuality::kDynsym);
  EXPECT_EQ(tool.new_locations, 0);
  EXPECT_EQ(tool.looked_at, "search 1");
  ASSERT_THAT(tool.locations, SizeIs(3));
  EXPECT_FALSE(tool.locations[0].is_new);
  const Found better = find_names(tool, 2, store::SymbolQuality::kFull);
  ASSERT_TRUE(block_->bind(std::vector{better.named()}));
  const store::Contents contents = newest();
  std::set<std::string> names;
  for (uint32_t location = 1; location < contents.dictionaries.locations.size(); ++location) {
    for (const store::Bindings::BoundFrame& frame : contents.bindings.of(location)) {
      names.insert(contents.bindings.linkage_names[frame.function]);
    }
  }
  const std::string key = tool.key();
  EXPECT_THAT(names, Contains(key + ":f2_1.2"));
  EXPECT_THAT(names, Not(Contains(key + ":f2_1.1")));
}

TEST_P(SymbolsTest, AllOfSeveralBinariesOrNoneIsBound) {
  const Found tool = find_names(pending_tool(), 1, store::SymbolQuality::kDynsym);
  Found wrong{.binary = *pending_of("[kernel]"), .account = tool.account};
  wrong.bindings.push_back({1'000'000, {{.function = "nowhere"}}});
  const Shown before = shown(newest());
  ASSERT_FALSE(block_->bind(std::vector{tool.named(), wrong.named()}));
  EXPECT_EQ(shown(newest()), before);
  EXPECT_EQ(pending_tool().generation, 0);
  EXPECT_EQ(pending_tool().new_locations, 3);
}

TEST_P(SymbolsTest, AMarkHidesWhatWasThereBefore) {
  int64_t mark = 0;
  ASSERT_TRUE(block_->find_pending(mark));
  EXPECT_GT(mark, 0);
  EXPECT_EQ(pending_of("/bin/tool", mark), std::nullopt);
  wire::RawProfile more = make_profile({.seed = 2});
  add_sample(more, binary("id", "/bin/tool"), wire::ELF, 11, 1);
  ASSERT_NO_FATAL_FAILURE(add(*tested_, more));
  EXPECT_EQ(pending_tool(mark).new_locations, 1);
  EXPECT_EQ(pending_tool().new_locations, 4);
}

TEST_P(SymbolsTest, TellsWhyThereAreNoBetterSymbols) {
  ASSERT_TRUE(
      block_->bind(std::vector{find_names(pending_tool(), 1, store::SymbolQuality::kDynsym).named()}));
  const store::Contents contents = newest();
  std::map<std::string, std::string> reasons;
  for (uint32_t id = 1; id < contents.dictionaries.binaries.size(); ++id) {
    reasons[contents.dictionaries.binaries[id].path] = contents.bindings.reasons_of(id);
  }
  EXPECT_EQ(reasons.at("/bin/tool"), "no debug file");
  EXPECT_EQ(reasons.at("[kernel]"), "");
}

TEST_P(SymbolsTest, HasTheKernelSymbolsThatAProfileBrought) {
  const auto kernel = pending_of("[kernel]");
  ASSERT_TRUE(kernel);
  EXPECT_TRUE(kernel->is_kernel);
  const auto bytes = block_->kernel_image(*kernel);
  ASSERT_TRUE(bytes) << bytes.error().text();
  EXPECT_EQ(static_cast<int64_t>(bytes->size()), kernel->kernel_symbol_bytes);
  wire::KernelImage image;
  ASSERT_TRUE(image.ParseFromString(*bytes));
  EXPECT_THAT(image.offset_delta(), ElementsAre(0x1000));
  const auto none = block_->kernel_image(pending_tool());
  ASSERT_TRUE(none);
  EXPECT_THAT(*none, IsEmpty());
}

std::vector<StoreImplementation> with_several_blocks() {
  std::vector<StoreImplementation> several;
  std::ranges::copy_if(store_implementations(), std::back_inserter(several),
                       &StoreImplementation::has_many_blocks);
  return several;
}

const auto kName = [](const auto& test) { return test.param.name; };
INSTANTIATE_TEST_SUITE_P(Stores, StoreTest, ::testing::ValuesIn(store_implementations()), kName);
INSTANTIATE_TEST_SUITE_P(Stores, SymbolsTest, ::testing::ValuesIn(store_implementations()), kName);
INSTANTIATE_TEST_SUITE_P(Stores, SeveralBlocksTest, ::testing::ValuesIn(with_several_blocks()), kName);

}  // namespace
}  // namespace plimsoll::testing
