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

TEST(DisplayName, PartsAndClonesAreCalledLikeTheFunctionTheyComeFrom) {
  for (const std::string_view clone :
       {"_Z3foov", "_Z3foov.part.0", "_Z3foov.cold", "_Z3foov.isra.0.constprop.1", "_Z3foov.llvm.1234",
        "_Z3foov.__uniq.1234", "_Z3foov.1234"}) {
    EXPECT_EQ(display_name(clone), "foo()") << clone;
  }
  EXPECT_EQ(display_name("foo.part.0"), "foo");
  EXPECT_EQ(display_name("_RNvNtCsbDqzXfLQacH_5hello4main3run.llvm.123"), "hello::main::run");
  EXPECT_EQ(display_name("_Z3sumv._omp_fn.0"), "sum() [clone ._omp_fn.0]");  // a function of its own
}

TEST(DisplayName, ClonesStayApartOnRequest) {
  constexpr NameForm kClonesApart{.fold_clones = false};
  EXPECT_EQ(display_name("_Z3foov.part.0", kClonesApart), "foo() [clone .part.0]");
  EXPECT_EQ(display_name("_Z3foov.isra.0.cold", kClonesApart), "foo() [clone .isra.0] [clone .cold]");
  EXPECT_EQ(display_name("_RNvNtCsbDqzXfLQacH_5hello4main3run.llvm.123", kClonesApart),
            "hello::main::run [clone .llvm.123]");
  EXPECT_EQ(display_name("_ZN4core3fmt9Formatter3pad17h1234567890abcdefE.cold", kClonesApart),
            "core::fmt::Formatter::pad [clone .cold]");
  EXPECT_EQ(display_name("foo.part.0", kClonesApart), "foo.part.0");
  EXPECT_EQ(display_name("_Z3foov.part.0@@V1", kClonesApart), "foo() [clone .part.0]");
}

TEST(DisplayName, TheLinkageNameItselfOnRequest) {
  constexpr NameForm kRaw{.demangle = false, .fold_clones = false};
  for (const std::string_view name :
       {"_Z3foov.part.0", "_Z3foov@@V1", "_ZN4core3fmt9Formatter3pad17h1234567890abcdefE.llvm.123",
        "main.init.0", ""}) {
    EXPECT_EQ(display_name(name, kRaw), name);
  }
  // Of whatever clone: the name that tells one function in two builds of a binary.
  EXPECT_EQ(display_name("_Z3foov.llvm.1234", {.demangle = false}), "_Z3foov");
}

TEST(DisplayName, TemplateArgumentsAreShortenedOnRequest) {
  constexpr NameForm kShort{.shorten_templates = true};
  EXPECT_EQ(display_name("_ZNSt6vectorIiSaIiEE9push_backERKi.isra.0", kShort),
            "std::vector<...>::push_back(int const&)");
  EXPECT_EQ(display_name("_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKc", kShort),
            "std::basic_ostream<...>& std::operator<< <...>(std::basic_ostream<...>&, char const*)");
  EXPECT_EQ(display_name("main.Map[go.shape.int]", kShort), "main.Map[...]");
}

TEST(DisplayName, OtherNamesStayAsTheyAre) {
  for (const std::string_view name :
       {"main", "__libc_start_main", "schedule", "entry_SYSCALL_64_after_hwframe", "", "_", "_R", "Z3foov",
        "operator new", "@", "@@GLIBC_2.34", "_GLOBAL__sub_I_main.cpp",
        // Go's are readable; D's and Swift's show the identifiers that they are made of.
        "main.main", "main.(*T).Method", "main.T.Method-fm", "main.main.func1.2", "main.init.0",
        "type..eq.main.T", "main.Map[go.shape.int,go.shape.string]", "vendor/golang.org/x/net/idna.init",
        "_D3std5stdio7writelnFZv", "$s4main3runyyF", "$S4main3runyyF"}) {
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
