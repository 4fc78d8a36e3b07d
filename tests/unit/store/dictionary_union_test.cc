#include "store/joined/dictionary_union.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>
#include <set>

namespace plimsoll::store {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A block of which the names say what it has.
class Block {
 public:
  uint32_t app(const std::string& name) {
    WorkloadEntry entry;
    entry.app = name;
    return index_.intern(entry);
  }
  uint32_t binary(const std::string& path) {
    return index_.intern(BinaryEntry{wire::GNU_BUILD_ID, path, path});
  }
  uint32_t location(wire::LocationKind kind, uint32_t owner, uint64_t address) {
    return index_.intern(LocationEntry{kind, owner, address, {}});
  }
  uint32_t stack(uint32_t parent, uint32_t location) { return index_.intern(StackNode{parent, location}); }
  uint32_t event(const std::string& name, wire::Kind kind = wire::DELTA, wire::Unit unit = wire::COUNT) {
    return *index_.intern(EventEntry{name, unit, kind});
  }
  // With that many hits of each event, the first one having 10, the next 20, ...
  uint32_t origin(const std::string& machine, std::initializer_list<uint32_t> events) {
    MachineEntry of;
    of.machine_id = machine;
    OriginEntry entry;
    entry.machine = index_.intern(of);
    const uint32_t id = index_.add(entry);
    uint64_t hits = 0;
    for (const uint32_t event : events) {
      hits += 10;
      index_.add(OriginEventEntry{.origin = id, .event = event, .hits = hits});
    }
    return id;
  }
  const Dictionaries& entries() const { return index_.entries(); }

