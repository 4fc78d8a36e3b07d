// The symbol table: what is written is what is looked up, and nothing that is read from a damaged one leads astray.
#include "symbolizer/symtab/symtab.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "symbolizer/symtab/symtab_writer.h"
#include "tests/fuzz/mutate.h"

namespace plimsoll::symbolizer {
namespace {

constexpr SymtabIdentity kIdentity{.kind = 1, .bytes = "build"};

// "outer /a.c:3", innermost first; "inner /a.h:7:2 (3)" with column and discriminator.
std::vector<std::string> frames_at(const Symtab& table, uint64_t address) {
  std::vector<SymtabFrame> frames;
  table.look_up(address, frames);
  std::vector<std::string> texts;
  for (const SymtabFrame& frame : frames) {
    texts.push_back(fmt::format("{} {}:{}", frame.function, frame.file, frame.line));
    texts.back() += frame.column == 0 ? "" : fmt::format(":{}", frame.column);
    texts.back() += frame.discriminator == 0 ? "" : fmt::format(" ({})", frame.discriminator);
  }
  return texts;
}

using Texts = std::vector<std::string>;

// main() at 0x1000, with a call of inner() inlined at 0x1010, and assembly without lines at 0x1030.
std::string small_table() {
  SymtabWriter writer;
  const uint32_t unit = writer.unit("GNU C17 12.2.0", 0x1d);
  const uint32_t main_function = writer.function({.name = "main", .start_line = 2, .unit = unit});
  const uint32_t inner_function = writer.function({.name = "inner", .start_line = 6, .unit = unit});
  const uint32_t a_c = writer.path("/src/a.c");
  const uint32_t a_h = writer.path("/src/a.h");
  const uint32_t main_scope = writer.scope({.function = main_function});
  const uint32_t inner_scope = writer.scope(
      {.function = inner_function, .location = writer.location({a_c, 4, 9, 0}), .parent = main_scope});
  writer.row({.from = 0x1000, .scope = main_scope, .location = writer.location({a_c, 3, 0, 0})});
  writer.row({.from = 0x1010, .scope = inner_scope, .location = writer.location({a_h, 7, 2, 3})});
  writer.row({.from = 0x1018, .scope = main_scope, .location = writer.location({a_c, 0, 0, 0})});
  writer.end(0x1020);
  writer.row({.from = 0x1030, .scope = writer.scope({.function = writer.function({.name = "memcpy"})})});
  writer.end(0x1040);
  writer.segment({.file_offset = 0x400, .address = 0x1000, .bytes = 0x40});
  return std::move(writer).finish(kIdentity, SymtabQuality::kFull);
}

TEST(Symtab, TellsHowManyUnitsAnotherReaderHasRead) {
  const SymtabReaders readers{.damaged = 2, .relocatable = 0, .asked = 7};
  SymtabWriter writer;
  writer.segment({.file_offset = 0x400, .address = 0x1000, .bytes = 0x40});
  writer.readers(readers);
  std::string bytes = std::move(writer).finish(kIdentity, SymtabQuality::kFull);
  EXPECT_EQ(Symtab::open(as_bytes(bytes))->readers(), readers);
  EXPECT_TRUE(Symtab::open(as_bytes(bytes))->verify());
  bytes.pop_back();
  seal_symtab(bytes);
  EXPECT_EQ(Symtab::open(as_bytes(bytes))->readers(), SymtabReaders()) << "cut off";
}

TEST(Symtab, TellsWhereAKernelsTextBegins) {
  constexpr uint64_t kText = 0xffff'ffff'8100'0000;
  const SymtabReaders readers{.damaged = 1};
  for (const SymtabReaders& before : {SymtabReaders(), readers}) {
    SymtabWriter writer;
    writer.readers(before);
    writer.kernel_text(kText);
    std::string bytes = std::move(writer).finish(kIdentity, SymtabQuality::kFull);
    EXPECT_EQ(Symtab::open(as_bytes(bytes))->kernel_text(), kText);
    EXPECT_EQ(Symtab::open(as_bytes(bytes))->readers(), before);
    EXPECT_TRUE(Symtab::open(as_bytes(bytes))->verify());
    bytes.pop_back();
    seal_symtab(bytes);
    EXPECT_EQ(Symtab::open(as_bytes(bytes))->kernel_text(), std::nullopt) << "cut off";
  }
  const std::string program = small_table();
  EXPECT_EQ(Symtab::open(as_bytes(program))->kernel_text(), std::nullopt);
}

TEST(Symtab, TellsOfNoOtherReaderWhereThereWasNone) {
  const std::string bytes = small_table();
  EXPECT_EQ(Symtab::open(as_bytes(bytes))->readers(), SymtabReaders());
}

TEST(Symtab, TellsTheFramesOfAnAddress) {
  const std::string bytes = small_table();
  const auto table = Symtab::open(as_bytes(bytes));
  ASSERT_TRUE(table) << table.error().text();
  EXPECT_EQ(frames_at(*table, 0x1000), Texts{"main /src/a.c:3"});
  EXPECT_EQ(frames_at(*table, 0x100f), Texts{"main /src/a.c:3"});
  EXPECT_EQ(frames_at(*table, 0x1010), (Texts{"inner /src/a.h:7:2 (3)", "main /src/a.c:4:9"}));
  EXPECT_EQ(frames_at(*table, 0x1018), Texts{"main /src/a.c:0"});
  EXPECT_EQ(frames_at(*table, 0x1030), Texts{"memcpy :0"});
  for (const uint64_t nowhere : {0x0UL, 0xfffUL, 0x1020UL, 0x102fUL, 0x1040UL, ~0UL}) {
    EXPECT_EQ(frames_at(*table, nowhere), Texts{}) << nowhere;
  }
}

TEST(Symtab, TellsWhichCallsWereInlinedAndOfWhichUnitAFunctionIs) {
  const std::string bytes = small_table();
  const auto table = Symtab::open(as_bytes(bytes));
  ASSERT_TRUE(table);
  std::vector<SymtabFrame> frames;
  table->look_up(0x1010, frames);
  ASSERT_EQ(frames.size(), 2);
  EXPECT_TRUE(frames[0].is_inlined);
  EXPECT_FALSE(frames[1].is_inlined);
  EXPECT_EQ(frames[0].start_line, 6);
  EXPECT_EQ(table->producer(frames[0].unit), "GNU C17 12.2.0");
  EXPECT_EQ(table->language(frames[0].unit), 0x1d);
  EXPECT_EQ(table->quality(), SymtabQuality::kFull);
  EXPECT_EQ(table->identity(), "build");
}

TEST(Symtab, TurnsFileOffsetsIntoAddresses) {
  const std::string bytes = small_table();
  const auto table = Symtab::open(as_bytes(bytes));
  ASSERT_TRUE(table);
  EXPECT_EQ(table->address_of(0x400), 0x1000);
  EXPECT_EQ(table->address_of(0x43f), 0x103f);
  EXPECT_EQ(table->address_of(0x3ff), std::nullopt);
  EXPECT_EQ(table->address_of(0x440), std::nullopt);
}

TEST(Symtab, OfNothingIsEmpty) {
  const std::string bytes = SymtabWriter().finish(kIdentity, SymtabQuality::kNone);
  const auto table = Symtab::open(as_bytes(bytes));
  ASSERT_TRUE(table) << table.error().text();
  EXPECT_EQ(frames_at(*table, 0), Texts{});
}

// What random rows mean, and a table of them.
struct RandomTable {
  explicit RandomTable(uint64_t seed) {
    std::mt19937_64 random(seed);
    SymtabWriter writer;
    std::vector<std::pair<uint32_t, Texts>> scopes;  // with the frames outside of the innermost
    std::vector<std::string> names;
    const auto one_of = [&](size_t count) { return static_cast<uint32_t>(random() % count); };
    for (int i = 0; i < 50; ++i) {
      const std::string name = fmt::format("f{}", one_of(30));
      const uint32_t function = writer.function({.name = name});
      const uint32_t line = one_of(1000);
      const uint32_t location = writer.location({writer.path("/a.c"), line, 0, 0});
      const bool is_inlined = !scopes.empty() && random() % 2 == 0;
      const uint32_t within = is_inlined ? one_of(scopes.size()) : 0;
      const auto parent = is_inlined ? std::optional(scopes[within].first) : std::nullopt;
      Texts outer;
      if (is_inlined) {
        outer = scopes[within].second;
        outer.insert(outer.begin(), fmt::format("{} /a.c:{}", names[within], line));
      }
      scopes.emplace_back(
          writer.scope({.function = function, .location = is_inlined ? location : 0, .parent = parent}),
          outer);
      names.push_back(name);
    }
    uint64_t address = random() % 1'000'000'000'000;
    for (int row = 0; row < 2000; ++row) {
      address += 1 + random() % (random() % 50 == 0 ? 100'000 : 30);
      if (random() % 10 == 0) {
        writer.end(address);
        model[address] = {};
        continue;
      }
      const uint32_t scope = one_of(scopes.size());
      const uint32_t line = one_of(100'000);
      const std::string path = fmt::format("/{}.h", one_of(40));
      writer.row({.from = address,
                  .scope = scopes[scope].first,
                  .location = writer.location({writer.path(path), line, 0, 0})});
      model[address] = scopes[scope].second;
      model[address].insert(model[address].begin(), fmt::format("{} {}:{}", names[scope], path, line));
    }
    writer.end(address + 10);
    model[address + 10] = {};
    bytes = std::move(writer).finish(kIdentity, SymtabQuality::kFull);
  }

  std::map<uint64_t, Texts> model;  // up to the next
  std::string bytes;
};

TEST(Symtab, AgreesWithAModelAtEachBoundary) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const RandomTable random(seed);
    const auto table = Symtab::open(as_bytes(random.bytes));
    ASSERT_TRUE(table) << table.error().text();
    ASSERT_TRUE(table->verify());
    for (auto row = random.model.begin(); row != random.model.end(); ++row) {
      ASSERT_EQ(frames_at(*table, row->first), row->second) << "seed " << seed;
      const uint64_t before = row->first - 1;
      ASSERT_EQ(frames_at(*table, before), row == random.model.begin() ? Texts{} : std::prev(row)->second)
          << "seed " << seed;
    }
  }
}

TEST(Symtab, IsTheSameBytesForTheSameInput) {
  EXPECT_EQ(RandomTable(7).bytes, RandomTable(7).bytes);
}

TEST(Symtab, RefusesAnotherVersionAndWhatIsNoTable) {
  std::string bytes = small_table();
  EXPECT_EQ(Symtab::open(as_bytes(std::string("ELF"))).error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(Symtab::open(as_bytes(bytes.substr(0, bytes.size() - 1))).error().code, ErrorCode::kCorrupt);
  ++bytes[offsetof(SymtabHeader, version)];
  EXPECT_EQ(Symtab::open(as_bytes(bytes)).error().code, ErrorCode::kUnsupported);
}

TEST(Symtab, VerifyFindsEachDamagedByteBehindTheHeader) {
  std::string bytes = small_table();
  for (size_t i = sizeof(SymtabHeader); i < bytes.size(); ++i) {
    ++bytes[i];
    const auto table = Symtab::open(as_bytes(bytes));
    ASSERT_TRUE(table);
    EXPECT_FALSE(table->verify()) << i;
    --bytes[i];
  }
}

// Whoever damages a table may well set its checksums right.
TEST(Symtab, LooksUpWithinItsBytesWhateverTheyAre) {
  const RandomTable original(3);
  std::mt19937_64 random(4);
  size_t opened = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string bytes = fuzz::mutated(original.bytes, random);
    seal_symtab(bytes);
    const std::vector<std::byte> exact(as_bytes(bytes).begin(), as_bytes(bytes).end());
    const auto table = Symtab::open(exact);
    opened += table ? 1 : 0;
    for (int look = 0; table && look < 100; ++look) {
      const uint64_t address = table->header().base_address + random() % 100'000;
      std::vector<SymtabFrame> frames;
      table->look_up(address, frames);
      ASSERT_LE(frames.size(), 1001U);
    }
  }
  EXPECT_GT(opened, 1000U);
}

}  // namespace
}  // namespace plimsoll::symbolizer
