// Spans in, trees out. Each repair is a table of before and after.
#include "traces/assembly/assembly.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <sstream>

#include "tests/traces/span_text.h"

namespace plimsoll::traces {
namespace {

std::string tree(std::string_view text) {
  const SpanSet spans = spans_of(text);
  return "\n" + to_text(spans, assemble(spans));
}

AssemblyCounts counts(std::string_view text) {
  return assemble(spans_of(text)).counts;
}

TEST(Assembly, HasParentsBeforeChildrenAndSiblingsByStart) {
  EXPECT_EQ(tree(R"(
    1 d b db/query 25 45
    1 a - web/get 0 100
    1 c a web/render 70 90
    1 b a web/load 10 60)"),
            R"(
web/get 0..100 self 30
  web/load 10..60 gap 30
    db/query 25..45 self 20
  web/render 70..90 self 20
)");
}

TEST(Assembly, TakesTheUnionOfChildrenThatOverlap) {
  EXPECT_EQ(tree(R"(
    1 a - web/get 0 100
    1 b a web/one 10 50
    1 c a web/two 30 60
    1 d a web/three 35 40
    1 e a web/late 90 120)"),
            R"(
web/get 0..100 self 40
  web/one 10..50 self 40
  web/two 30..60 self 30
  web/three 35..40 self 5
  web/late 90..120 self 30 outside
)");
}

// The server's clock is 5 s ahead: its span is centred in the client's, and what it calls moves with it.
TEST(Assembly, ShiftsTheTimesOfOtherClocks) {
  EXPECT_EQ(tree(R"(
    1 a - web/get@w1 0 100
    1 b a web/call@w1 10 90 client
    1 c b cart/add@c1 5020 5080 server
    1 d c cart/store@c1 5030 5040)"),
            R"(
web/get 0..100 self 20
  web/call 10..90 gap 20
    cart/add 20..80 self 50 shifted
      cart/store 30..40 self 10
)");
}

TEST(Assembly, IsTheSameWithAnyConstantOffsetOfAClock) {
  const auto with_offset = [](int offset_ms) {
    std::ostringstream text;
    text << "1 a - web/get@w1 20000 20100\n1 b a web/call@w1 20010 20090 client\n1 c b cart/add@c1 "
         << 20020 + offset_ms << " " << 20060 + offset_ms << " server\n1 d c cart/call@c1 "
         << 20025 + offset_ms << " " << 20050 + offset_ms << " client\n1 e d db/q@d1 " << 20030 - offset_ms
         << " " << 20040 - offset_ms << "\n";
    const SpanSet spans = spans_of(text.str());
    std::string self;
    for (const Node& node : assemble(spans).nodes) {
      self += std::to_string(node.self_ns) + " ";
    }
    return self;
  };
  EXPECT_EQ(with_offset(20), with_offset(0));
  EXPECT_EQ(with_offset(10'000), with_offset(-10'000));
}

// Beside other children a shift that is not needed would move them over each other.
TEST(Assembly, LeavesRemoteChildrenThatFitBesideOthers) {
  EXPECT_EQ(tree(R"(
    1 a - web/get@w1 0 100
    1 b a cart/add@c1 10 20
    1 c a ads/get@a1 30 40
    1 d a db/get@d1 130 140)"),
            R"(
web/get 0..100 self 70
  cart/add 10..20 self 10
  ads/get 30..40 self 10
  db/get 90..100 self 10 shifted
)");
}

TEST(Assembly, TakesOneMachineForOneClock) {
  EXPECT_EQ(tree(R"(
    1 a - web/get@w1@host 0 100 client
    1 b a cart/add@c1@host 10 20)"),
            R"(
web/get 0..100 gap 90
  cart/add 10..20 self 10
)");
}

TEST(Assembly, DoesNotWaitForConsumers) {
  EXPECT_EQ(tree(R"(
    1 a - web/get@w1 0 100
    1 b a web/send@w1 10 20 producer
    1 c b mail/send@m1 12 90 consumer)"),
            R"(
web/get 0..100 self 90
  web/send 10..20 gap 10
    mail/send 12..90 self 78 outside
)");
}

TEST(Assembly, DropsCopies) {
  const char* const text = R"(
    1 a - web/get 0 100
    1 b a web/load 10 60
    1 b a web/load 10 60
    1 a - web/get 0 100)";
  EXPECT_EQ(tree(text), R"(
web/get 0..100 self 50
  web/load 10..60 self 50
)");
  EXPECT_EQ(counts(text).duplicates, 2);
  EXPECT_EQ(counts(text).conflicting, 0);
}

TEST(Assembly, KeepsTheLongerOfTwoSpansWithOneId) {
  const char* const text = R"(
    1 a - web/get 0 40
    1 a - web/get 0 100)";
  EXPECT_EQ(tree(text), "\nweb/get 0..100 self 100\n");
  EXPECT_EQ(counts(text).conflicting, 1);
}

