// The order and the sums of annotated code, and its forms.
#include "query/annotate/listing.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "query/annotate/annotation_codec.h"
#include "query/annotate/annotation_forms.h"

namespace plimsoll::annotate::listing_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Two lines of f, in one of which g was inlined; line 3 lies around line 2.
Annotation example() {
  Annotation annotation{.function = "f", .binary = "/srv/search", .build_id = "4f5a"};
  annotation.events = {{"cycles", "count", {100, 10}, {400, 40}}};
  annotation.names = {"", "f", "g"};
  annotation.files = {{}, {.path = "/src/a.c"}, {.path = "/src/g.h"}};
  annotation.files[1].has_text = true;
  annotation.files[1].lines = {{3, "  sum += g(i);"}};
  annotation.chains = {{{1, 1, 3}}, {{1, 1, 3}, {2, 2, 7}}, {{1, 1, 2}}};
  AnnotatedFunction f{.name = "f", .linkage_name = "f"};
  f.instructions = {{0x10, 2, 0, "add"}, {0x12, 2, 1, "mul"}, {0x14, 2, 2, "cmp"}, {0x16, 2, 0, "jmp 0x10"}};
  f.counts = {{50, 5}, {30, 3}, {0, 0}, {20, 2}};
  f.branches = {{0x16, 0x10, 1200}};
  annotation.functions = {f};
  return annotation;
}

// "3:100 >7:30" and instructions as "@10".
std::vector<std::string> rows_of(const Annotation& annotation, Order order) {
  const Listing listing = listing_of(annotation, annotation.functions[0], order);
  std::vector<std::string> rows;
  for (size_t row = 0; row < listing.rows.size(); ++row) {
    const ListingRow& at = listing.rows[row];
    rows.push_back(at.is_heading
                       ? fmt::format("{}{}:{:.0f}", std::string(at.depth, '>'), at.place.line,
                                     listing.counts_of(row)[0].value)
                       : fmt::format("@{:x}", annotation.functions[0].instructions[at.instruction].address));
  }
  return rows;
}

TEST(Listing, GathersInstructionsByLine) {
  EXPECT_THAT(rows_of(example(), Order::kSource),
              ElementsAre("2:0", "@14", "3:100", "@10", "@16", ">7:30", "@12"));
}

TEST(Listing, FollowsAddressesAndSaysAgainWhichLineItIs) {
  EXPECT_THAT(rows_of(example(), Order::kAddress),
              ElementsAre("3:80", "@10", ">7:30", "@12", "2:0", "@14", "3:20", "@16"));
}

// Back in f without another line between.
TEST(Listing, EndsAnInlinedCallByItsLine) {
  Annotation annotation = example();
  annotation.functions[0].instructions[2].chain = 0;
  EXPECT_THAT(rows_of(annotation, Order::kAddress),
              ElementsAre("3:80", "@10", ">7:30", "@12", "3:20", "@14", "@16"));
}

// Random chains: each instruction once, and the lines of the function itself have all of its counts.
TEST(Listing, LosesNothing) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 100; ++round) {
    Annotation annotation;
    annotation.events = {{"a", "count", {}, {}}, {"b", "count", {}, {}}};
    annotation.names = {"", "f", "g", "h"};
    for (int chain = 0; chain < 12; ++chain) {
      Chain places{{1, 0, static_cast<uint32_t>(random() % 3)}};
      for (uint64_t depth = random() % 4; depth > 0; --depth) {
        places.push_back({static_cast<uint32_t>(2 + random() % 2), 0, static_cast<uint32_t>(random() % 3)});
      }
      annotation.chains.push_back(places);
    }
    AnnotatedFunction f{.name = "f", .linkage_name = "f"};
    std::array<double, 2> sums{};
    for (uint64_t i = 0; i < 200; ++i) {
      f.instructions.push_back({i, 1, static_cast<uint32_t>(random() % annotation.chains.size()), "nop"});
      for (double& sum : sums) {
        const auto value = static_cast<double>(random() % 100);
        f.counts.push_back({value, 1});
        sum += value;
      }
    }
    annotation.functions = {f};
    for (const Order order : {Order::kSource, Order::kAddress}) {
      const Listing listing = listing_of(annotation, annotation.functions[0], order);
      std::array<double, 2> found{};
      std::vector<bool> seen(200);
      std::vector<Place> open;
      for (size_t row = 0; row < listing.rows.size(); ++row) {
        const ListingRow& at = listing.rows[row];
        if (at.is_heading) {
          open.resize(at.depth);
          open.push_back(at.place);
          found[0] += at.depth == 0 ? listing.counts_of(row)[0].value : 0;
          found[1] += at.depth == 0 ? listing.counts_of(row)[1].value : 0;
          continue;
        }
        EXPECT_FALSE(seen[at.instruction]);
        seen[at.instruction] = true;
        EXPECT_EQ(open, annotation.chains[annotation.functions[0].instructions[at.instruction].chain]);
      }
      EXPECT_EQ(found[0], sums[0]);
      EXPECT_EQ(found[1], sums[1]);
      EXPECT_THAT(seen, ::testing::Each(true));
    }
  }
}

