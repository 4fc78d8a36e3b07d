#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "store/catalogue/catalogue.h"
#include "store/dictionaries/dictionary_builder.h"
#include "store/dictionaries/dictionary_reader.h"
#include "store/dictionaries/entry_writer.h"
#include "store/model/label_set.h"
#include "tests/profile_fixture.h"
#include "tests/temporary_directory.h"

namespace plimsoll::store {
namespace {

using ::testing::HasSubstr;

WorkloadEntry workload(std::string job, std::string instance) {
  return {std::move(job), std::move(instance), "", "", "", "", "", ""};
}

MachineEntry machine_with(std::string kernel) {
  return {"m", "", "", "", "", "", std::move(kernel), 1};
}

// Of a catalogue: what it has, what is added to it, and the way of that into it.
class Dictionary {
 public:
  explicit Dictionary(Catalogue& catalogue) : catalogue_(catalogue) {}

  DictionaryBuilder& operator*() { return builder_; }
  DictionaryBuilder* operator->() { return &builder_; }

  uint32_t add_origin(const OriginEntry& entry, std::string profile_id, int64_t sequence) {
    profiles_.push_back({.id = std::move(profile_id), .sequence = sequence});
    return builder_.origin(entry);
  }

  void write() {
    const Status written =
        write_entries(catalogue_.database(), entries_since(written_, builder_.entries()), profiles_);
    ASSERT_TRUE(written) << written.error().text();
    written_ = builder_.mark();
    profiles_.clear();
  }

  void roll_back() {
    builder_.roll_back(written_);
    profiles_.clear();
  }

 private:
  Catalogue& catalogue_;
  DictionaryBuilder builder_{*load_dictionaries(catalogue_.database())};
  DictionarySizes written_ = builder_.mark();
  std::vector<ProfileRecord> profiles_;
};

class DictionariesTest : public ::testing::Test {
 protected:
  Catalogue open() {
    auto catalogue = Catalogue::open(folder_ / "catalogue.db", sqlite::OpenMode::kReadWrite);
    EXPECT_TRUE(catalogue) << catalogue.error().text();
    return std::move(*catalogue);
  }

