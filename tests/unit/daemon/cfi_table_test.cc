// Rows of call frame information, compared with what `readelf --debug-dump=frames-interp` says of the same files.
#include "daemon/unwind/cfi_table.h"

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
#include "tests/unit/daemon/cfi_bytes.h"

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

CfiTable table_of(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  auto image =
      elf::LoadedImage::from_file(elf::read_at_of(std::make_shared<UniqueFd>(::dup(fd.get())), path));
  auto eh_frame = image->eh_frame();
  return *CfiTable::parse(std::move(eh_frame->bytes), eh_frame->address);
}

class CfiOfFile : public ::testing::TestWithParam<std::string> {};

TEST_P(CfiOfFile, HasTheRowsThatReadelfShows) {
  const auto expected = rows_by_readelf(GetParam());
  ASSERT_GT(expected.size(), 100) << "readelf shows no rows of " << GetParam();
  const CfiTable table = table_of(GetParam());
  size_t compared = 0;
  size_t different = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    // A row without extent is shadowed by the one after it.
    if (i + 1 < expected.size() && expected[i + 1].address == expected[i].address) {
      continue;
    }
    UnwindRow row;
    ASSERT_EQ(table.find(expected[i].address, row), CfiTable::Lookup::kFound)
        << fmt::format("{:#x}", expected[i].address);
    ++compared;
    const std::string text = row_text(row, expected[i].columns);
    different += text == expected[i].text ? 0 : 1;
    if (text != expected[i].text && different < 10) {
      ADD_FAILURE() << fmt::format("at {:#x}: {}, readelf says {}", expected[i].address, text,
                                   expected[i].text);
    }
  }
  std::printf("%zu rows compared, %zu different\n", compared, different);
  EXPECT_EQ(different, 0);
}

// The test itself, a large library, a compiler (where it is), and the loader, most of which is written in assembly.
INSTANTIATE_TEST_SUITE_P(Files, CfiOfFile,
                         ::testing::Values(PLIMSOLL_BIN "/unwind_test", "/lib/x86_64-linux-gnu/libc.so.6",
                                           "/lib64/ld-linux-x86-64.so.2",
                                           "/usr/lib/x86_64-linux-gnu/libstdc++.so.6", "/usr/bin/perl"));

std::string row_at(std::string_view program, uint64_t address) {
  const auto table = CfiTable::parse(table_bytes(program), 0x400000);
  if (!table) {
    return table.error().text();
  }
  UnwindRow row;
  switch (table->find(address, row)) {
    case CfiTable::Lookup::kFound:
      return row_text(row, {"rbx", "ra"});
    case CfiTable::Lookup::kNotCovered:
      return "not covered";
    case CfiTable::Lookup::kDamaged:
      return "damaged";
  }
  return "";
}

TEST(CfiTable, RowsChangeWithTheAddress) {
  // After 4 bytes: CFA = rsp + 16, rbx at CFA - 16; after 8 more the first row again.
  constexpr std::string_view kProgram("\x44\x0e\x10\x83\x02\x48\x0e\x08\xc3", 9);
  EXPECT_EQ(row_at(kProgram, 0x1000), "rsp+8 rbx=u ra=c-8");
  EXPECT_EQ(row_at(kProgram, 0x1003), "rsp+8 rbx=u ra=c-8");
  EXPECT_EQ(row_at(kProgram, 0x1004), "rsp+16 rbx=c-16 ra=c-8");
  EXPECT_EQ(row_at(kProgram, 0x100b), "rsp+16 rbx=c-16 ra=c-8");
  EXPECT_EQ(row_at(kProgram, 0x10ff), "rsp+8 rbx=u ra=c-8");
  EXPECT_EQ(row_at(kProgram, 0x0fff), "not covered");
  EXPECT_EQ(row_at(kProgram, 0x1100), "not covered");
}

TEST(CfiTable, DamagedProgramsAreToldFromMissingOnes) {
  EXPECT_EQ(row_at(std::string_view("\x0b", 1), 0x1000), "damaged")
      << "restores a state that was not remembered";
  EXPECT_EQ(row_at(std::string_view("\x3f", 1), 0x1000), "damaged") << "an instruction that there is not";
  EXPECT_EQ(row_at(std::string_view("\x0c\x40\x08", 3), 0x1000), "damaged")
      << "CFA of a register that there is not";
  EXPECT_EQ(row_at(std::string_view("\x0f\x7f", 2), 0x1000), "damaged")
      << "an expression longer than the program";
}

TEST(CfiTable, AnUnknownAugmentationCostsItsEntries) {
  EXPECT_FALSE(CfiTable::parse(table_bytes("", "zX"), 0).has_value());
  EXPECT_FALSE(CfiTable::parse("", 0).has_value());
}

}  // namespace
}  // namespace plimsoll::unwind
