#include "symbolizer/names/demangle.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "symbolizer/names/d_names.h"
#include "symbolizer/names/symbol_version.h"

namespace plimsoll::symbolizer {
namespace {

TEST(DisplayName, CppNamesAreDemangled) {
  EXPECT_EQ(display_name("_ZN7fixture12exported_cppEi"), "fixture::exported_cpp(int)");
  EXPECT_EQ(display_name("_ZNSt6vectorIiSaIiEE9push_backERKi"),
            "std::vector<int, std::allocator<int> >::push_back(int const&)");
  EXPECT_EQ(display_name("_ZTV3Foo"), "vtable for Foo");
}

// Of clang 19. What declares a parameter of a template, or constrains it, is left out.
TEST(DisplayName, NewManglingsOfTemplatesAreRead) {
  struct NewName {
    std::string_view linkage_name;
    std::string_view display;
  };
  for (const auto& [linkage_name, display] : {
           NewName{"_Z2f1ITk5SmalliET_S0_", "int f1<int>(int)"},
           {"_Z2f2IiQaa5SmallIT_Esr3stdE8integralIS0_EES0_S0_", "int f2<int>(int)"},
           {"_Z2f3IiET_S0_QrQS0__Xplfp_fp_TNSt6vectorIS0_SaIS0_EE8iteratorEXplfp_Li0ERSt8integralQeqstS0_"
            "Li4EE",
            "int f3<int>(int)"},
           {"_Z2f4ITkSt8integraliEDaT_", "auto f4<int>(int)"},
           {"_Z3f4bITk5SmalliTk6BiggerIcEiEDcT_T0_", "decltype(auto) f4b<int, int>(int, int)"},
           {"_Z2f5IiTnNSt9enable_ifIXsr3stdE13is_integral_vIT_EEiE4typeELi0EES1_S1_", "int f5<int, 0>(int)"},
           {"_Z3f5bIiTpTnNSt9enable_ifIXsr3stdE13is_integral_vIT_EES1_E4typeEJLi1ELi2EEES1_S1_",
            "int f5b<int, 1, 2>(int)"},
           {"_Z2f7ITnDaLi3EEiv", "int f7<3>()"},
           {"_Z2f8ITnDk5SmallLi4EEiv", "int f8<4>()"},
           {"_Z3f11ITpTk5SmallJiclEEiDpT_", "int f11<int, char, long>(int, char, long)"},
           {"_ZN3BoxIiEF2frES0_iQ5SmallIT_E", "Box<int>::fr(Box<int>, int)"},
           {"_ZNH3BoxIiE1mERKS0_i", "Box<int>::m(Box<int> const&, int)"},
           {"_ZNKSt6ranges4lessclIRiS2_Q20totally_ordered_withIT_T0_EEEbOS3_OS4_",
            "bool std::ranges::less::operator()<int&, int&>(int&, int&) const"},
       }) {
    EXPECT_EQ(display_name(linkage_name), display) << linkage_name;
    EXPECT_EQ(display_name(std::string(linkage_name) + ".cold"), display);
  }
  // A type that is named in the constraint alone is called auto.
  EXPECT_EQ(display_name("_Z1fIiQ1CIPT_EEvS1_"), "void f<int>(auto)");
  EXPECT_EQ(display_name("_Z1fIiQ1C"), "_Z1fIiQ1C");
  EXPECT_EQ(display_name("_Z1fITn"), "_Z1fITn");
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
        // Go's and Zig's are readable.
        "main.main", "main.(*T).Method", "main.T.Method-fm", "main.main.func1.2", "main.init.0",
        "type..eq.main.T", "main.Map[go.shape.int,go.shape.string]", "vendor/golang.org/x/net/idna.init",
        "fs.File.write__anon_1234"}) {
    EXPECT_EQ(display_name(name), name);
  }
}

