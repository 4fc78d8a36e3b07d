// Whether totals of the heap are unbiased by site: known allocations, many times in one process, with the library and tcmalloc linked.
// PLIMSOLL_TEST_APPPROF_RUNS sets how many (200 in a soak).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "appprof/heap.h"
#include "appprof/thread_state.h"
#include "tests/e2e/appprof_totals.h"

extern "C" int appprof_get_stack_trace(void** result, int max_depth, int skip) noexcept
    __asm__("_Z13GetStackTracePPvii");

namespace plimsoll::appprof {
namespace {

using Blocks = std::vector<void*>;

[[gnu::always_inline]] inline void allocate(Blocks& blocks, size_t count, size_t bytes) {
  for (size_t i = 0; i < count; ++i) {
    blocks.push_back(std::malloc(bytes));
  }
}

[[gnu::noinline]] void site_of_16(Blocks& blocks) {
  allocate(blocks, 65'536, 16);
}
[[gnu::noinline]] void site_of_1000(Blocks& blocks) {
  allocate(blocks, 4096, 1000);
}  // in a class of 1024
[[gnu::noinline]] void site_of_4096(Blocks& blocks) {
  allocate(blocks, 1024, 4096);
}
[[gnu::noinline]] void site_of_64k(Blocks& blocks) {
  allocate(blocks, 128, 65'536);
}
[[gnu::noinline]] void site_of_300k(Blocks& blocks) {
  allocate(blocks, 20, 300'000);
}  // beyond the classes
[[gnu::noinline]] void site_of_64m(Blocks& blocks) {
  allocate(blocks, 1, size_t{64} << 20);
}

struct Site {
  std::string name;
  void (*allocate)(Blocks&);
  double count;
  double bytes;        // each
  double taken_bytes;  // as tcmalloc rounds up
};
const std::vector<Site>& sites() {
  static const auto* kSites = new std::vector<Site>{{"site_of_16", &site_of_16, 65'536, 16, 16},
                                                    {"site_of_1000", &site_of_1000, 4096, 1000, 1024},
                                                    {"site_of_4096", &site_of_4096, 1024, 4096, 4096},
                                                    {"site_of_64k", &site_of_64k, 128, 65'536, 65'536},
                                                    {"site_of_300k", &site_of_300k, 20, 300'000, 300'000},
                                                    {"site_of_64m", &site_of_64m, 1, 64 << 20, 64 << 20}};
  return *kSites;
}

// Of objects and bytes in use, and of objects and bytes allocated.
using HeapErrors = std::map<std::string, std::array<Errors, 4>>;

HeapErrors errors_by_site(int number_of_runs) {
  std::vector<std::string> names;
  for (const Site& site : sites()) {
    names.push_back(site.name);
  }
  HeapErrors errors;
  // One thread for all runs, so that its random numbers go on.
  std::thread([&] {
    for (int run = 0; run < number_of_runs; ++run) {
      const Profile before = allocation_profile();
      Blocks blocks;
      blocks.reserve(100'000);
      for (const Site& site : sites()) {
        site.allocate(blocks);
      }
      Totals held = totals(heap_profile(), names);
      Totals allocated = totals(difference(before, allocation_profile()), names);
      for (void* block : blocks) {
        std::free(block);
      }
      for (const Site& site : sites()) {
        std::array<Errors, 4>& of = errors[site.name];
        of[0].add(held[site.name][0] / site.count - 1);
        of[1].add(held[site.name][1] / (site.count * site.bytes) - 1);
        of[2].add(allocated[site.name][0] / site.count - 1);
        of[3].add(allocated[site.name][1] / (site.count * site.taken_bytes) - 1);
      }
    }
  }).join();
  return errors;
}

void expect_unbiased(const HeapErrors& errors) {
  const char* kWhat[] = {"objects in use", "bytes in use", "objects allocated", "bytes allocated"};
  // Objects and bytes of a site have the same relative errors.
  const int intervals = 2 * static_cast<int>(errors.size());
  for (const auto& [site, errors_of_site] : errors) {
    for (size_t i = 0; i < 4; ++i) {
      const Errors& of = errors_of_site[i];
      EXPECT_TRUE(of.covers_zero(intervals))
          << site << ", " << kWhat[i] << ": mean error " << of.mean() << " +- " << of.standard_error();
      std::printf("%-14s %-18s mean error %8.4f +- %.4f\n", site.c_str(), kWhat[i], of.mean(),
                  of.standard_error());
    }
  }
}

// The relative standard deviation of a site's bytes in use by Poisson sampling.
double poisson_deviation(const Site& site, double period) {
  const double p = -std::expm1(-site.taken_bytes / period);
  return std::sqrt((1 - p) / (p * site.count));
}

TEST(AppprofAccuracy, HeapAndAllocationsAreUnbiasedBySiteAndSize) {
  const int number_of_runs = runs(100);
  ASSERT_EQ(start_heap(524'288), "") << "tcmalloc must be linked behind the library";
  HeapErrors errors = errors_by_site(number_of_runs);
  stop_heap();
  expect_unbiased(errors);
  for (const Site& site : sites()) {
    // One object of 64 MiB is a sample for sure; those of 16 bytes one in 32,768.
    EXPECT_LT(errors[site.name][1].standard_error() * std::sqrt(number_of_runs),
              2 * poisson_deviation(site, 524'288) + 1e-9)
        << site.name << ": no more than Poisson sampling varies";
  }
}

// Several thousand samples within seconds, of which it takes a few hundred.
TEST(AppprofAccuracy, HeapAndAllocationsAreUnbiasedWhereSamplesAreTooMany) {
  const int number_of_runs = runs(100);
  ASSERT_EQ(start_heap(524'288, /*max_samples_per_second=*/10), "");
  HeapErrors errors = errors_by_site(number_of_runs);
  stop_heap();
  expect_unbiased(errors);
  const Site& small = sites().front();
  EXPECT_GT(errors[small.name][1].standard_error() * std::sqrt(number_of_runs),
            2 * poisson_deviation(small, 524'288))
      << "a sample stands for more";
}

[[gnu::noinline]] void many_of_300k(Blocks& blocks) {
  allocate(blocks, 600, 300'000);
}

// Readers weight a line by its bytes divided by its count.
TEST(AppprofAccuracy, TextsKeepTheSizesOfBlocksWhereSamplesAreTooMany) {
  ASSERT_EQ(start_heap(524'288, /*max_samples_per_second=*/1), "");
  Blocks blocks;
  std::thread([&] { many_of_300k(blocks); }).join();
  std::istringstream text(heap_text());
  stop_heap();
  for (void* block : blocks) {
    std::free(block);
  }
  std::string line;
  std::getline(text, line);
  int of_longer_periods = 0;
  while (std::getline(text, line)) {
    std::istringstream words(line);
    uint64_t count = 0;
    uint64_t bytes = 0;
    char colon = 0;
    if (!(words >> count >> colon >> bytes) || count == 0) {
      break;  // mappings follow
    }
    of_longer_periods += count > 1 && bytes == count * 300'000 ? 1 : 0;
  }
  EXPECT_GT(of_longer_periods, 0) << "samples that count as several";
}

// "heap" and "allocs" have the very same stack of a sample: the one that tcmalloc had taken.
TEST(AppprofAccuracy, ASampleTakesOneStack) {
  ASSERT_EQ(start_heap(524'288), "");
  Blocks blocks;
  std::thread([&] { site_of_64m(blocks); }).join();
  const Profile held = heap_profile();
  const Profile allocated = allocation_profile();
  stop_heap();
  std::free(blocks.at(0));
  int found = 0;
  for (const Sample& sample : held.samples) {
    Profile one;
    one.samples.push_back(sample);
    if (totals(one, {"site_of_64m"})["site_of_64m"][0] > 0) {
      ++found;
      EXPECT_THAT(allocated.samples, ::testing::Contains(::testing::Field(&Sample::stack, sample.stack)));
    }
  }
  EXPECT_GE(found, 1);
}

[[gnu::noinline]] int take_stack_for_tcmalloc() {
  void* stack[31];
  const int depth = appprof_get_stack_trace(stack, 31, 0);
  return stack[0] == nullptr ? 0 : depth;  // no tail call
}

TEST(AppprofAccuracy, AStackIsOfOneSampleAtMost) {
  ASSERT_EQ(start_heap(524'288), "");
  const Profile before = allocation_profile();
  t_state.heap_sample = {size_t{64} << 20, 0};
  EXPECT_GT(take_stack_for_tcmalloc(), 0);
  EXPECT_EQ(t_state.heap_sample.bytes, 0U);
  EXPECT_GT(take_stack_for_tcmalloc(), 0) << "where the heap grows, for instance";
  Totals counted = totals(difference(before, allocation_profile()), {"take_stack_for_tcmalloc"});
  stop_heap();
  EXPECT_NEAR(counted["take_stack_for_tcmalloc"][0], 1, 0.001);
  EXPECT_NEAR(counted["take_stack_for_tcmalloc"][1], 64 << 20, 1000);
}

}  // namespace
}  // namespace plimsoll::appprof