 private:
  DictionaryIndex index_;
};

TEST(DictionaryUnion, HasEqualEntriesOfBlocksOnce) {
  Block first;
  const uint32_t a_of_first = first.location(wire::ELF, first.binary("/a"), 1);
  const uint32_t b_of_first = first.location(wire::ELF, first.binary("/b"), 2);
  first.stack(first.stack(0, a_of_first), b_of_first);
  Block second;
  const uint32_t b_of_second = second.location(wire::ELF, second.binary("/b"), 2);
  const uint32_t a_of_second = second.location(wire::ELF, second.binary("/a"), 1);
  second.stack(second.stack(0, b_of_second), a_of_second);
  DictionaryUnion both;
  DictionaryUnion::Member of_first;
  DictionaryUnion::Member of_second;
  ASSERT_TRUE(both.add(first.entries(), of_first));
  ASSERT_TRUE(both.add(second.entries(), of_second));
  EXPECT_EQ(both.entries().binaries.size(), 3);
  EXPECT_EQ(both.entries().locations.size(), 3);
  EXPECT_EQ(both.entries().stacks.size(), 5) << "they call each other the other way round";
  EXPECT_THAT(of_first.translation.locations.span(), ElementsAre(0, 1, 2));
  EXPECT_THAT(of_second.translation.locations.span(), ElementsAre(0, 2, 1));
  EXPECT_THAT(of_second.translation[Column::kStack].span(), ElementsAre(0, 3, 4));
  EXPECT_EQ(both.entries().stacks[4], (StackNode{3, 1}));
}

// Code that a process has made is of its workload; other code is of a file. Their IDs have nothing in common.
TEST(DictionaryUnion, KnowsWhoseCodeIs) {
  Block first;
  first.binary("/a");
  first.location(wire::JIT, first.app("one"), 7);
  Block second;
  second.binary("/a");
  second.app("one");
  second.location(wire::JIT, second.app("two"), 7);
  DictionaryUnion both;
  DictionaryUnion::Member of_first;
  DictionaryUnion::Member of_second;
  ASSERT_TRUE(both.add(first.entries(), of_first));
  ASSERT_TRUE(both.add(second.entries(), of_second));
  ASSERT_EQ(both.entries().locations.size(), 3);
  EXPECT_EQ(both.entries().workloads[both.entries().locations[1].owner].app, "one");
  EXPECT_EQ(both.entries().workloads[both.entries().locations[2].owner].app, "two");
}

TEST(DictionaryUnion, KeepsEventsBesideTheirOriginsHoweverBlocksGrow) {
  Block first;
  Block second;
  DictionaryUnion both;
  DictionaryUnion::Member of_first;
  DictionaryUnion::Member of_second;
  const uint32_t faults = first.event("faults");
  first.origin("m1", {faults, first.event("cycles")});
  second.origin("m2", {second.event("cycles")});
  ASSERT_TRUE(both.add(first.entries(), of_first));
  ASSERT_TRUE(both.add(second.entries(), of_second));
  second.origin("m1", {second.event("cycles"), second.event("squares of cycles", wire::SQUARES)});
  first.origin("m1", {faults});
  ASSERT_TRUE(both.add(second.entries(), of_second));
  ASSERT_TRUE(both.add(first.entries(), of_first));

  std::vector<std::string> events;
  for (const auto* list : {&both.entries().origin_events, &both.entries().origin_squares}) {
    for (const OriginEventEntry& entry : *list) {
      const MachineEntry& machine = both.entries().machines[both.entries().origins[entry.origin].machine];
      events.push_back(fmt::format("{} {} {} {}", entry.origin, machine.machine_id,
                                   both.entries().events[entry.event].name, entry.hits));
    }
  }
  EXPECT_THAT(events, ElementsAre("1 m1 faults 10", "1 m1 cycles 20", "2 m2 cycles 10", "3 m1 cycles 10",
                                  "4 m1 faults 10", "3 m1 squares of cycles 20"));
  EXPECT_THAT(of_first.translation[Column::kOrigin].span(), ElementsAre(0, 1, 4));
}

TEST(DictionaryUnion, RefusesAnEventOfAnotherMeaning) {
  Block first;
  first.event("cycles");
  Block second;
  second.event("cycles", wire::SNAPSHOT);
  DictionaryUnion both;
  DictionaryUnion::Member of_first;
  DictionaryUnion::Member of_second;
  ASSERT_TRUE(both.add(first.entries(), of_first));
  EXPECT_EQ(both.add(second.entries(), of_second).error().code, ErrorCode::kConflict);
}

std::vector<std::string> names_of_events(const Dictionaries& entries) {
  std::vector<std::string> names;
  for (const EventEntry& event : entries.events) {
    names.push_back(event.name);
  }
  return names;
}

TEST(DictionaryUnion, CallsEventsAsTheyAreNow) {
  Block first;
  first.origin("m1", {first.event("wall", wire::DELTA, wire::NANOSECONDS)});
  first.event("wall^2", wire::SQUARES, wire::NANOSECONDS);
  first.event("cpu");
  Block second;
  second.origin("m1", {second.event("wall", wire::DELTA, wire::NANOSECONDS)});
  second.origin("m1", {second.event("wall-ns", wire::DELTA, wire::NANOSECONDS)});
  EXPECT_TRUE(has_renamed_rows(first.entries()));
  DictionaryUnion both;
  DictionaryUnion::Member of_first;
  DictionaryUnion::Member of_second;
  ASSERT_TRUE(both.add(first.entries(), of_first));
  ASSERT_TRUE(both.add(second.entries(), of_second));
  EXPECT_THAT(names_of_events(both.entries()), ElementsAre("", "wall-ns", "wall-ns^2", "cpu"));
  EXPECT_THAT(of_second.translation[Column::kEvent].span(), ElementsAre(0, 1, 1));
}

TEST(DictionaryUnion, KeepsApartWhatOneOriginHasUnderBothNames) {
  Block block;
  const uint32_t former = block.event("wall", wire::DELTA, wire::NANOSECONDS);
  block.event("wall^2", wire::SQUARES, wire::NANOSECONDS);
  const uint32_t current = block.event("wall-ns", wire::DELTA, wire::NANOSECONDS);
  block.origin("m1", {former});
  block.origin("m1", {current, former});
  DictionaryUnion all;
  DictionaryUnion::Member member;
  ASSERT_TRUE(all.add(block.entries(), member));
  EXPECT_THAT(names_of_events(all.entries()), ElementsAre("", "wall", "wall^2", "wall-ns"));
}

TEST(DictionaryUnion, TakesAnEventThatIsCalledLikeARenamedOne) {
  Block first;
  first.event("wall", wire::DELTA, wire::NANOSECONDS);
  Block second;
  second.event("wall-ns");
  Block third;
  third.event("wall", wire::SNAPSHOT, wire::NANOSECONDS);
  EXPECT_FALSE(has_renamed_rows(first.entries())) << "it has the name alone";
  DictionaryUnion all;
  for (const Block* block : {&first, &second, &third}) {
    DictionaryUnion::Member member;
    ASSERT_TRUE(all.add(block->entries(), member));
  }
  EXPECT_THAT(names_of_events(all.entries()), ElementsAre("", "wall-ns", "own-wall-ns", "wall"));
}

// "3<1<2": addresses of the locations, the leaf first.
std::string path_of(uint32_t stack, const Dictionaries& entries) {
  std::string path;
  for (; stack != 0; stack = entries.stacks[stack].parent) {
    path += fmt::format("<{}", entries.locations[entries.stacks[stack].location].address);
  }
  return path;
}

// Blocks that grow in turns, with some stacks in common: shallow and deep ones, parents old and new.
TEST(DictionaryUnion, OfRandomStacksHasEachOnceUnderItsParent) {
  std::mt19937 random(1);
  const auto draw = [&](uint32_t count) {
    return std::uniform_int_distribution<uint32_t>(0, count - 1)(random);
  };
  DictionaryUnion all;
  std::array<Block, 3> blocks;
  std::array<DictionaryUnion::Member, 3> members;
  std::set<std::string> paths;
  for (int turn = 0; turn < 30; ++turn) {
    const size_t number = draw(blocks.size());
    Block& block = blocks[number];
    const uint32_t binary = block.binary("/a");
    for (uint32_t i = draw(40); i > 0; --i) {
      uint32_t stack = 0;
      for (uint32_t depth = draw(turn % 5 == 0 ? 60 : 5) + 1; depth > 0; --depth) {
        stack = block.stack(stack, block.location(wire::ELF, binary, draw(depth < 3 ? 20 : 2)));
      }
    }
    DictionaryUnion::Member& member = members[number];
    ASSERT_TRUE(all.add(block.entries(), member));
    const auto& ids = member.translation[Column::kStack];
    ASSERT_EQ(ids.size(), block.entries().stacks.size());
    for (uint32_t stack = 0; stack < ids.size(); ++stack) {
      ASSERT_EQ(path_of(ids[stack], all.entries()), path_of(stack, block.entries()));
      paths.insert(path_of(stack, block.entries()));
    }
  }
  EXPECT_GT(paths.size(), 500);
  EXPECT_EQ(all.entries().stacks.size(), paths.size());
  for (uint32_t stack = 1; stack < all.entries().stacks.size(); ++stack) {
    ASSERT_LT(all.entries().stacks[stack].parent, stack);
  }
}

TEST(DictionaryUnion, AStackThatComesBeforeItsParentIsDamage) {
  Dictionaries block;
  block.locations.push_back({wire::NAMED, 0, 0, "main"});
  block.stacks.push_back({2, 1});
  block.stacks.push_back({0, 1});
  DictionaryUnion::Member member;
  const Status added = DictionaryUnion().add(block, member);
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().code, ErrorCode::kCorrupt);
}

