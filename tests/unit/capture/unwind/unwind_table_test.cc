// Compiled call frame information, compared with what `readelf --debug-dump=frames-interp` says of the same files.
#include "capture/unwind/unwind_table.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <map>
#include <memory>
#include <sstream>

#include "base/file.h"
#include "elf/loaded_image.h"
#include "tests/places.h"
#include "tests/unit/capture/unwind/call_frames.h"

namespace plimsoll::unwind {
namespace {

constexpr std::array<std::string_view, kRegisters> kNames{"rax", "rdx", "rcx", "rbx", "rsi", "rdi",
                                                          "rbp", "rsp", "r8",  "r9",  "r10", "r11",
                                                          "r12", "r13", "r14", "r15", "ra"};

// As readelf writes rules: "c-16" in memory at the CFA's offset, "u" undefined (or never mentioned), "exp" by expression.
std::string rule_text(const Rule& rule) {
  switch (rule.kind) {
    case Rule::Kind::kSame:
    case Rule::Kind::kUndefined:
      return "u";
    case Rule::Kind::kAtOffset:
      return fmt::format("c{:+}", rule.offset);
    case Rule::Kind::kOffset:
      return fmt::format("v{:+}", rule.offset);
    case Rule::Kind::kRegister:
      return std::string(kNames[rule.reg]);
    case Rule::Kind::kAtExpression:
      return "exp";
    case Rule::Kind::kExpression:
      return "vexp";
  }
  return "?";
}

std::string cfa_text(const Rule& rule) {
  return rule.kind == Rule::Kind::kExpression ? "exp" : fmt::format("{}{:+}", kNames[rule.reg], rule.offset);
}

// A row as text: "rsp+16 rbx=c-24 ra=c-8", with the columns that readelf shows.
using Columns = std::vector<std::string>;
std::string row_text(const UnwindRow& row, const Columns& columns) {
  std::string text = cfa_text(row.cfa);
  for (const std::string& column : columns) {
    const auto number = static_cast<size_t>(std::ranges::find(kNames, column) - kNames.begin());
    if (number < kRegisters) {
      text += fmt::format(" {}={}", column, rule_text(row.registers[number]));
    }
  }
  return text;
}

struct ExpectedRow {
  uint64_t address;
  Columns columns;
  std::string text;
};

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) {
    words.push_back(word);
  }
  return words;
}

// Every row of every FDE.
std::vector<ExpectedRow> rows_by_readelf(const std::string& path) {
  const std::string command = "readelf --wide --debug-dump=frames-interp " + path + " 2>/dev/null";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "r"), ::pclose);
  std::vector<ExpectedRow> rows;
  Columns columns;
  bool in_fde = false;
  std::array<char, 4096> buffer{};
  while (std::fgets(buffer.data(), buffer.size(), pipe.get()) != nullptr) {
    const std::string line(buffer.data());
    const auto words = words_of(line);
    if (line.find(" FDE ") != std::string::npos || line.find(" CIE ") != std::string::npos) {
      in_fde = line.find(" FDE ") != std::string::npos;
    } else if (!words.empty() && words[0] == "LOC") {
      columns.assign(words.begin() + 2, words.end());
    } else if (in_fde && words.size() == columns.size() + 2 && words[0].size() == 16) {
      std::string text = words[1];
      for (size_t i = 0; i < columns.size(); ++i) {
        if (std::ranges::find(kNames, columns[i]) != kNames.end()) {
          text += fmt::format(" {}={}", columns[i], words[i + 2] == "s" ? "u" : words[i + 2]);
        }
      }
      rows.push_back({std::stoull(words[0], nullptr, 16), columns, text});
    }
  }
  return rows;
}

UnwindTable table_of(const std::string& path) {
  const auto image = elf::LoadedImage::from_file(
      elf::read_at_of(std::make_shared<UniqueFd>(::open(path.c_str(), O_RDONLY | O_CLOEXEC)), path));
  return *UnwindTable::compile(*image->call_frames());
}

