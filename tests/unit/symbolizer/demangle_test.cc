#include "symbolizer/names/demangle.h"

#include <gtest/gtest.h>

#include <random>

namespace plimsoll::symbolizer {
namespace {

TEST(DisplayName, CppNamesAreDemangled) {
  EXPECT_EQ(display_name("_ZN7fixture12exported_cppEi"), "fixture::exported_cpp(int)");
  EXPECT_EQ(display_name("_ZNSt6vectorIiSaIiEE9push_backERKi"),
            "std::vector<int, std::allocator<int> >::push_back(int const&)");
  EXPECT_EQ(display_name("_ZTV3Foo"), "vtable for Foo");
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
  // Short names can stand for very long ones, and nest deeply.
  const std::string nested = "_Z1f" + std::string(5000, 'P') + "v";
  EXPECT_EQ(display_name(nested), nested);
}

TEST(DisplayName, DamagedNamesDoNoHarm) {
  const std::string name = "_ZNSt6vectorIiSaIiEE9push_backERKiS1_DpT_ILb1EE";
  std::mt19937_64 random(1);
  for (int i = 0; i < 20'000; ++i) {
    std::string damaged = name;
    for (uint64_t flips = 1 + random() % 4; flips > 0; --flips) {
      damaged[2 + random() % (damaged.size() - 2)] = static_cast<char>(' ' + random() % 95);
    }
    damaged.resize(2 + random() % damaged.size());
    EXPECT_FALSE(display_name(damaged).empty());
  }
}

}  // namespace
}  // namespace plimsoll::symbolizer
