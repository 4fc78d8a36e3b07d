// Entropy and Manhattan distance, against numpy on the same tables.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <random>
#include <sstream>

#include "statistics/stability/distance.h"
#include "statistics/stability/entropy.h"
#include "tests/temporary_directory.h"

namespace plimsoll::statistics {
namespace {

struct ProfilePair {
  size_t top = 0;
  std::vector<double> x, y;
};

// What a fleet's functions look like: a few large, many small, some on one side alone, equal counts among the small ones.
ProfilePair random_pair(std::mt19937_64& random) {
  const auto below = [&](size_t end) { return static_cast<size_t>(random() % end); };
  ProfilePair pair{.top = 1 + below(40), .x = {}, .y = {}};
  std::lognormal_distribution<double> size(0, 2);
  std::lognormal_distribution<double> change(0, 0.3);
  const bool counts = below(2) == 0;
  for (size_t rows = 1 + below(120); rows > 0; --rows) {
    const double x = below(8) == 0 ? 0 : size(random);
    const double y = below(8) == 0 ? 0 : below(10) == 0 ? size(random) : x * change(random);
    pair.x.push_back(counts ? std::floor(x) : x);
    pair.y.push_back(counts ? std::floor(y) : y);
  }
  pair.x[0] += 1;
  pair.y[0] += 1;
  return pair;
}

// For each pair three lines in: top, x, y; and one out: entropies of x and y, the distance of their tops.
constexpr const char* kScript = R"(
import sys
import numpy

def entropy(values):
    shares = values[values > 0] / values.sum()
    return -(shares * numpy.log2(shares)).sum()

def top(values, count):
    largest = numpy.argsort(-values, kind='stable')[:count]
    return largest[values[largest] > 0]

lines = open(sys.argv[1]).read().splitlines()
for count, x, y in zip(lines[0::3], lines[1::3], lines[2::3]):
    x, y = (numpy.array(line.split(), dtype=numpy.float64) for line in (x, y))
    rows = numpy.union1d(top(x, int(count)), top(y, int(count)))
    distance = numpy.abs(x / x.sum() - y / y.sum())[rows].sum()
    print(repr(float(entropy(x))), repr(float(entropy(y))), repr(float(distance)))
)";

std::string output_of(const std::string& command) {
  std::string output;
  FILE* const pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) {
    return output;
  }
  std::array<char, 4096> buffer{};
  for (size_t got = 0; (got = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
    output.append(buffer.data(), got);
  }
  EXPECT_EQ(::pclose(pipe), 0) << command << " failed: is python3-numpy installed (scripts/install.sh)?";
  return output;
}

TEST(Numpy, SaysTheSameOfEntropiesAndDistances) {
  std::mt19937_64 random(20261122);
  std::vector<ProfilePair> pairs;
  for (int i = 0; i < 500; ++i) {
    pairs.push_back(random_pair(random));
  }
  const testing::TemporaryDirectory folder;
  std::ofstream(folder / "script.py") << kScript;
  std::ofstream tables(folder / "tables");
  for (const ProfilePair& pair : pairs) {
    tables << pair.top << '\n';
    for (const auto* values : {&pair.x, &pair.y}) {
      for (const double value : *values) {
        tables << fmt::format("{} ", value);
      }
      tables << '\n';
    }
  }
  tables.close();
  std::istringstream numbers(
      output_of(fmt::format("/usr/bin/python3 '{}' '{}'", folder / "script.py", folder / "tables")));
  double distances = 0;
  for (const ProfilePair& pair : pairs) {
    std::array<double, 3> expected{};
    for (double& number : expected) {
      ASSERT_TRUE(numbers >> number);
    }
    EXPECT_NEAR(entropy(pair.x), expected[0], 1e-12);
    EXPECT_NEAR(entropy(pair.y), expected[1], 1e-12);
    EXPECT_NEAR(manhattan_distance(pair.x, pair.y, pair.top), expected[2], 1e-12);
    distances += expected[2];
  }
  EXPECT_GT(distances, 50) << "the pairs differ";
}

}  // namespace
}  // namespace plimsoll::statistics