// As `row_text`, or what else the table says.
std::string rule_at(const UnwindTable& table, uint64_t address, const Columns& columns) {
  const FrameRule& rule = table.find(address);
  switch (rule.kind) {
    case FrameRule::Kind::kNotCovered:
      return "not covered";
    case FrameRule::Kind::kDamaged:
      return "damaged";
    case FrameRule::Kind::kCommon:
    case FrameRule::Kind::kGo:
    case FrameRule::Kind::kGeneric:
      return row_text(table.in_full(rule), columns);
  }
  return "";
}

class TableOfFile : public ::testing::TestWithParam<std::string> {};

TEST_P(TableOfFile, HasTheRowsThatReadelfShows) {
  const auto expected = rows_by_readelf(GetParam());
  ASSERT_GT(expected.size(), 100) << "readelf shows no rows of " << GetParam();
  const UnwindTable table = table_of(GetParam());
  size_t compared = 0;
  size_t different = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    // A row without extent is shadowed by the one after it.
    if (i + 1 < expected.size() && expected[i + 1].address == expected[i].address) {
      continue;
    }
    ++compared;
    const std::string text = rule_at(table, expected[i].address, expected[i].columns);
    different += text == expected[i].text ? 0 : 1;
    if (text != expected[i].text && different < 10) {
      ADD_FAILURE() << fmt::format("at {:#x}: {}, readelf says {}", expected[i].address, text,
                                   expected[i].text);
    }
  }
  std::printf(
      "%zu rows compared, %zu different; %zu functions, %zu rules, %zu of them odd, %.1f bytes a function\n",
      compared, different, table.functions(), table.rules(), table.generic_rows(),
      static_cast<double>(table.memory_bytes()) / static_cast<double>(table.functions()));
  EXPECT_EQ(different, 0);
}

// The test itself, a large library, a compiler (where it is), and the loader, most of which is written in assembly.
INSTANTIATE_TEST_SUITE_P(Files, TableOfFile,
                         ::testing::Values(built_file("unwind_test"), "/lib/x86_64-linux-gnu/libc.so.6",
                                           "/lib64/ld-linux-x86-64.so.2",
                                           "/usr/lib/x86_64-linux-gnu/libstdc++.so.6", "/usr/bin/perl"));

TEST_P(TableOfFile, IsTheSameEachTime) {
  EXPECT_EQ(table_of(GetParam()), table_of(GetParam()));
}

std::string text_at(const std::vector<elf::CallFrames>& sections, uint64_t address) {
  const auto table = UnwindTable::compile(sections);
  return table ? rule_at(*table, address, {"rbx", "ra"}) : table.error().text();
}

// After 4 bytes: CFA = rsp + 16, rbx at CFA - 16; after 8 more the first row again.
constexpr std::string_view kPushAndPop("\x44\x0e\x10\x83\x02\x48\x0e\x08\xc3", 9);

TEST(UnwindTable, RowsChangeWithTheAddress) {
  const std::vector<elf::CallFrames> sections{eh_frame(eh_frame_bytes(kPushAndPop))};
  EXPECT_EQ(text_at(sections, 0x1000), "rsp+8 rbx=u ra=c-8");
  EXPECT_EQ(text_at(sections, 0x1003), "rsp+8 rbx=u ra=c-8");
  EXPECT_EQ(text_at(sections, 0x1004), "rsp+16 rbx=c-16 ra=c-8");
  EXPECT_EQ(text_at(sections, 0x100b), "rsp+16 rbx=c-16 ra=c-8");
  EXPECT_EQ(text_at(sections, 0x10ff), "rsp+8 rbx=u ra=c-8");
  EXPECT_EQ(text_at(sections, 0x0fff), "not covered");
  EXPECT_EQ(text_at(sections, 0x1100), "not covered");
}