// As c++filt writes them, without what stands in parentheses.
TEST(DisplayName, NamesOfDAreQualified) {
  for (const auto& [linked, shown] : std::initializer_list<std::pair<std::string_view, std::string_view>>{
           {"_Dmain", "D main"},
           {"_D3std5stdio7writelnFZv", "std.stdio.writeln"},
           {"_D3std3uni8Grapheme6__ctorMFNaNbNiNeZv", "std.uni.Grapheme.this"},
           {"_D4core6thread8osthread16_mainThreadStoreG177v", "core.thread.osthread._mainThreadStore"},
           {"_D3std3uni__T8CowArrayTSQwQu8GcPolicyZQz10__postblitMFNaNbNiNfZv",
            "std.uni.CowArray!(...).CowArray.__postblit"},
           // A function within a function, whose parameters stand in between.
           {"_D4core8internal2gc4impl12conservativeQw11calcBinBaseFZ5innerMFiZv",
            "core.internal.gc.impl.conservative.gc.calcBinBase.inner"},
           // A template's argument that is another function, with values of each kind.
           {"_D3std3xml__T3optS_DQsQq17checkEncodingDeclFNaNfKAyaZvZQBqQp", "std.xml.opt!(...).opt"},
           {"_D1a__T1fVi1VlN2Vee8PN1Vcc8P1c8P1Vbi1VAyaa2_6869VAiA2i1i2VHiiA1i1i2VPvnZ1fFZv", "a.f!(...).f"},
           // With the length of its instance, as before 2018.
           {"_D3std4conv13__T2toTAyaTiZ2toFiZAya", "std.conv.to!(...).to"},
           {"_D10TypeInfo_a6__initZ", "initializer for TypeInfo_a"},
           {"_D6object9Throwable7__ClassZ", "ClassInfo for object.Throwable"}}) {
    EXPECT_EQ(display_name(linked), shown) << linked;
    EXPECT_TRUE(is_mangled(linked)) << linked;
  }
  for (const std::string_view name :
       {"_D", "_D3", "_D3fo", "_D3foo", "_D3fooF", "_D3fooFZ", "_D3fooFZvv", "_D3fooQa", "_D3fooQzzz", "_Do",
        "_D3foo__T", "_D3foo__T1fTZ", "_DTi16_D3foo1fFZv", "_D99999999999999999999foo", "_D3fooG",
        "_DYNAMIC"}) {
    EXPECT_EQ(display_name(name), name);
    EXPECT_FALSE(is_mangled(name)) << name;
  }
}

TEST(DisplayName, BackReferencesOfDStayWithinBounds) {
  // Each repeats the first identifier, of 1,000 letters.
  std::string name = "_D1000" + std::string(1000, 'a');
  for (int i = 0; i < 100; ++i) {
    const size_t distance = name.size() - 2;
    name += {'Q', static_cast<char>('A' + distance / 26 % 26), static_cast<char>('a' + distance % 26)};
  }
  name += "FZv";
  EXPECT_EQ(display_name(name), name);
  // Parameters that are read again at each depth, since something is wrong at the end.
  std::string nested = "_D";
  for (int i = 0; i < 200; ++i) {
    nested += "1fFC";
  }
  EXPECT_EQ(display_name(nested), nested);
}

// A back reference of D to what begins so many characters before it, in base 26: three digits, the last a small letter.
std::string d_back_reference(size_t distance) {
  return {'Q', static_cast<char>('A' + distance / 676 % 26), static_cast<char>('A' + distance / 26 % 26),
          static_cast<char>('a' + distance % 26)};
}

