#include "symbolizer/names/demangle.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace plimsoll::symbolizer {
namespace {

TEST(DisplayName, CppNamesAreDemangled) {
  EXPECT_EQ(display_name("_ZN7fixture12exported_cppEi"), "fixture::exported_cpp(int)");
  EXPECT_EQ(display_name("_ZNSt6vectorIiSaIiEE9push_backERKi"),
            "std::vector<int, std::allocator<int> >::push_back(int const&)");
  EXPECT_EQ(display_name("_ZTV3Foo"), "vtable for Foo");
}

TEST(DisplayName, RustNamesLoseTheirHash) {
  EXPECT_EQ(display_name("_ZN4core3fmt9Formatter3pad17h1234567890abcdefE"), "core::fmt::Formatter::pad");
  EXPECT_EQ(display_name("_ZN4core3fmt9Formatter3pad17h1234567890abcdefE.llvm.123"),
            "core::fmt::Formatter::pad");
  EXPECT_EQ(display_name("_RNvNtCsbDqzXfLQacH_5hello4main3run"), "hello::main::run");
}

TEST(DisplayName, PartsOfAFunctionKeepItsNameAndSaySo) {
  EXPECT_EQ(display_name("_Z3foov.part.0"), "foo() [clone .part.0]");
  EXPECT_EQ(display_name("_Z3foov.cold"), "foo() [clone .cold]");
}

TEST(DisplayName, OtherNamesStayAsTheyAre) {
  for (const std::string_view name :
       {"main", "__libc_start_main", "schedule", "entry_SYSCALL_64_after_hwframe", "foo.part.0", "", "_",
        "_R", "Z3foov", "go.main", "operator new"}) {
    EXPECT_EQ(display_name(name), name);
  }
}

TEST(DisplayName, SymbolVersionsAreRemoved) {
  EXPECT_EQ(display_name("memcpy@@GLIBC_2.14"), "memcpy");
  EXPECT_EQ(display_name("memcpy@GLIBC_2.2.5"), "memcpy");
  EXPECT_EQ(display_name("_Z3foov@@V1"), "foo()");
}

TEST(DisplayName, WhatCannotBeDemangledStaysAsItIs) {
  EXPECT_EQ(display_name("_Z"), "_Z");
  EXPECT_EQ(display_name("_ZNotAName"), "_ZNotAName");
  EXPECT_EQ(display_name("_Z3foo"), "foo");  // a variable
  const std::string nested = "_Z1f" + std::string(5000, 'P') + "v";
  EXPECT_EQ(display_name(nested), nested);
}

TEST(DisplayName, LongNamesOfTemplatesAreDemangled) {
  std::string name = "_Z1f";
  for (int i = 0; i < 100; ++i) {
    name += "20abcdefghijabcdefghij";
  }
  EXPECT_TRUE(display_name(name).starts_with("f(abcdefghijabcdefghij, ")) << display_name(name);
}

TEST(DisplayName, AShortNameForAnEndlessTextStaysAsItIs) {
  // Each argument is A<the one before, the one before>: the last would take 2^30 words.
  const std::string digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  std::string name = "_Z1f1AIiiE";
  for (int i = 0; i < 30; ++i) {
    const std::string one_before = fmt::format("S{}_", digits[i]);
    name += "S_I" + one_before + one_before + "E";
  }
  EXPECT_EQ(display_name(name), name);
  const std::string nested = "_Z1f" + std::string(4000, 'P') + "v";
  EXPECT_EQ(display_name(nested), nested);
}

TEST(DisplayName, APackExpansionOfSubstitutionsComesToAnEnd) {
  // Before it writes anything, libiberty looks for the pack in all 2^60 places.
  constexpr int kDepth = 60;
  const std::string digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  std::string name = "_Z1fDp";
  for (int i = 0; i < kDepth; ++i) {
    name += "1AI";
  }
  name += "iiE";
  // The last A is substitution kDepth - 2, then come the templates, from within.
  for (int i = kDepth - 1; i < 2 * kDepth - 2; ++i) {
    name += fmt::format("S{}{}_E", i < 36 ? "" : digits.substr(i / 36, 1), digits[i % 36]);
  }
  EXPECT_EQ(display_name(name), name);
}

TEST(DisplayName, TemplatesTimesReferencesToTheirParametersStayOffTheStack) {
  // Copied for each reference, the templates would fill megabytes.
  std::string name = "_Z1fIiEv";
  for (int i = 0; i < 500; ++i) {
    name += "RT_";
  }
  EXPECT_NE(display_name(name), name);
  for (int i = 0; i < 400; ++i) {
    name += "1AIiE";
  }
  EXPECT_EQ(display_name(name), name);
}

TEST(DisplayName, DamagedNamesDoNoHarm) {
  const std::vector<std::string> names{"_ZNSt6vectorIiSaIiEE9push_backERKiS1_DpT_ILb1EE",
                                       "_RINvNtC3std3mem8align_ofNtNtC4test5outer5InnerE"};
  std::mt19937_64 random(1);
  for (int i = 0; i < 20'000; ++i) {
    std::string damaged = names[random() % names.size()];
    for (uint64_t flips = 1 + random() % 4; flips > 0; --flips) {
      damaged[2 + random() % (damaged.size() - 2)] = static_cast<char>(' ' + random() % 95);
    }
    damaged.resize(2 + random() % damaged.size());
    EXPECT_FALSE(display_name(damaged).empty());
  }
}

}  // namespace
}  // namespace plimsoll::symbolizer