TEST(UnwindTable, DamagedProgramsAreToldFromMissingOnes) {
  const auto first_row = [](std::string_view program) {
    return text_at({eh_frame(eh_frame_bytes(program))}, 0x1000);
  };
  EXPECT_EQ(first_row(std::string_view("\x0b", 1)), "damaged") << "restores a state that was not remembered";
  EXPECT_EQ(first_row(std::string_view("\x3f", 1)), "damaged") << "an instruction that there is not";
  EXPECT_EQ(first_row(std::string_view("\x0c\x40\x08", 3)), "damaged")
      << "CFA of a register that there is not";
  EXPECT_EQ(first_row(std::string_view("\x0f\x7f", 2)), "damaged") << "an expression longer than the program";
}

TEST(UnwindTable, RowsBeforeTheDamageHold) {
  const std::vector<elf::CallFrames> sections{eh_frame(eh_frame_bytes(std::string_view("\x44\x3f", 2)))};
  EXPECT_EQ(text_at(sections, 0x1003), "rsp+8 rbx=u ra=c-8");
  EXPECT_EQ(text_at(sections, 0x1004), "damaged");
  EXPECT_EQ(text_at(sections, 0x10ff), "damaged");
  EXPECT_EQ(text_at(sections, 0x1100), "not covered");
}

TEST(UnwindTable, AnUnknownAugmentationCostsItsEntries) {
  EXPECT_FALSE(UnwindTable::compile({eh_frame(eh_frame_bytes("", "zX"))}).has_value());
  EXPECT_FALSE(UnwindTable::compile({eh_frame("")}).has_value());
  EXPECT_EQ(text_at({}, 0x1000), "not covered") << "a binary that has none is another matter";
}

// .debug_frame, with functions given as (begin, size, CFA offset).
struct Function {
  uint64_t begin, size_bytes;
  char cfa_offset;
};
std::string debug_frame_bytes(std::initializer_list<Function> functions) {
  std::string bytes = frame_entry(UINT32_MAX, common_entry_body(""));
  for (const Function& function : functions) {
    const std::string program{'\x0e', function.cfa_offset};
    bytes += frame_entry(0, function_body(function.begin, function.size_bytes, program, false));
  }
  return bytes;
}

TEST(UnwindTable, DebugFrameSaysWhatEhFrameDoesNot) {
  const std::vector<elf::CallFrames> sections{
      eh_frame(eh_frame_bytes(kPushAndPop)),
      debug_frame(debug_frame_bytes({{0x1000, 0x100, 64}, {0x2000, 16, 32}}))};
  EXPECT_EQ(text_at(sections, 0x1000), "rsp+8 rbx=u ra=c-8") << "both speak of it: the first does";
  EXPECT_EQ(text_at(sections, 0x2000), "rsp+32 rbx=u ra=c-8");
  EXPECT_EQ(text_at(sections, 0x200f), "rsp+32 rbx=u ra=c-8");
  EXPECT_EQ(text_at(sections, 0x2010), "not covered");
}