// Copies that differ in where they ran only, with names that have other numbers in each order.
TEST(Assembly, KeepsTheSameCopyInAnyOrder) {
  const std::vector<std::string> lines{"1 a - web/get 0 9",       "1 a - web/get@r1 0 9",
                                       "1 a - web/get@r2@m2 0 9", "1 a - web/get@r3@m1 0 9",
                                       "1 a - api/set 0 8",       "1 a - api/put 0 8"};
  std::vector<size_t> order{0, 1, 2, 3, 4, 5};
  do {
    std::string text;
    for (const size_t i : order) {
      text += lines[i] + "\n";
    }
    const SpanSet spans = spans_of(text);
    const Assembly assembly = assemble(spans);
    ASSERT_EQ(assembly.nodes.size(), 1);
    const Span& kept = spans.spans()[assembly.nodes.front().span];
    ASSERT_EQ(spans.names().machines.name(kept.machine), "m1") << text;
    ASSERT_EQ(spans.names().replicas.name(kept.replica), "r3") << text;
  } while (std::ranges::next_permutation(order).found);
}

// And copies that differ in attributes only, whose keys have other numbers in each order.
TEST(Assembly, KeepsTheCopyWithTheSameAttributesInAnyOrder) {
  const std::vector<std::vector<Attribute>> copies{
      {{"zone", "1"}, {"hw", "c6"}}, {{"hw", "c6"}, {"zone", "2"}}, {{"zone", "0"}, {"hw", "c7"}}, {}};
  std::vector<size_t> order{0, 1, 2, 3};
  do {
    SpanSet spans({.keeps_attributes = true});
    for (const size_t copy : order) {
      ASSERT_TRUE(
          spans.add({.trace = {0, 1}, .id = 1, .start_ns = 1, .end_ns = 2, .attributes = copies[copy]}));
    }
    const Assembly assembly = assemble(spans);
    ASSERT_EQ(assembly.nodes.size(), 1);
    ASSERT_EQ(assembly.nodes.front().span, std::ranges::find(order, 0U) - order.begin());
  } while (std::ranges::next_permutation(order).found);
}

TEST(Assembly, LinksTheHalvesOfACallWithOneId) {
  const char* const expected = R"(
web/call 0..100 gap 40
  cart/add 20..80 self 50 shifted
    cart/store 40..50 self 10
)";
  EXPECT_EQ(tree(R"(
    1 a - web/call@w1 0 100 client
    1 a - cart/add@c1 520 580 server shared
    1 b a cart/store@c1 540 550)"),
            expected);
  // An old tracer does not say that the ID is shared.
  EXPECT_EQ(tree(R"(
    1 b a cart/store@c1 540 550
    1 a - cart/add@c1 520 580 server
    1 a - web/call@w1 0 100 client)"),
            expected);
}

TEST(Assembly, KeepsSpansWithoutTheirParentAsRoots) {
  const char* const text = R"(
    1 a - web/get 0 100
    1 c b db/query 30 50
    1 d c db/read 35 40)";
  EXPECT_EQ(tree(text), R"(
web/get 0..100 self 100
db/query 30..50 self 15 orphan
  db/read 35..40 self 5
)");
  EXPECT_EQ(counts(text).missing_parents, 1);
  EXPECT_TRUE(assemble(spans_of(text)).traces.front().is_partial);
}