TEST(DisplayName, CharactersThatNamesOfDRepeatAreBounded) {
  static constexpr size_t kLetters = 8'000;
  // Each of the parameters is a class that is called as the function is.
  const auto function_of = [](size_t parameters) {
    std::string name = fmt::format("_D{}{}F", kLetters, std::string(kLetters, 'a'));
    for (size_t i = 0; i < parameters; ++i) {
      name += 'C';
      name += d_back_reference(name.size() - 2);
    }
    return name + "Zv";
  };
  EXPECT_EQ(d_name(function_of(100)).value_or(""), std::string(kLetters, 'a'));
  EXPECT_FALSE(d_name(function_of(1'600))) << "it would copy 13 million characters";
  // As long as names may be that are shown. What looks like parameters is read again at each depth, since something is wrong at the end.
  std::string nested = fmt::format("_D{}{}", 3'000, std::string(3'000, 'a'));
  for (int i = 0; i < 60; ++i) {
    nested += "FC";
    for (int repeated = 0; repeated < 3; ++repeated) {
      nested += d_back_reference(nested.size() - 2);
    }
  }
  ASSERT_LE(nested.size(), 4096);
  EXPECT_EQ(display_name(nested), nested);
}

TEST(DisplayName, TemplatesOfDInOneAnotherAreBounded) {
  // Each with the length of its instance.
  const auto instance_of = [](int depth) {
    std::string name = "1f";
    for (int i = 0; i < depth; ++i) {
      name = fmt::format("{}__T{}", name.size() + 3, name);
    }
    return "_D" + name + "FZv";
  };
  EXPECT_EQ(display_name(instance_of(2)), "f!(...)!(...)");
  EXPECT_EQ(display_name(instance_of(100)), instance_of(100));
  std::string endless = "_D";
  for (int i = 0; i < 300'000; ++i) {
    endless += "9__T";
  }
  EXPECT_FALSE(d_name(endless));
}

TEST(DisplayName, NamesOfSwiftArePathsOfDeclarations) {
  for (const auto& [linked, shown] : std::initializer_list<std::pair<std::string_view, std::string_view>>{
           {"$s4main3runyyF", "main.run"},
           {"$S4main3runyyF", "main.run"},
           {"_$s4main3runyyF", "main.run"},
           {"$ss5print_9separator10terminatoryypd_S2StF", "Swift.print"},
           {"$sSa6appendyyxnF", "Swift.Array.append"},
           {"$sSS5countSivg", "Swift.String.count.getter"},
           {"$sSi1poiyS2i_SitFZ", "Swift.Int.+"},
           {"$s4Test5ProtoP8IteratorV10collectionAEy_qd__Gqd___tcfc", "Test.Proto.Iterator.init"},
           {"$s4test3StrCACycfC", "test.Str.init"},
           {"$s4test3StrCfD", "test.Str.deinit"},
           {"$s3nix8MystructVyS2icig", "nix.Mystruct.subscript.getter"},
           {"$s4main3runyyFyycfU_", "closure in main.run"},
           {"$s4main3runyyFyycfU0_", "closure in main.run"},
           // Words of identifiers before: "main" in "mainType", then "Type" in "xTypemain".
           {"$s4main0A4TypeV3runyyF", "main.mainType.run"},
           {"$s4main0A4TypeV1xbA0yyF", "main.mainType.x"},
           // A private one, of a file.
           {"$s4main5Inner33_0123456789ABCDEF0123456789ABCDEFLLV3runyyF", "main.Inner.run"},
           // Of another module's type.
           {"_$Ss10DictionaryV3t17E6Index2V1loiSbAEyxq__G_AGtFZ", "Swift.Dictionary.Index2.<"}}) {
    EXPECT_EQ(display_name(linked), shown) << linked;
    EXPECT_TRUE(is_mangled(linked)) << linked;
  }
  for (
      const std::string_view name :
      {"$s", "$s4", "$s4main", "$s4mai", "$s4main3run", "$s0A4main3runyyF", "$sSg", "$s4main0Z3runyyF",
       // A witness of a protocol, what the compiler makes of a type, a thunk, Punycode, a function within a function.
       "$s4main3FooVAA3BarA2aDP3bazyyFTW", "$s4main3FooCMa", "_$s3foo3barC3bas3zimyAaEC_tFTo",
       "$s8mangling0022egbpdajGbuEbxfgehfvwxnyyF", "$s4main3runyyF5innerL_yyF"}) {
    EXPECT_EQ(display_name(name), name);
    EXPECT_FALSE(is_mangled(name)) << name;
  }
}

TEST(DisplayName, NamesOfOCamlArePathsOfModules) {
  for (const auto& [linked, shown] : std::initializer_list<std::pair<std::string_view, std::string_view>>{
           {"camlStdlib__List__map_1234", "Stdlib.List.map"},
           {"camlStdlib__List.map_1234", "Stdlib.List.map"},
           {"camlStdlib__$5e_156", "Stdlib.^"},
           {"camlDune__exe__Main__two_words_3", "Dune.exe.Main.two_words"},
           {"camlMain__entry", "Main.entry"},
           // Which of the functions without a name it is.
           {"camlMain__fun_99", "Main.fun_99"}}) {
    EXPECT_EQ(display_name(linked), shown) << linked;
    EXPECT_TRUE(is_mangled(linked)) << linked;
  }
  for (const std::string_view name : {"caml", "caml_alloc", "caml_startup__code_begin", "camlinternal",
                                      "camlMain", "camlMain__", "CamlMain__x"}) {
    EXPECT_EQ(display_name(name), name);
    EXPECT_FALSE(is_mangled(name)) << name;
  }
}

TEST(DisplayName, ClonesOfOtherLanguagesAreFoldedOrMarked) {
  EXPECT_EQ(display_name("_D3std5stdio7writelnFZv.part.0"), "std.stdio.writeln");
  EXPECT_EQ(display_name("_D3std5stdio7writelnFZv.part.0", {.fold_clones = false}),
            "std.stdio.writeln [clone .part.0]");
  EXPECT_EQ(display_name("$s4main3runyyF.cold"), "main.run");
}

TEST(VersionedNames, AreShownWithoutTheirVersions) {
  EXPECT_EQ(display_name("memcpy@@GLIBC_2.14"), "memcpy");
  EXPECT_EQ(display_name("memcpy@GLIBC_2.2.5"), "memcpy");
  EXPECT_EQ(display_name("memcpy@@@GLIBC_2.14"), "memcpy");
  EXPECT_EQ(display_name("_Z3foov@@V1"), "foo()");
  EXPECT_EQ(display_name("run@@libfoo.so.1"), "run");
  EXPECT_EQ(display_name("_D3std5stdio7writelnFZv@@V1"), "std.stdio.writeln");
}

TEST(VersionedNames, OfClonesAreFoldedWhereverTheSuffixStands) {
  for (const std::string_view linked :
       {"_Z3foov.part.0@@V1", "_Z3foov@V1.part.0", "_Z3foov@@V1.5.constprop.2.isra.0.cold",
        "_Z3foov@V1.lto_priv.0", "_Z3foov.isra.0@V_2.34.cold"}) {
    EXPECT_EQ(display_name(linked), "foo()") << linked;
  }
  EXPECT_EQ(display_name("run@@GLIBC_2.34.cold"), "run");
  EXPECT_EQ(display_name("_Z3foov@V1.2.part.0", {.fold_clones = false}), "foo() [clone .part.0]");
  EXPECT_EQ(display_name("_Z3foov@V1.2", {.fold_clones = false}), "foo()") << "the number is the version's";
}

TEST(VersionedNames, OtherSignsBelongToTheName) {
  for (const std::string_view name : {"@", "@@GLIBC_2.34", "LazyCompile:*run /node_modules/@scope/run.js:3",
                                      "run@file:///a.js:3", "run@", "run@@@@V1", "memcpy@plt"}) {
    EXPECT_EQ(display_name(name), name);
  }
  EXPECT_EQ(display_name("_Z3foov@plt"), "foo()@plt") << "code of its own, which calls it";
}

TEST(VersionedNames, HaveParts) {
  const VersionedName split = split_version("open@LIB_1.0.part.0");
  EXPECT_EQ(split.name, "open");
  EXPECT_EQ(split.version, "LIB_1.0");
  EXPECT_EQ(split.clones, ".part.0");
  EXPECT_TRUE(split.is_old);
  EXPECT_FALSE(split_version("open@@LIB_2.0").is_old);
  EXPECT_EQ(split_version("open.part.0").name, "open.part.0");
  EXPECT_EQ(split_version("open.part.0").version, "");
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
  const std::vector<std::string> names{
      "_ZNSt6vectorIiSaIiEE9push_backERKiS1_DpT_ILb1EE", "_RINvNtC3std3mem8align_ofNtNtC4test5outer5InnerE",
      "_D4core6thread__T15thread_term_tplTCQBuQBs8osthread6ThreadTG177vZQBwFNiKQnZv",
      "_$Ss10DictionaryV3t17E6Index2V1loiSbAEyxq__G_AGtFZ"};
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
