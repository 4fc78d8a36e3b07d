// One program with each form of debug information that libdw reads: what it and our own reader say of random addresses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "tests/places.h"
#include "tests/symbols/comparison.h"

namespace plimsoll::testing::libdw {
namespace {

constexpr double kMinShare = 0.999;
constexpr size_t kAddresses = 20'000;

std::string variant_path(const std::string& name) {
  return built_file("symbol_mix/") + name;
}

class EachForm : public ::testing::TestWithParam<const char*> {};

// Split DWARF is ours alone, since libdw would open the files that it names.
INSTANTIATE_TEST_SUITE_P(Gcc, EachForm,
                         ::testing::Values("gcc_2", "gcc_3", "gcc_4", "gcc_5", "gcc_lines", "gcc_64",
                                           "gcc_types", "gcc_sections", "gcc_lto", "gcc_zlib", "gcc_zlib_gnu",
                                           "gcc_zstd", "gcc_dwz_4", "gcc_dwz_5", "gcc_supplement_4",
                                           "gcc_supplement_5"));
INSTANTIATE_TEST_SUITE_P(Clang, EachForm,
                         ::testing::Values("clang_2", "clang_3", "clang_4", "clang_5", "clang_lines",
                                           "clang_64", "clang_types", "clang_names", "clang_sections",
                                           "clang_zlib", "clang_zstd"));
INSTANTIATE_TEST_SUITE_P(Rust, EachForm, ::testing::Values("rust"));

BinaryFiles files_of(const std::string& name) {
  const bool has_supplement = name.find("supplement") != std::string::npos;
  return {.binary = variant_path(name),
          .debug = {},
          .supplement = has_supplement ? variant_path(name + ".shared") : std::string()};
}

TEST_P(EachForm, HasTheSameChainsFromBothReaders) {
  const BinaryFiles files = files_of(GetParam());
  const auto agreement = compare_with_libdw(files, kAddresses, 1);
  ASSERT_TRUE(agreement) << agreement.error().text();
  std::printf("%s: %s\n%s", GetParam(), agreement->summary().c_str(), agreement->details().c_str());
  EXPECT_LT(agreement->unknown_to_them(), kAddresses / 10) << "there is something to compare";
  EXPECT_GE(agreement->share(), kMinShare);
}

TEST_P(EachForm, IsReadByLibdwAloneWhereThatIsAsked) {
  const auto table = BinaryTable::build(files_of(GetParam()), symbolizer::ReaderChoice::kSecondAlone);
  ASSERT_TRUE(table) << table.error().text();
  EXPECT_GT(table->readers().asked, 0);
  EXPECT_EQ(table->readers().damaged, 0);
}

}  // namespace
}  // namespace plimsoll::testing::libdw