// Of a block whose stacks are the union's 0, 3 and 1, whose origins are 0 and 2, and whose event is 1.
TEST(Translation, OfARequestHasTheUnionsGroups) {
  Translation ids;
  ids[Column::kStack] = {0, 3, 1};
  ids[Column::kOrigin] = {0, 2};
  ids[Column::kEvent] = {0, 1};
  AggregateRequest request;
  request.filter[Column::kStack] = IdSet::of_flags({true, true, false});
  request.group[Column::kOrigin] = IdGrouping::by({0, 4, 5});
  request.group[Column::kStack] =
      IdGrouping::in_lists({.list_of_stack = {0, 1}, .first = {0, 1, 3}, .groups = {7, 8, 9}});
  request.measures = {{{}, {1.0, 2.0}}};
  const AggregateRequest of_block = translate(request, ids);
  EXPECT_THAT(of_block.filter[Column::kStack].flags(), ElementsAre(true, false, true))
      << "3 lies beyond the flags";
  EXPECT_TRUE(of_block.filter[Column::kOrigin].is_all());
  EXPECT_THAT(of_block.group[Column::kOrigin].table(), ElementsAre(0, 5));
  EXPECT_TRUE(of_block.group[Column::kThread].is_one());
  const StackGroups* const lists = of_block.group[Column::kStack].lists();
  ASSERT_NE(lists, nullptr);
  EXPECT_THAT(lists->of(0), ElementsAre(7));
  EXPECT_THAT(lists->of(1), IsEmpty()) << "3 lies beyond the lists";
  EXPECT_THAT(lists->of(2), ElementsAre(8, 9));
  EXPECT_TRUE(std::isnan(of_block.measures[0][1][1])) << "origin 2 has no factor";

  AggregateRequest by_stack;
  by_stack.group[Column::kStack] = IdGrouping::each();
  EXPECT_THAT(translate(by_stack, ids).group[Column::kStack].table(), ElementsAre(0, 3, 1));
}

