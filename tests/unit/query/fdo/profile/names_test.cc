#include <gtest/gtest.h>

#include "query/fdo/profile/discriminators.h"
#include "query/fdo/profile/function_name.h"

namespace plimsoll::fdo {
namespace {

TEST(Discriminators, AreUnpackedAsLlvmPacksThem) {
  struct Case {
    uint32_t encoded;
    uint32_t base;
    uint32_t duplication;
  };
  for (const Case& of : {Case{0, 0, 1}, Case{2, 1, 1}, Case{4, 2, 1}, Case{17, 0, 4}, Case{33, 0, 8},
                         Case{7, 0, 1}, Case{514, 1, 2},
                         // Base 33 takes fourteen bits: the low five, a mark, the next seven.
                         Case{(1U << 1U) | 0x40U | (1U << 7U), 33, 1},
                         // And a duplication factor of 64 behind base 1.
                         Case{2U | (0x40U | (2U << 7U)) << 7U, 1, 64}}) {
    const Discriminator found = llvm_discriminator(of.encoded);
    EXPECT_EQ(found.base, of.base) << of.encoded;
    EXPECT_EQ(found.duplication, of.duplication) << of.encoded;
  }
  EXPECT_EQ(discriminator_of(17, "GNU C17 12.2.0").base, 17U);
  EXPECT_EQ(discriminator_of(17, "Debian clang version 14.0.6").base, 0U);
}

TEST(FunctionNames, LoseWhatWasAddedWhileTheyWereCompiled) {
  for (const auto& [linked, compiled] : {
           std::pair("_Z1fv", "_Z1fv"),
           std::pair("_Z1fv.llvm.12345", "_Z1fv"),
           std::pair("f.cold", "f"),
           std::pair("f.cold.1", "f"),
           std::pair("f.part.0.isra.3.constprop.2", "f"),
           std::pair("_ZL1fv.__uniq.2345.llvm.1", "_ZL1fv.__uniq.2345"),
           std::pair("f.__uniq.2345", "f.__uniq.2345"),
           std::pair("f.avx2.0", "f.avx2.0"),
           std::pair("f._omp_fn.0", "f._omp_fn.0"),
           std::pair(".cold", ".cold"),
           std::pair("f.", "f."),
           std::pair("", ""),
       }) {
    EXPECT_EQ(name_when_compiled(linked), compiled);
  }
}

TEST(FunctionNames, PartsAreNotEnteredByCalls) {
  for (const char* part : {"f.cold", "f.cold.3", "f.part.0", "f.part.0.constprop.1", "f.isra.0.cold"}) {
    EXPECT_TRUE(is_part_of_function(part)) << part;
  }
  for (const char* whole : {"f", "f.constprop.0", "f.llvm.3", "f.isra.0", "f.colder", "cold", ""}) {
    EXPECT_FALSE(is_part_of_function(whole)) << whole;
  }
}

TEST(FunctionNames, ConstructorsAreThoseOfBaseObjectsWhereTheyAreAliases) {
  const auto name = [](std::string_view function, std::string_view known_as) {
    symbolizer::SymtabFrame frame;
    frame.function = function;
    frame.known_as = known_as;
    return std::string(profile_name(frame));
  };
  EXPECT_EQ(name("_ZN1AC1Ei", "_ZN1AC2Ei"), "_ZN1AC2Ei");
  EXPECT_EQ(name("_ZN1AD1Ev", "_ZN1AD2Ev"), "_ZN1AD2Ev");
  EXPECT_EQ(name("_ZN1AC2Ei", "_ZN1AC1Ei"), "_ZN1AC2Ei");
  EXPECT_EQ(name("_ZN1AC1Ei", ""), "_ZN1AC1Ei");
  EXPECT_EQ(name("_Z2F1v", "_Z2F2v"), "_Z2F1v");
  EXPECT_EQ(name("__GI_malloc", "malloc"), "__GI_malloc");
}

TEST(FunctionNames, ThatFormatsCannotWriteAreKnown) {
  for (const char* good : {"f", "_Z1fv", "-[Class_method:]"}) {
    EXPECT_TRUE(can_stand_in_profile(good)) << good;
  }
  for (const char* bad : {"", "f g", "f\n", "1f", "[f]", "#f", "!f"}) {
    EXPECT_FALSE(can_stand_in_profile(bad)) << bad;
  }
}

}  // namespace
}  // namespace plimsoll::fdo