TEST(AnnotationForms, TextHasSharesLinesAndArrows) {
  const std::string text = to_text(example(), Order::kSource);
  EXPECT_THAT(text, AllOf(HasSubstr("f in /srv/search (build ID 4f5a)"),
                          HasSubstr("cycles: 100 of 10 samples, 25.00 % of the binary"),
                          HasSubstr("100.00 %        100"), HasSubstr("a.c:3  sum += g(i);"),
                          HasSubstr("inlined g, g.h:7"), HasSubstr("jmp 0x10  -> 10 1.2 k")));
  EXPECT_THAT(text, ::testing::ContainsRegex("\\* .*50.00 % +50 +10 +add"));
}

TEST(AnnotationForms, JsonHasTheSameData) {
  const auto json = nlohmann::json::parse(to_json(example(), Order::kAddress), nullptr, false);
  ASSERT_TRUE(json.is_object());
  EXPECT_EQ(json["build_id"], "4f5a");
  EXPECT_EQ(json["events"][0]["value"], 100);
  const auto& f = json["functions"][0];
  ASSERT_EQ(f["instructions"].size(), 4);
  EXPECT_EQ(f["instructions"][1]["address"], "0x12");
  EXPECT_EQ(f["instructions"][1]["counts"][0]["share"], 0.3);
  EXPECT_EQ(json["chains"][f["instructions"][1]["chain"].get<size_t>()][1]["function"], "g");
  ASSERT_EQ(f["lines"].size(), 3);
  EXPECT_EQ(f["lines"][1]["line"], 3);
  EXPECT_EQ(f["lines"][1]["source"], "  sum += g(i);");
  EXPECT_EQ(f["lines"][1]["counts"][0]["value"], 70);
  EXPECT_EQ(f["lines"][2]["source"], nullptr);
  EXPECT_EQ(f["branches"][0]["to"], "0x10");
}

TEST(AnnotationForms, HostileNamesAreShownAsText) {
  Annotation annotation = example();
  annotation.functions[0].name = "f\x1b[2J\xff";
  annotation.files[1].lines[3] = "\x1b]0;title\x07";
  annotation.notes = {"\xc3"};
  const std::string text = to_text(annotation, Order::kSource);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_TRUE(nlohmann::json::parse(to_json(annotation, Order::kSource), nullptr, false).is_object());
}

TEST(AnnotationCodec, SurvivesTheWayFromTheProcess) {
  const Annotation before = example();
  const auto after = decode(as_bytes(encode(before)));
  ASSERT_TRUE(after) << after.error().text();
  Annotation without_text = before;
  without_text.files[1].lines.clear();
  EXPECT_EQ(to_json(*after, Order::kSource), to_json(without_text, Order::kSource));
}

// Of a small message: the long name stands at each of its lines.
TEST(AnnotationCodec, WhatWouldTakeTooMuchMemoryToShowIsRefused) {
  Annotation large = example();
  large.names[1] = std::string(size_t{1} << 20, 'f');
  large.functions[0].instructions.clear();
  large.functions[0].counts.clear();
  for (uint64_t i = 0; i < 600; ++i) {
    large.functions[0].instructions.push_back({i, 1, i % 2 == 0 ? 0U : 2U, "nop"});
    large.functions[0].counts.push_back({1, 1});
  }
  const auto refused = decode(as_bytes(encode(large)));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kTooLarge);
  large.names[1] = "f";
  EXPECT_TRUE(decode(as_bytes(encode(large))));
}

TEST(AnnotationCodec, DamageIsRefusedOrReadable) {
  const std::string sound = encode(example());
  std::mt19937_64 random(3);
  int refused = 0;
  for (int round = 0; round < 5'000; ++round) {
    std::string bytes = sound;
    for (uint64_t changes = 1 + random() % 4; changes > 0; --changes) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    const auto read = decode(as_bytes(bytes));
    refused += read ? 0 : 1;
    if (read) {
      EXPECT_FALSE(to_json(*read, Order::kSource).empty());
      EXPECT_FALSE(to_text(*read, Order::kAddress).empty());
    }
  }
  EXPECT_GT(refused, 200);
  EXPECT_FALSE(decode({}));
}

}  // namespace
}  // namespace plimsoll::annotate::listing_test