// Of a block whose workloads are the union's 0, 4, 2 and 9, and whose origins are 0, 5 and 6.
TEST(Translation, OfAFilterKeepsTheConditionsThatMadeIt) {
  Translation ids;
  ids[Column::kWorkload] = {0, 4, 2, 9};
  ids[Column::kOrigin] = {0, 5, 6};
  ids[Column::kThread] = {0, 1};
  const EntryCondition is_web{.dimension = "job", .values = {"web"}};
  const EntryCondition is_no_order{
      .dimension = "draw", .values = {"order-"}, .are_prefixes = true, .is_negated = true};
  RowFilter filter;
  filter[Column::kWorkload] =
      IdSet::of({2, 3, 9}).made_by({.among = IdSet::of_ranges({{0, 3}, {9, 20}}), .conditions = {is_web}});
  filter[Column::kOrigin] = IdSet::of({6}).made_by({.conditions = {is_no_order}, .middle = {10, 20}});
  filter[Column::kThread] = IdSet::of({1});
  const RowFilter of_block = translate(filter, ids);

  const IdSelection* const workloads = of_block[Column::kWorkload].selection();
  ASSERT_NE(workloads, nullptr);
  EXPECT_THAT(of_block[Column::kWorkload].ranges(), ElementsAre(IdRange{2, 3}));
  EXPECT_THAT(workloads->among.ranges(), ElementsAre(IdRange{0, 0}, IdRange{2, 3})) << "the block's own IDs";
  EXPECT_THAT(workloads->conditions, ElementsAre(is_web));

  const IdSelection* const origins = of_block[Column::kOrigin].selection();
  ASSERT_NE(origins, nullptr);
  EXPECT_THAT(of_block[Column::kOrigin].ranges(), ElementsAre(IdRange{2, 2}));
  EXPECT_TRUE(origins->among.is_all());
  EXPECT_THAT(origins->conditions, ElementsAre(is_no_order));
  EXPECT_EQ(origins->middle, (TimeSpan{10, 20}));

  EXPECT_EQ(of_block[Column::kThread].selection(), nullptr) << "nothing is known but the IDs";
}

}  // namespace
}  // namespace plimsoll::store