TEST(UnwindTable, EntriesMayComeInAnyOrderAndLieFarApart) {
  const std::vector<elf::CallFrames> sections{debug_frame(debug_frame_bytes(
      {{0x7fff'0000'0000, 8, 24}, {0xfff8, 0x20, 16}, {0x1000, 8, 8}, {0x10'0000, 0x8'0000, 40}}))};
  EXPECT_EQ(text_at(sections, 0x1007), "rsp+8 rbx=u ra=c-8");
  EXPECT_EQ(text_at(sections, 0xfff7), "not covered");
  EXPECT_EQ(text_at(sections, 0x10017), "rsp+16 rbx=u ra=c-8") << "begins in the page before";
  EXPECT_EQ(text_at(sections, 0x10018), "not covered");
  EXPECT_EQ(text_at(sections, 0x17'ffff), "rsp+40 rbx=u ra=c-8") << "begins eight pages before";
  EXPECT_EQ(text_at(sections, 0x18'0000), "not covered");
  EXPECT_EQ(text_at(sections, 0x7fff'0000'0007), "rsp+24 rbx=u ra=c-8");
  EXPECT_EQ(text_at(sections, UINT64_MAX), "not covered");
}

TEST(UnwindTable, AnEntryEndsWhereTheNextBegins) {
  const std::vector<elf::CallFrames> sections{
      debug_frame(debug_frame_bytes({{0x1000, 0x100, 16}, {0x1080, 0x10, 32}}))};
  EXPECT_EQ(text_at(sections, 0x107f), "rsp+16 rbx=u ra=c-8");
  EXPECT_EQ(text_at(sections, 0x108f), "rsp+32 rbx=u ra=c-8");
  EXPECT_EQ(text_at(sections, 0x1090), "not covered");
}

TEST(UnwindTable, HasAsManyRulesAsThereArePatterns) {
  // More than two bytes can number: each function has a CFA offset of its own.
  std::string bytes = frame_entry(UINT32_MAX, common_entry_body(""));
  constexpr uint64_t kFunctions = 70'000;
  for (uint64_t i = 0; i < kFunctions; ++i) {
    const std::string program{'\x0e', static_cast<char>(i % 128 | 0x80),
                              static_cast<char>(i / 128 % 128 | 0x80), static_cast<char>(i / 16384)};
    bytes += frame_entry(0, function_body(0x1000 + i * 16, 16, program, false));
  }
  const auto table = UnwindTable::compile({debug_frame(bytes)});
  ASSERT_TRUE(table.has_value()) << table.error().text();
  for (const uint64_t i : {uint64_t{0}, uint64_t{1}, uint64_t{65'533}, uint64_t{65'534}, kFunctions - 1}) {
    EXPECT_EQ(rule_at(*table, 0x1000 + i * 16 + 7, {}), fmt::format("rsp+{}", i));
  }
  EXPECT_EQ(table->rules(), kFunctions + 2);
}

TEST(UnwindTable, NobodyCallsTheEntryPoint) {
  const auto ra_at = [](uint64_t entry_point, uint64_t address) {
    const auto table = UnwindTable::compile({eh_frame(eh_frame_bytes(kPushAndPop))}, entry_point);
    const FrameRule& rule = table->find(address);
    return rule.kind == FrameRule::Kind::kGeneric ? table->generic_row(rule).registers[kRip].kind
                                                  : Rule::Kind::kSame;
  };
  EXPECT_EQ(ra_at(0x2000, 0x2000), Rule::Kind::kUndefined);
  EXPECT_EQ(ra_at(0x2000, 0x2010), Rule::Kind::kUndefined) << "where its call returns to";
  EXPECT_EQ(ra_at(0x2000, 0x2100), Rule::Kind::kSame) << "other code";
  EXPECT_EQ(ra_at(0xff0, 0xff0), Rule::Kind::kUndefined);
  EXPECT_EQ(ra_at(0xff0, 0x1000), Rule::Kind::kSame) << "a function follows at once";
  EXPECT_EQ(ra_at(0x1000, 0x1000), Rule::Kind::kSame) << "an entry says how it is called";
}

TEST(UnwindTable, KeepsToItsLimits) {
  const auto code_of = [](const UnwindTable::Limits& limits) {
    const auto table = UnwindTable::compile({eh_frame(eh_frame_bytes(kPushAndPop))}, 0, limits);
    return table ? std::nullopt : std::optional(table.error().code);
  };
  EXPECT_EQ(code_of({.max_functions = 1, .max_rules = 4}), std::nullopt);
  EXPECT_EQ(code_of({.max_functions = 0}), ErrorCode::kTooLarge);
  EXPECT_EQ(code_of({.max_bytes = 20}), ErrorCode::kTooLarge);
  EXPECT_EQ(code_of({.max_rules = 3}), ErrorCode::kTooLarge);
}

}  // namespace
}  // namespace plimsoll::unwind
