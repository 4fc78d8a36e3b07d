// One program with each form of debug information that compilers and tools give it: what we and llvm-symbolizer-19 say of
// random addresses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "tests/places.h"
#include "tests/symbols/comparison.h"

namespace plimsoll::testing {
namespace {

using ::testing::IsEmpty;

constexpr double kMinShare = 0.999;

// As many and those that a long run asks for, else always the same.
uint64_t setting(const char* variable, uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

std::string variant_path(const std::string& name) {
  return built_file("symbol_mix/") + name;
}

struct Variant {
  std::string name;
  // Names of other files.
  std::string supplement = {};
  std::string package = {};
  std::string asked = {};
};

void PrintTo(const Variant& variant, std::ostream* stream) {
  *stream << variant.name;
}

AskedFiles files_of(const Variant& variant) {
  const auto path = [](const std::string& name) { return name.empty() ? name : variant_path(name); };
  return {{.binary = path(variant.name),
           .debug = {},
           .supplement = path(variant.supplement),
           .package = path(variant.package)},
          path(variant.asked)};
}

void expect_agreement(const std::string& name, const AskedFiles& files) {
  const size_t addresses = setting("PLIMSOLL_TEST_SYMBOL_ADDRESSES", 20'000);
  const auto agreement = compare_with_llvm(files, addresses, setting("PLIMSOLL_TEST_SYMBOL_SEED", 1));
  ASSERT_TRUE(agreement) << agreement.error().text();
  std::printf("%s: %s\n%s", name.c_str(), agreement->summary().c_str(), agreement->details().c_str());
  EXPECT_THAT(agreement->problems(), IsEmpty());
  EXPECT_EQ(agreement->compared(), addresses);
  EXPECT_LT(agreement->unknown_to_them(), addresses / 10) << "there is something to compare";
  EXPECT_GE(agreement->share(), kMinShare);
}

class EachVariant : public ::testing::TestWithParam<Variant> {};

TEST_P(EachVariant, HasTheChainsThatLlvmSymbolizerTells) {
  expect_agreement(GetParam().name, files_of(GetParam()));
}

TEST(Rust, HasTheChainsThatLlvmSymbolizerTells) {
  expect_agreement("rust", {{.binary = variant_path("rust")}});
}

TEST(Go, HasTheChainsThatLlvmSymbolizerTells) {
  expect_agreement("go", {{.binary = built_file("go_load")}});
}

const auto kNameOf = [](const auto& tested) { return tested.param.name; };

INSTANTIATE_TEST_SUITE_P(
    Gcc, EachVariant,
    ::testing::Values(Variant{"gcc_2"}, Variant{"gcc_3"}, Variant{"gcc_4"}, Variant{"gcc_5"},
                      Variant{"gcc_lines"}, Variant{"gcc_64"}, Variant{"gcc_types"}, Variant{"gcc_sections"},
                      Variant{"gcc_lto"}, Variant{"gcc_split_4"}, Variant{"gcc_split_5"},
                      Variant{"gcc_package_4", "", "gcc_package_4.dwp"},
                      Variant{"gcc_package_5", "", "gcc_package_5.dwp"}, Variant{"gcc_zlib"},
                      Variant{"gcc_zlib_gnu", "", "", "gcc_4"}, Variant{"gcc_zstd"}, Variant{"gcc_dwz_4"},
                      Variant{"gcc_dwz_5"},
                      Variant{"gcc_supplement_4", "gcc_supplement_4.shared", "", "gcc_4"},
                      Variant{"gcc_supplement_5", "gcc_supplement_5.shared", "", "gcc_5"}),
    kNameOf);

INSTANTIATE_TEST_SUITE_P(Clang, EachVariant,
                         ::testing::Values(Variant{"clang_2"}, Variant{"clang_3"}, Variant{"clang_4"},
                                           Variant{"clang_5"}, Variant{"clang_lines"}, Variant{"clang_64"},
                                           Variant{"clang_types"}, Variant{"clang_names"},
                                           Variant{"clang_sections"}, Variant{"clang_split_4"},
                                           Variant{"clang_split_5"}, Variant{"clang_split_lines"},
                                           Variant{"clang_package_4", "", "clang_package_4.dwp"},
                                           Variant{"clang_package_5", "", "clang_package_5.dwp"},
                                           Variant{"clang_zlib"}, Variant{"clang_zstd"}),
                         kNameOf);

const ChainFrame kInner{"inner", "/a.h", 3};
const ChainFrame kOuter{"outer", "/a.c", 9};

TEST(Difference, OfEqualChainsIsNone) {
  EXPECT_EQ(difference({kInner, kOuter}, {kInner, kOuter}), "");
  EXPECT_EQ(difference({}, {}), "");
}

TEST(Difference, NamesTheInnermostFrameThatDiffersAndWhatDiffersInIt) {
  EXPECT_EQ(difference({{"inner", "/b.h", 4}, kOuter}, {kInner, {"outer", "/b.c", 9}}),
            "file, line of the innermost frame");
  EXPECT_EQ(difference({kInner, {"outer.cold", "/a.c", 9}}, {kInner, kOuter}),
            "function of the outermost frame");
  EXPECT_EQ(difference({{"inner", "/a.h", 0}}, {kInner}), "line (ours is 0) of the only frame");
}

TEST(Difference, ComparesDepthBeforeFrames) {
  EXPECT_EQ(difference({kOuter}, {kInner, kOuter}), "fewer frames than theirs");
  EXPECT_EQ(difference({kInner, kOuter}, {kOuter}), "more frames than theirs");
  EXPECT_EQ(difference({}, {kOuter}), "unknown to us");
  EXPECT_EQ(difference({kOuter}, {}), "unknown to them");
}

}  // namespace
}  // namespace plimsoll::testing