  plimsoll::testing::TemporaryDirectory folder_;
};

TEST(DictionaryBuilder, AnEntryHasOneIdHoweverOftenItComes) {
  DictionaryBuilder writer{Dictionaries()};
  EXPECT_EQ(writer.thread("main"), 1);
  EXPECT_EQ(writer.thread("io"), 2);
  EXPECT_EQ(writer.thread("main"), 1);
  EXPECT_EQ(writer.thread(""), 3);
  EXPECT_EQ(writer.workload(workload("a", "")), 1);
  EXPECT_EQ(writer.workload(workload("", "a")), 2);
  EXPECT_EQ(writer.workload(workload("a", "")), 1);
  EXPECT_EQ(writer.binary({wire::GNU_BUILD_ID, std::string("a\0b", 3), "/bin/a"}), 1);
  EXPECT_EQ(writer.binary({wire::GNU_BUILD_ID, std::string("a\0c", 3), "/bin/a"}), 2);
  EXPECT_EQ(writer.location({wire::ELF, 1, UINT64_MAX, ""}), 1);
  EXPECT_EQ(writer.location({wire::ELF, 2, UINT64_MAX, ""}), 2);
  EXPECT_EQ(writer.stack({0, 1}), 1);
  EXPECT_EQ(writer.stack({1, 1}), 2);
  EXPECT_EQ(writer.stack({0, 1}), 1);
  EXPECT_EQ(writer.machine(machine_with("6.1")), 1);
  EXPECT_EQ(writer.machine(machine_with("6.2")), 2);  // a version of its own
}

TEST_F(DictionariesTest, ReopenedTheyHaveTheSameIdsAndGoOnAfterThem) {
  // Random names against a map from name to ID, over many short lives of a writer->
  std::map<std::string, uint32_t> threads;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> stacks;
  std::mt19937_64 random(1);
  for (int life = 0; life < 10; ++life) {
    Catalogue catalogue = open();
    Dictionary writer(catalogue);
    ASSERT_EQ(writer->entries().threads.size(), threads.size() + 1);
    auto transaction = *sqlite::Transaction::begin(catalogue.database());
    for (int i = 0; i < 100; ++i) {
      const std::string name = fmt::format("t{}", random() % 300);
      const uint32_t next_thread = static_cast<uint32_t>(threads.size() + 1);
      ASSERT_EQ(writer->thread(name), threads.try_emplace(name, next_thread).first->second);
      const StackNode node{static_cast<uint32_t>(random() % (stacks.size() + 1)),
                           static_cast<uint32_t>(random() % 20)};
      const uint32_t next_stack = static_cast<uint32_t>(stacks.size() + 1);
      ASSERT_EQ(writer->stack(node),
                stacks.try_emplace({node.parent, node.location}, next_stack).first->second);
    }
    writer.write();
    ASSERT_TRUE(transaction.commit());
  }
  Catalogue catalogue = open();
  const auto loaded = load_dictionaries(catalogue.database());
  ASSERT_TRUE(loaded) << loaded.error().text();
  for (const auto& [name, id] : threads) {
    EXPECT_EQ(loaded->threads[id], name);
  }
  for (const auto& [node, id] : stacks) {
    EXPECT_EQ(std::pair(loaded->stacks[id].parent, loaded->stacks[id].location), node);
  }
}

TEST_F(DictionariesTest, AllThatAnEntryHoldsComesBack) {
  const MachineEntry machine{"id",    "host", "dc",        "cluster", "AMD Zen 3", "x86_64",
                             "6.1.0", 128,    "EPYC 7763", "beef01",  "Debian 12", "0.1.0"};
  const WorkloadEntry full_workload{"job", "job/1", "app", "image", "beef", "r12", "gcc", "ci"};
  const BinaryEntry binary{wire::CONTENT_HASH, std::string("\0\xff\n", 3), "/opt/a b"};
  const LocationEntry location{wire::KERNEL, 1, 0xffff'ffff'8000'0000, ""};
  {
    Catalogue catalogue = open();
    Dictionary writer(catalogue);
    writer->machine(machine);
    writer->workload(full_workload);
    writer->binary(binary);
    writer->location(location);
    ASSERT_TRUE(writer->event({"cycles", wire::COUNT, wire::DELTA}));
    ASSERT_TRUE(writer->event({"heap-inuse-bytes", wire::BYTES, wire::SNAPSHOT}));
    writer.add_origin({1, 100, 200, "draw-7", 0.25, 900, "scrape:a/heap", "stratum"},
                      plimsoll::testing::profile_id(1), 42);
    writer.write();
  }
  Catalogue catalogue = open();
  const auto loaded = *load_dictionaries(catalogue.database());
  EXPECT_EQ(loaded.machines.at(1), machine);
  EXPECT_EQ(loaded.workloads.at(1), full_workload);
  EXPECT_EQ(loaded.binaries.at(1), binary);
  EXPECT_EQ(loaded.locations.at(1), location);
  EXPECT_EQ(loaded.events.at(2).name, "heap-inuse-bytes");
  EXPECT_EQ(loaded.events.at(2).unit, wire::BYTES);
  EXPECT_EQ(loaded.events.at(2).kind, wire::SNAPSHOT);
  const OriginEntry& origin = loaded.origins.at(1);
  EXPECT_EQ(std::tuple(origin.machine, origin.from_ns, origin.to_ns, origin.draw,
                       origin.inclusion_probability, origin.interval_ns, origin.series, origin.stratum),
            std::tuple(1U, 100, 200, "draw-7", 0.25, 900, "scrape:a/heap", "stratum"));
}

TEST_F(DictionariesTest, AnotherConnectionHasTheStacksOfAnOlderState) {
  Catalogue catalogue = open();
  Dictionary writer(catalogue);
  writer->stack({0, 7});
  writer->stack({1, 8});
  writer.write();
  const auto last = last_stack(catalogue.database());
  ASSERT_TRUE(last);
  writer->stack({2, 9});
  writer.write();
  Catalogue other = open();
  Dictionaries loaded;
  const Status extended = extend_stacks(loaded, other.database(), *last);
  ASSERT_TRUE(extended) << extended.error().text();
  EXPECT_EQ(loaded.stacks, (AppendOnlyList<StackNode>{{0, 0}, {0, 7}, {1, 8}}));
  const Status missing = extend_stacks(loaded, other.database(), 4);
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("the stacks end with 3, not 4"));
}

// Entry `number` of each dictionary; an origin is new in each round.
void add_entries(Dictionary& writer, uint32_t number, char round) {
  const std::string text = std::to_string(number);
  writer->machine({.machine_id = text,
                   .hostname = {},
                   .datacenter = {},
                   .cluster = {},
                   .platform = {},
                   .architecture = {},
                   .kernel = {}});
  ASSERT_TRUE(writer->event({text, wire::COUNT, wire::DELTA}));
  writer->workload({text, {}, {}, {}, {}, {}, {}, {}});
  writer->thread(text);
  writer->label_set(encode_labels({{"label", text}}));
  writer->binary({wire::GNU_BUILD_ID, text, {}});
  writer->location({wire::ELF, 1, number, {}});
  writer->location({wire::NAMED, 0, 0, text});
  writer->stack({0, number});
  writer.add_origin({.machine = 1, .from_ns = number, .to_ns = number, .draw = {}}, text + round, number);
}

void expect_same(const Dictionaries& actual, const Dictionaries& expected) {
  EXPECT_EQ(actual.machines, expected.machines);
  EXPECT_EQ(actual.workloads, expected.workloads);
  EXPECT_EQ(actual.threads, expected.threads);
  EXPECT_EQ(actual.label_sets, expected.label_sets);
  EXPECT_EQ(actual.binaries, expected.binaries);
  EXPECT_EQ(actual.locations, expected.locations);
  EXPECT_EQ(actual.stacks, expected.stacks);
  EXPECT_EQ(actual.events.size(), expected.events.size());
  EXPECT_EQ(actual.origins.size(), expected.origins.size());
}

TEST_F(DictionariesTest, WhatIsRolledBackWasNeverThere) {
  Catalogue catalogue = open();
  Dictionary writer(catalogue);
  const auto add = [&](uint32_t from, uint32_t to, char round) {
    for (uint32_t number = from; number < to; ++number) {
      add_entries(writer, number, round);
    }
  };
  add(0, 10, 'a');
  writer.write();
  add(5, 300, 'b');
  writer.roll_back();
  EXPECT_EQ(writer->entries().threads.size(), 11);
  EXPECT_EQ(writer->find_stack({0, 200}), 0);
  EXPECT_NE(writer->find_stack({0, 5}), 0);
  EXPECT_FALSE(writer->label_values().has("label", "200"));
  add(5, 20, 'c');
  writer.write();
  const Dictionaries loaded = *load_dictionaries(catalogue.database());
  expect_same(loaded, writer->entries());
  EXPECT_EQ(loaded.events.size(), 21);
  EXPECT_EQ(loaded.threads.size(), 21);
  EXPECT_EQ(loaded.origins.size(), 26) << "each origin is new";
  EXPECT_EQ(*read_sizes(catalogue.database()), sizes_of(loaded));
}

TEST_F(DictionariesTest, ACatalogueWithoutEntriesHasEntry0Alone) {
  EXPECT_EQ(*read_sizes(open().database()), DictionarySizes());
}

TEST_F(DictionariesTest, AReaderAddsWhatWasWrittenSince) {
  Catalogue catalogue = open();
  Dictionary writer(catalogue);
  Dictionaries read;
  for (uint32_t round = 0; round < 5; ++round) {
    const Dictionaries before = read;
    for (uint32_t number = round * 5; number < round * 10; ++number) {
      add_entries(writer, number, static_cast<char>('a' + round));
    }
    writer.write();
    ASSERT_TRUE(extend(read, catalogue.database()));
    expect_same(read, *load_dictionaries(catalogue.database()));
    EXPECT_EQ(before.threads.size(), before.machines.size()) << "a copy stays as it is";
  }
  EXPECT_EQ(read.threads.size(), 36) << "of the numbers 5 to 39";
}

TEST(DictionaryBuilder, AnEventKeepsItsUnitAndKind) {
  DictionaryBuilder writer{Dictionaries()};
  ASSERT_EQ(writer.event({"allocations", wire::COUNT, wire::DELTA}), 1);
  for (const EventEntry& other : {EventEntry{"allocations", wire::BYTES, wire::DELTA},
                                  EventEntry{"allocations", wire::COUNT, wire::CUMULATIVE}}) {
    const auto conflict = writer.event(other);
    ASSERT_FALSE(conflict);
    EXPECT_EQ(conflict.error().code, ErrorCode::kConflict);
    EXPECT_THAT(conflict.error().message, HasSubstr("allocations"));
  }
  EXPECT_EQ(writer.event({"allocations", wire::COUNT, wire::DELTA}), 1);
}

TEST_F(DictionariesTest, AGapInTheIdsIsDamage) {
  Catalogue catalogue = open();
  ASSERT_TRUE(catalogue.database().run("INSERT INTO thread VALUES (1, 'a'), (3, 'c')"));
  const auto loaded = load_dictionaries(catalogue.database());
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, ErrorCode::kCorrupt);
  EXPECT_THAT(loaded.error().message, HasSubstr("no entry 2"));
}

}  // namespace
}  // namespace plimsoll::store
