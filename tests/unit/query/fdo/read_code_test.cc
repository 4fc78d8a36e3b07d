#include "query/fdo/code/read_code.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "tests/unit/query/fdo/made_elf.h"

namespace plimsoll::fdo {
namespace {

using testing::from_hex;
using ::testing::HasSubstr;
using testing::kCodeAddress;
using testing::made_elf;
using testing::MadeSymbol;

Result<ProgramCode> code_of(const std::string& file, std::vector<uint64_t> addresses,
                            const CodeLimits& limits = {}) {
  const auto binary = elf::ElfFile::parse(as_bytes(file));
  return binary ? read_code(*binary, function_extents(*binary), addresses, limits) : propagate(binary);
}

std::string text_of(const std::string& file, std::vector<uint64_t> addresses = {kCodeAddress}) {
  const auto code = code_of(file, std::move(addresses));
  if (!code) {
    return code.error().text();
  }
  std::string text;
  for (const FunctionCode& function : code->functions) {
    text += function.name + '\n' + to_text(function);
  }
  return text;
}

TEST(ReadCode, SplitsAtJumpsAndTheirTargets) {
  const std::string code = from_hex(
      "85 ff"           // 1000 test %edi, %edi
      "74 07"           // 1002 je 100b
      "e8 00 00 00 00"  // 1004 call 1009: does not end a block
      "eb 02"           // 1009 jmp 100d
      "ff c0"           // 100b inc %eax
      "83 ef 01"        // 100d sub $1, %edi
      "75 ee"           // 1010 jne 1000
      "c3");            // 1012 ret
  EXPECT_EQ(text_of(made_elf(code, {{"f", kCodeAddress, code.size()}})),
            "f\n"
            "0x1000..0x1004 2 conditional -> 0x100b 0x1004\n"
            "0x1004..0x100b 2 jump -> 0x100d\n"
            "0x100b..0x100d 1 falls through -> 0x100d\n"
            "0x100d..0x1012 2 conditional -> 0x1000 0x1012\n"
            "0x1012..0x1013 1 returns\n");
}

TEST(ReadCode, JoinsColdParts) {
  const std::string code = from_hex(
      "85 ff"  // 1000 test %edi, %edi
      "75 0c"  // 1002 jne 1010: f.cold
      "c3"     // 1004 ret
      "90 90 90 90 90 90 90 90 90 90 90"
      "ff c0"           // 1010 inc %eax
      "eb f0"           // 1012 jmp 1004
      "e9 0f 00 00 00"  // 1014 g: jmp 1028, out of it
  );
  const std::string file =
      made_elf(code, {{"f", kCodeAddress, 5}, {"f.cold", 0x1010, 4, true}, {"g", 0x1014, 5}});
  const std::string expected =
      "f\n"
      "0x1000..0x1004 2 conditional -> 0x1010 0x1004\n"
      "0x1004..0x1005 1 returns\n"
      "0x1010..0x1014 2 jump -> 0x1004\n";
  EXPECT_EQ(text_of(file), expected);
  EXPECT_EQ(text_of(file, {0x1012}), expected) << "samples in the cold part alone";
  EXPECT_EQ(text_of(file, {0x1014}), "g\n0x1014..0x1019 1 leaves\n");
}

TEST(ReadCode, ReadsTablesOfAddresses) {
  const std::string code = from_hex(
      "83 ff 02"              // 1000 cmp $2, %edi
      "77 0b"                 // 1003 ja 1010
      "89 f8"                 // 1005 mov %edi, %eax
      "ff 24 c5 00 20 00 00"  // 1007 jmp *0x2000(,%rax,8)
      "90 90"                 // 100e
      "c3"                    // 1010 ret
      "ff c0 c3"              // 1011 inc; ret
      "ff c8 c3");            // 1014 dec; ret
  const std::string data =
      from_hex("11 10 00 00 00 00 00 00 14 10 00 00 00 00 00 00 11 10 00 00 00 00 00 00");
  const std::vector<MadeSymbol> symbols = {{"f", kCodeAddress, code.size()}};
  EXPECT_THAT(text_of(made_elf(code, symbols, data)), HasSubstr("0x1005..0x100e 2 table -> 0x1011 0x1014\n"));
  // An entry that is missing, or leads into an instruction: none of it is believed.
  EXPECT_THAT(text_of(made_elf(code, symbols, data.substr(0, 20))),
              HasSubstr("0x1005..0x100e 2 unknown jump\n"));
  std::string damaged = data;
  damaged[0] = 0x12;
  EXPECT_THAT(text_of(made_elf(code, symbols, damaged)), HasSubstr("unknown jump\n"));
}

TEST(ReadCode, ReadsTablesOfOffsets) {
  const std::string code = from_hex(
      "48 8d 15 f9 0f 00 00"  // 1000 lea 0x2000, %rdx
      "40 80 ff 01"           // 1007 cmp $1, %dil
      "77 0d"                 // 100b ja 101a
      "40 0f b6 c7"           // 100d movzbl %dil, %eax
      "48 63 04 82"           // 1011 movslq (%rdx,%rax,4), %rax
      "48 01 d0"              // 1015 add %rdx, %rax
      "ff e0"                 // 1018 jmp *%rax
      "c3"                    // 101a ret
      "ff c0 c3");            // 101b inc; ret
  const std::string data = from_hex("1b f0 ff ff 1a f0 ff ff");
  EXPECT_THAT(text_of(made_elf(code, {{"f", kCodeAddress, code.size()}}, data)),
              HasSubstr("table -> 0x101a 0x101b\n"));
}

TEST(ReadCode, TakesVirtualTailCallsForWaysOut) {
  const std::string code = from_hex("48 8b 07 ff 60 18");  // mov (%rdi), %rax; jmp *24(%rax)
  EXPECT_EQ(text_of(made_elf(code, {{"f", kCodeAddress, code.size()}})), "f\n0x1000..0x1006 2 leaves\n");
}

// How the block with the last instruction ends: "leaves" or "unknown jump".
std::string end_of(std::string_view hex, uint16_t machine = EM_X86_64) {
  const std::string code = from_hex(hex);
  const auto read = code_of(made_elf(code, {{"f", kCodeAddress, code.size()}}, {}, machine), {kCodeAddress});
  if (!read || read->functions.size() != 1) {
    return "no function";
  }
  const FunctionCode& function = read->functions[0];
  const bool is_unknown = function.blocks.back().end == BlockEnd::kUnknownJump;
  EXPECT_EQ(function.has_unknown_jumps, is_unknown);
  EXPECT_EQ(read->unknown_jumps, is_unknown ? 1 : 0);
  const std::string text = to_text(function);
  return text.ends_with(" leaves\n") ? "leaves" : text.ends_with(" unknown jump\n") ? "unknown jump" : text;
}

TEST(ReadCode, TakesJumpsByPointersForWaysOut) {
  EXPECT_EQ(end_of("ff e7"), "leaves") << "jmp *%rdi: an argument";
  EXPECT_EQ(end_of("48 89 f8 ff e0"), "leaves") << "mov %rdi, %rax; jmp *%rax";
  EXPECT_EQ(end_of("e8 00 00 00 00 ff e0"), "leaves") << "what a call returned";
  EXPECT_EQ(end_of("48 8b 06 48 8b 44 30 ff ff e0"), "leaves")
      << "mov -1(%rax,%rsi), %rax: a pointer to a member";
  EXPECT_EQ(end_of("85 f6 74 03 48 89 f8 ff e0"), "leaves") << "an argument, or what was in %rax";
  EXPECT_EQ(end_of("ff 24 25 00 20 00 00"), "leaves") << "jmp *0x2000";
}

TEST(ReadCode, KnowsJumpsThroughTablesThatItCannotRead) {
  EXPECT_EQ(end_of("48 63 04 8a 48 01 d0 ff e0"), "unknown jump")
      << "movslq (%rdx,%rcx,4), %rax; add %rdx, %rax";
  EXPECT_EQ(end_of("48 8b 04 fd 00 20 00 00 ff e0"), "unknown jump") << "mov 0x2000(,%rdi,8), %rax";
  EXPECT_EQ(end_of("ff 24 fd 00 20 00 00"), "unknown jump") << "jmp *0x2000(,%rdi,8)";
  // test %esi, %esi; je; then one way loads a pointer, the other from a table: jmp *%rax
  EXPECT_EQ(end_of("85 f6 74 05 48 8b 06 eb 08 48 8b 04 fd 00 20 00 00 ff e0"), "unknown jump");
}

TEST(ReadCode, TellsJumpsOfAarch64Apart) {
  EXPECT_EQ(end_of("20 00 1f d6", EM_AARCH64), "leaves") << "br x1";
  EXPECT_EQ(end_of("01 00 40 f9 21 08 40 f9 20 00 1f d6", EM_AARCH64), "leaves")
      << "ldr x1, [x1, #16]; br x1";
  EXPECT_EQ(end_of("f0 03 01 aa 00 02 1f d6", EM_AARCH64), "leaves") << "mov x16, x1; br x16";
  EXPECT_EQ(end_of("00 00 00 94 00 00 1f d6", EM_AARCH64), "leaves") << "bl; br x0";
  EXPECT_EQ(end_of("40 c8 20 8b 00 00 1f d6", EM_AARCH64), "unknown jump")
      << "add x0, x2, w0, sxtw #2; br x0";
  EXPECT_EQ(end_of("20 78 60 f8 00 00 1f d6", EM_AARCH64), "unknown jump")
      << "ldr x0, [x1, x0, lsl #3]; br x0";
}

// Quadratic in the function, this took minutes: each of 100,000 jumps looks for the address of its table.
TEST(ReadCode, LooksForAddressesOncePerFunction) {
  const std::string jump = from_hex("48 63 04 8a 48 01 d0 ff e0");
  std::string code;
  for (int i = 0; i < 100'000; ++i) {
    code += jump;
  }
  const std::string data(64, '\0');
  const auto read = code_of(made_elf(code, {{"f", kCodeAddress, code.size()}}, data), {kCodeAddress});
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->unknown_jumps, 100'000);
}

TEST(ReadCode, LimitsTheTablesOfAllFunctions) {
  // Twice cmp $1, %edi; ja to the ret; jmp *0x2000(,%rdi,8); ret. Each table has two entries.
  const std::string code = from_hex(
      "83 ff 01 77 07 ff 24 fd 00 20 00 00 c3 90 90 90"
      "83 ff 01 77 07 ff 24 fd 10 20 00 00 c3");
  const std::string data = from_hex(
      "00 10 00 00 00 00 00 00 0c 10 00 00 00 00 00 00"
      "10 10 00 00 00 00 00 00 1c 10 00 00 00 00 00 00");
  const std::string file = made_elf(code, {{"f", kCodeAddress, 13}, {"g", 0x1010, 13}}, data);
  const auto tables = [&](const CodeLimits& limits) {
    const auto read = code_of(file, {0x1000, 0x1010}, limits);
    EXPECT_EQ(read->tables + read->unknown_jumps, 2);
    return read->tables;
  };
  EXPECT_EQ(tables({}), 2);
  EXPECT_EQ(tables({.max_entries = 4}), 2);
  EXPECT_EQ(tables({.max_entries = 3}), 1);
  EXPECT_EQ(tables({.max_entries = 1}), 0);
  EXPECT_EQ(tables({.max_table_steps = 0}), 0);
}

TEST(ReadCode, BelievesNoAddressOfTwo) {
  // The table is found by the only lea of its register, far from the jump; not where there are two.
  const auto text = [](std::string_view second) {
    const std::string code =
        from_hex("48 8d 15 f9 0f 00 00 eb 00 " + std::string(second) +  // lea 0x2000, %rdx; jmp to the next
                 "eb 00 40 80 ff 01 77 0d 40 0f b6 c7 48 63 04 82 48 01 d0 ff e0 c3 c3");
    return text_of(made_elf(code, {{"f", kCodeAddress, code.size()}},
                            from_hex("20 f0 ff ff 20 f0 ff ff 00 00 00 00 00 00 00 00")));
  };
  EXPECT_THAT(text("48 8d 15 f0 0f 00 00"), HasSubstr("table -> 0x1020\n")) << "lea 0x2000, %rdx again";
  EXPECT_THAT(text("48 8d 15 f4 0f 00 00"), HasSubstr("unknown jump\n")) << "lea 0x2004, %rdx";
}

TEST(ReadCode, KnowsCallsThatDoNotReturn) {
  const std::string code = from_hex(
      "e8 06 00 00 00"  // 1000 call 100b: abort
      "c3 c3 c3 c3 c3 c3"
      "f4");  // 100b hlt
  EXPECT_EQ(text_of(made_elf(code, {{"f", kCodeAddress, 6}, {"abort", 0x100b, 1}})),
            "f\n0x1000..0x1005 1 stops\n0x1005..0x1006 1 returns\n");
}

TEST(ReadCode, ReadsAarch64) {
  const std::string code = from_hex(
      "60 00 00 b4"    // 1000 cbz x0, 100c
      "00 04 00 d1"    // 1004 sub x0, x0, #1
      "fe ff ff 17"    // 1008 b 1000
      "c0 03 5f d6");  // 100c ret
  EXPECT_EQ(text_of(made_elf(code, {{"f", kCodeAddress, code.size()}}, {}, EM_AARCH64)),
            "f\n"
            "0x1000..0x1004 1 conditional -> 0x100c 0x1004\n"
            "0x1004..0x100c 2 jump -> 0x1000\n"
            "0x100c..0x1010 1 returns\n");
}

TEST(ReadCode, RefusesOtherMachines) {
  const auto code = code_of(made_elf("\xc3", {{"f", kCodeAddress, 1}}, {}, EM_RISCV), {kCodeAddress});
  ASSERT_FALSE(code.has_value());
  EXPECT_EQ(code.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(code.error().message, HasSubstr("machine 243"));
}

TEST(ReadCode, CountsWhatItLeavesOut) {
  const std::string file = made_elf(std::string(64, '\x90'), {{"f", kCodeAddress, 32}, {"g", 0x1020, 8}});
  const auto code = code_of(file, {0x1001, 0x1021, 0x1030, 0x9000}, {.max_function_bytes = 16});
  ASSERT_TRUE(code.has_value());
  EXPECT_EQ(code->functions.size(), 1);
  EXPECT_EQ(code->addresses_over_limit, 1);
  EXPECT_EQ(code->addresses_elsewhere, 2);
}

TEST(ReadCode, BearsRandomBytesAndDamagedFiles) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    std::mt19937_64 random(seed);
    std::string code(1 + random() % 300, '\0');
    for (char& byte : code) {
      byte = static_cast<char>(random());
    }
    // An indirect jump with a comparison, so that tables are looked for too.
    code += from_hex("83 ff 7f 77 f0 ff 24 fd 00 20 00 00");
    std::string file = made_elf(code, {{"f", kCodeAddress, 100}, {"f.cold", 0x1064, code.size() * 2}}, code);
    if (seed % 2 == 0) {
      file[random() % file.size()] = static_cast<char>(random());
      file.resize(file.size() - (seed % 4 == 0 ? random() % 64 : 0));
    }
    const auto read = code_of(file, {kCodeAddress, 0x1064});
    if (!read) {
      continue;
    }
    for (const FunctionCode& function : read->functions) {
      for (const Edge& edge : function.edges) {
        ASSERT_LT(edge.to, function.blocks.size());
      }
      for (size_t i = 0; i < function.blocks.size(); ++i) {
        ASSERT_GT(function.blocks[i].instructions, 0);
        ASSERT_TRUE(i == 0 || function.blocks[i - 1].to <= function.blocks[i].from);
      }
    }
  }
}

}  // namespace
}  // namespace plimsoll::fdo