TEST(Assembly, CutsCyclesWhereTheyStart) {
  const char* const text = R"(
    1 a c web/a 20 30
    1 b a web/b 0 50
    1 c b web/c 10 40
    1 d d web/own 60 70)";
  EXPECT_EQ(tree(text), R"(
web/b 0..50 self 20 orphan
  web/c 10..40 self 20
    web/a 20..30 self 10
web/own 60..70 self 10 orphan
)");
  EXPECT_EQ(counts(text).cycles, 2);
}

TEST(Assembly, CountsRootsAndTimesThatContradict) {
  const char* const text = R"(
    1 a - web/get 0 100
    1 b - web/other 10 20
    1 c a web/back 50 40)";
  EXPECT_EQ(tree(text), R"(
web/get 0..100 self 100
  web/back 50..50 self 0 end-fixed
web/other 10..20 self 10
)");
  EXPECT_EQ(counts(text).extra_roots, 1);
  EXPECT_EQ(counts(text).end_before_start, 1);
  EXPECT_EQ(describe(counts(text)),
            "1 roots beyond the first of their trace, 1 spans that end before they start");
}

TEST(Assembly, OrdersTracesByStart) {
  EXPECT_EQ(tree(R"(
    2 a - web/second 50 60
    1 a - web/first 0 10)"),
            R"(
web/first 0..10 self 10
web/second 50..60 self 10
)");
}

// A thousand spans of one trace in any order, with copies: one trace, and the same one.
TEST(Assembly, DoesNotDependOnTheOrderOfSpans) {
  std::mt19937_64 random(3);
  std::vector<std::string> lines{"1 1 - s0/root 0 10000"};
  for (int i = 2; i <= 1000; ++i) {
    const auto parent = 1 + random() % static_cast<uint64_t>(i - 1);
    std::ostringstream line;
    line << "1 " << std::hex << i << " " << parent << " s" << i % 7 << "/op" << i % 13 << "@r" << i % 7
         << std::dec << " " << i << " " << i + static_cast<int>(random() % 50);
    lines.push_back(line.str());
  }
  std::string first;
  for (int round = 0; round < 5; ++round) {
    std::string text;
    for (const std::string& line : lines) {
      text += line + "\n" + (random() % 10 == 0 ? line + "\n" : "");
    }
    const std::string made = tree(text);
    EXPECT_EQ(std::ranges::count(made, '\n'), 1001);
    first = first.empty() ? made : first;
    EXPECT_EQ(made, first);
    std::ranges::shuffle(lines, random);
  }
}

// Some spans name a machine, some a replica, some neither: siblings are of one clock or not whichever came first.
TEST(Assembly, DoesNotDependOnTheOrderWhereMachinesArePartlyKnown) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::string> lines{"1 1 - s0/root@r0@m0 0 1000"};
    for (int i = 2; i <= 9; ++i) {
      const auto start = random() % 900;
      lines.push_back("1 " + std::to_string(i) + " " +
                      std::to_string(1 + random() % static_cast<uint64_t>(i - 1)) + " s" +
                      std::to_string(random() % 2) + "/op" + std::to_string(i) + "@" +
                      (random() % 2 == 0 ? "r" + std::to_string(random() % 3) : "") +
                      (random() % 2 == 0 ? "@m" + std::to_string(random() % 3) : "") + " " +
                      std::to_string(start) + " " + std::to_string(start + random() % 100));
    }
    std::string first;
    for (int order = 0; order < 6; ++order) {
      std::string text;
      for (const std::string& line : lines) {
        text += line + "\n";
      }
      const std::string made = tree(text);
      first = first.empty() ? made : first;
      ASSERT_EQ(made, first) << text;
      std::ranges::shuffle(lines, random);
    }
  }
}

TEST(Assembly, TakesTheMachineOfAReplicaFromOtherSpans) {
  EXPECT_EQ(tree(R"(
    1 a - web/get@w1@host 0 100 client
    1 b a cart/add@c1 10 20
    1 c b cart/store@c1@host 12 14)"),
            R"(
web/get 0..100 gap 90
  cart/add 10..20 self 8
    cart/store 12..14 self 2
)");
}

