// Real legacy profiles, read here and by `go tool pprof`: the same values on the same stacks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "base/file.h"
#include "formats/decompress.h"
#include "formats/pprof_reader.h"
#include "formats/read_profile.h"
#include "tests/temporary_directory.h"

namespace plimsoll::formats {
namespace {

using ::testing::SizeIs;
using Addresses = std::vector<uint64_t>;
using ValuesByStack = std::map<Addresses, std::vector<int64_t>>;

ValuesByStack values_by_stack(const ApplicationProfile& profile) {
  ValuesByStack values;
  for (size_t i = 0; i < profile.samples.size(); ++i) {
    Addresses stack;
    for (const uint32_t location : profile.samples.stack(i)) {
      stack.push_back(profile.locations[location].address);
    }
    auto& sums = values[stack];
    sums.resize(profile.types.size());
    for (size_t type = 0; type < sums.size(); ++type) {
      sums[type] += profile.samples.values(i)[type];
    }
  }
  return values;
}

// File of each address: the last part of the path of its mapping.
std::map<uint64_t, std::string> files(const ApplicationProfile& profile) {
  std::map<uint64_t, std::string> files;
  for (const Location& location : profile.locations) {
    std::string& file = files[location.address];
    if (location.mapping_plus_1 != 0) {
      file = profile.mappings[location.mapping_plus_1 - 1].path;
    }
  }
  return files;
}

class PprofCorpus : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const char* const corpus = std::getenv("PLIMSOLL_CORPUS");
    if (corpus == nullptr) {
      GTEST_SKIP() << "no corpus";
    }
    if (std::system("go version >/dev/null 2>&1") != 0) {
      GTEST_SKIP() << "go is not installed";
    }
    path_ = std::string(corpus) + "/pprof/" + GetParam();
  }

  Result<ApplicationProfile> by_us() const {
    const auto content = read_file(path_, 1 << 20);
    return content ? read_profile(as_bytes(*content)) : propagate(content);
  }

  // What pprof makes of the file, written in its own format.
  Result<ApplicationProfile> by_pprof() const {
    const std::string output = folder_ / "profile.pb.gz";
    const std::string command = "HOME=" + folder_.path() + " PPROF_TMPDIR=" + folder_.path() +
                                " go tool pprof -symbolize=none -proto -output=" + output + " " + path_ +
                                " >" + (folder_ / "log") + " 2>&1";
    EXPECT_EQ(std::system(command.c_str()), 0) << read_file(folder_ / "log", 1 << 16).value_or("");
    const auto compressed = read_file(output, 1 << 20);
    const auto content = compressed ? decompress(as_bytes(*compressed), 1 << 26) : propagate(compressed);
    return content ? read_pprof(as_bytes(*content)) : propagate(content);
  }

 private:
  std::string path_;
  plimsoll::testing::TemporaryDirectory folder_;
};

TEST_P(PprofCorpus, HasTheValuesThatPprofReads) {
  const auto ours = by_us();
  const auto theirs = by_pprof();
  ASSERT_TRUE(ours) << ours.error().text();
  ASSERT_TRUE(theirs) << theirs.error().text();
  EXPECT_THAT(ours->types, SizeIs(theirs->types.size()));
  ValuesByStack our_values = values_by_stack(*ours);
  our_values.erase(Addresses{});  // pprof leaves out values without a stack
  EXPECT_EQ(our_values, values_by_stack(*theirs));
  EXPECT_GT(our_values.size(), 3);
}

TEST_P(PprofCorpus, HasTheFilesThatPprofFinds) {
  const auto ours = by_us();
  const auto theirs = by_pprof();
  ASSERT_TRUE(ours && theirs);
  EXPECT_EQ(files(*ours), files(*theirs));
}

INSTANTIATE_TEST_SUITE_P(Legacy, PprofCorpus,
                         ::testing::Values("cppbench.heap", "cppbench.growth", "cppbench.contention",
                                           "gobench.heap"),
                         [](const auto& name) {
                           std::string text = name.param;
                           std::ranges::replace(text, '.', '_');
                           return text;
                         });

}  // namespace
}  // namespace plimsoll::formats