// Spans of a century below moments on another machine: each is shifted further than the one above.
TEST(Assembly, BoundsShiftsThatAddUp) {
  constexpr int64_t kLongest = INT64_MAX / 2;
  SpanSet spans;
  for (uint64_t i = 1; i <= 40; ++i) {
    const bool is_long = i % 2 == 0;
    const auto add = [&](uint64_t id, int64_t end_ns, const char* machine) {
      ASSERT_TRUE(spans.add({.trace = {0, 1},
                             .id = id,
                             .parent = i - 1,
                             .start_ns = 0,
                             .end_ns = end_ns,
                             .service = machine,
                             .machine = machine}));
    };
    add(i, is_long ? kLongest : 0, is_long ? "even" : "odd");
    if (!is_long) {
      add(i + 100, 0, "third");
    }
  }
  for (const Node& node : assemble(spans).nodes) {
    EXPECT_GE(node.start_ns, -kLongest);
    EXPECT_LE(node.end_ns, kLongest + kLongest / 2);
    EXPECT_GE(node.self_ns, 0);
    EXPECT_LE(node.self_ns, node.duration_ns());
  }
}

// A chain of a hundred thousand spans takes no time that grows with its square, and no stack.
TEST(Assembly, TakesLongChains) {
  SpanSet spans;
  constexpr uint64_t kLength = 100'000;
  for (uint64_t i = 1; i <= kLength; ++i) {
    ASSERT_TRUE(spans.add({.trace = {0, 1},
                           .id = i,
                           .parent = i - 1,
                           .start_ns = static_cast<int64_t>(i),
                           .end_ns = 1'000'000}));
  }
  // And a second root, so that sizes are compared.
  ASSERT_TRUE(spans.add({.trace = {0, 1}, .id = kLength + 1, .start_ns = 0, .end_ns = 5}));
  const Assembly assembly = assemble(spans);
  ASSERT_EQ(assembly.traces.size(), 1);
  EXPECT_EQ(assembly.nodes.size(), kLength + 1);
  EXPECT_EQ(assembly.nodes.front().start_ns, 1);
}

struct Hashes {
  uint64_t tree;
  uint64_t set;
};
Hashes hashes(std::string_view text) {
  const Trace trace = assemble(spans_of(text)).traces.front();
  return {trace.tree_hash, trace.set_hash};
}

TEST(Categories, AreEqualForEqualCalls) {
  const Hashes one = hashes("1 a - web/get 0 9\n1 b a web/x 1 2\n1 c a web/y 3 4");
  // Other IDs, times and order of siblings.
  const Hashes other = hashes("7 f - web/get 50 90\n7 2 f web/y 55 56\n7 3 f web/x 60 66");
  EXPECT_EQ(one.tree, other.tree);
  EXPECT_EQ(one.set, other.set);
}

TEST(Categories, BySetDoNotCountRepeatedCalls) {
  const Hashes one = hashes("1 a - web/get 0 9\n1 b a web/x 1 2");
  const Hashes twice = hashes("1 a - web/get 0 9\n1 b a web/x 1 2\n1 c a web/x 3 4");
  EXPECT_NE(one.tree, twice.tree);
  EXPECT_EQ(one.set, twice.set);
}

TEST(Categories, DifferByNamesAndByWhichCallsWhich) {
  const Hashes flat = hashes("1 a - web/get 0 9\n1 b a web/x 1 2\n1 c a web/y 3 4");
  EXPECT_NE(flat.tree, hashes("1 a - web/get 0 9\n1 b a web/x 1 8\n1 c b web/y 3 4").tree);
  EXPECT_NE(flat.tree, hashes("1 a - web/get 0 9\n1 b a web/x 1 2\n1 c a db/y 3 4").tree);
  EXPECT_NE(flat.set, hashes("1 a - web/get 0 9\n1 b a web/x 1 2\n1 c a db/y 3 4").set);
}

// Stored with statistics of categories, they must not change from build to build.
TEST(Categories, AreStable) {
  const Hashes known = hashes("1 a - web/get 0 9\n1 b a db/query 1 2");
  EXPECT_EQ(known.tree, 10773869283141974715U);
  EXPECT_EQ(known.set, 13144029101172463062U);
}

}  // namespace
}  // namespace plimsoll::traces
