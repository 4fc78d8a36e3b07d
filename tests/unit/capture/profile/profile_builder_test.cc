#include "capture/profile/profile_builder.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "tests/unit/capture/profile/profile_text.h"

namespace plimsoll {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::shared_ptr<identity::ProcessIdentity> program(uint32_t pid, const std::string& name,
                                                   const identity::BinaryInfo* binary = nullptr) {
  auto identity = std::make_shared<identity::ProcessIdentity>();
  identity->pid = pid;
  identity->comm = name;
  identity->executable = "/bin/" + name;
  identity->binary = binary;
  identity->cgroup = "/docker/0123456789abcdef";
  return identity;
}

// A builder with two threads and some code to be in.
class ProfileBuilderTest : public ::testing::Test {
 protected:
  uint32_t code(ProfileBuilder& builder, uint64_t address) const {
    return builder.location(wire::ELF, builder.binary(&binary_), address);
  }
  uint32_t stack(ProfileBuilder& builder, const std::vector<uint64_t>& leaf_first) const {
    std::vector<uint32_t> locations;
    for (const uint64_t address : leaf_first) {
      locations.push_back(code(builder, address));
    }
    return builder.stack(locations);
  }
  uint32_t thread(ProfileBuilder& builder, uint32_t tid) const {
    return builder.thread(builder.process(job_), tid, fmt::format("thread {}", tid));
  }

  const identity::BinaryInfo binary_{wire::GNU_BUILD_ID, "id", "/bin/job", {}};
  const std::shared_ptr<identity::ProcessIdentity> job_ = program(7, "job", &binary_);
};

TEST_F(ProfileBuilderTest, SumsHitsOfTheSameThreadAndStack) {
  ProfileBuilder builder;
  builder.add_hit(0, thread(builder, 8), stack(builder, {3, 2, 1}));
  builder.add_hit(0, thread(builder, 8), stack(builder, {3, 2, 1}));
  builder.add_hit(0, thread(builder, 9), stack(builder, {3, 2, 1}));
  builder.add_hit(1, thread(builder, 8), stack(builder, {3, 2, 1}));
  builder.add_hit(1, thread(builder, 8), 0);
  EXPECT_EQ(builder.hits(), 5);
  const wire::RawProfile profile = finished(builder);
  EXPECT_THAT(sample_lines(profile),
              ElementsAre("cpu-clock 7/8 elf:1;elf:2;elf:3 2", "cpu-clock 7/9 elf:1;elf:2;elf:3 1",
                          "page-faults 7/8  1", "page-faults 7/8 elf:1;elf:2;elf:3 1"));
  EXPECT_EQ(profile.events(0).hits(), 3);
  EXPECT_EQ(profile.events(1).hits(), 2);
}

TEST_F(ProfileBuilderTest, StacksShareTheirOutermostFrames) {
  ProfileBuilder builder;
  const uint32_t inner = stack(builder, {3, 2, 1});
  EXPECT_EQ(stack(builder, {3, 2, 1}), inner);
  EXPECT_NE(stack(builder, {4, 2, 1}), inner);
  EXPECT_NE(stack(builder, {2, 1}), inner);
  EXPECT_NE(stack(builder, {1, 2, 3}), inner);
  EXPECT_EQ(stack(builder, {}), 0);
  const wire::RawProfile profile = finished(builder);
  EXPECT_EQ(profile.stacks().parent_size(), 1 + 1 + 2 + 3);
  EXPECT_EQ(profile.locations().kind_size(), 4);
}

TEST_F(ProfileBuilderTest, NodesLeadBackToTheStacksThatWereGiven) {
  // Few locations, so that stacks share beginnings and are beginnings of each other.
  std::mt19937_64 random(1);
  ProfileBuilder builder;
  std::map<std::vector<uint64_t>, uint32_t> nodes;  // leaf first
  for (int step = 0; step < 5'000; ++step) {
    std::vector<uint64_t> addresses(1 + random() % 12);
    std::ranges::generate(addresses, [&] { return 1 + random() % 3; });
    addresses.back() = 1 + random() % 200;
    const uint32_t node = stack(builder, addresses);
    ASSERT_EQ(nodes.try_emplace(addresses, node).first->second, node) << "step " << step;
  }
  const wire::RawProfile profile = finished(builder);
  for (const auto& [addresses, node] : nodes) {
    std::vector<uint64_t> walked;
    for (uint32_t at = node; at != 0; at = profile.stacks().parent(static_cast<int>(at) - 1)) {
      const uint32_t location = profile.stacks().location(static_cast<int>(at) - 1);
      walked.push_back(profile.locations().address(static_cast<int>(location)));
    }
    ASSERT_EQ(walked, addresses);
  }
}

TEST_F(ProfileBuilderTest, InternsWhatRepeats) {
  ProfileBuilder builder;
  const identity::KernelImage kernel{.name = "[kernel]", .build_id = "k", .symbols = {}};
  EXPECT_EQ(builder.binary(&binary_), builder.binary(&binary_));
  EXPECT_EQ(builder.kernel_binary(kernel), builder.kernel_binary(kernel));
  EXPECT_NE(builder.kernel_binary(kernel), builder.binary(&binary_));
  EXPECT_EQ(builder.process(job_), builder.process(job_));
  EXPECT_NE(builder.process(program(7, "job")), builder.process(job_)) << "after exec it is another";
  EXPECT_EQ(thread(builder, 8), thread(builder, 8));
  EXPECT_NE(builder.thread(0, 8, "renamed"), builder.thread(0, 8, "thread 8"));
  EXPECT_EQ(builder.bpf_location("bpf_prog"), builder.bpf_location("bpf_prog"));
  EXPECT_NE(builder.location(wire::ELF, 0, 1), builder.location(wire::ELF_FILE_OFFSET, 0, 1));
}

TEST_F(ProfileBuilderTest, FinishesAProfileThatIsValid) {
  ProfileBuilder builder;
  const identity::KernelImage kernel{.name = "[kernel]", .build_id = "", .symbols = {}};
  const std::vector<uint32_t> frames{builder.bpf_location("bpf_prog"),
                                     builder.location(wire::KERNEL, builder.kernel_binary(kernel), 16),
                                     builder.location(wire::JIT, builder.process(job_), 99),
                                     builder.location(wire::UNRESOLVED, 0, 0), code(builder, 1)};
  builder.add_hit(0, thread(builder, 8), builder.stack(frames));
  builder.add_throttle(1);
  builder.count_problem(wire::TOO_DEEP);
  builder.count_problem(wire::TOO_DEEP);
  const wire::RawProfile profile = finished(builder);
  const auto valid = wire::validate(profile);
  EXPECT_TRUE(valid.has_value()) << valid.error().text();
  EXPECT_EQ(profile.events(1).throttles(), 1);
  EXPECT_THAT(problem_lines(profile), ElementsAre("TOO_DEEP 2"));
  const wire::Process& process = profile.processes(0);
  EXPECT_EQ(process.pid(), 7);
  EXPECT_EQ(process.job(), "job");
  EXPECT_EQ(process.container(), "0123456789abcdef");
  EXPECT_EQ(profile.binaries(static_cast<int>(process.binary_plus_1()) - 1).path(), "/bin/job");
}

TEST_F(ProfileBuilderTest, ReadsAnIdentityAtTheEndWhenItIsComplete) {
  ProfileBuilder builder;
  builder.add_hit(0, thread(builder, 8), 0);
  job_->comm = "renamed";
  EXPECT_EQ(finished(builder).processes(0).comm(), "renamed");
}

TEST_F(ProfileBuilderTest, StartsAfreshAfterFinishing) {
  ProfileBuilder builder;
  builder.add_hit(0, thread(builder, 8), stack(builder, {1}));
  builder.count_problem(wire::TOO_DEEP);
  finished(builder);
  EXPECT_EQ(builder.hits(), 0);
  const wire::RawProfile empty = finished(builder);
  EXPECT_TRUE(wire::validate(empty).has_value());
  EXPECT_THAT(sample_lines(empty), IsEmpty());
  EXPECT_THAT(problem_lines(empty), IsEmpty());
}

TEST_F(ProfileBuilderTest, ATableFullOfNodesCostsTheStackNotTheHit) {
  ProfileBuilder builder({.max_stack_nodes = 3});
  builder.add_hit(0, thread(builder, 8), stack(builder, {2, 1}));
  builder.add_hit(0, thread(builder, 8), stack(builder, {4, 3}));
  const wire::RawProfile profile = finished(builder);
  EXPECT_THAT(sample_lines(profile), ElementsAre("cpu-clock 7/8  1", "cpu-clock 7/8 elf:1;elf:2 1"));
  EXPECT_THAT(problem_lines(profile), ElementsAre("TABLE_FULL 1"));
}

TEST_F(ProfileBuilderTest, ATableFullOfLocationsKeepsTheStacksItKnows) {
  ProfileBuilder builder({.max_locations = 2});
  builder.add_hit(0, thread(builder, 8), stack(builder, {2, 1}));
  builder.add_hit(0, thread(builder, 8), stack(builder, {3, 1}));
  builder.add_hit(0, thread(builder, 8), builder.stack(std::vector{builder.bpf_location("bpf_prog")}));
  builder.add_hit(0, thread(builder, 8), stack(builder, {2, 1}));
  const wire::RawProfile profile = finished(builder);
  EXPECT_EQ(profile.locations().kind_size(), 2);
  EXPECT_THAT(profile.frames(), IsEmpty());
  EXPECT_THAT(sample_lines(profile), ElementsAre("cpu-clock 7/8  2", "cpu-clock 7/8 elf:1;elf:2 2"));
  EXPECT_THAT(problem_lines(profile), ElementsAre("TABLE_FULL 2"));
}

TEST_F(ProfileBuilderTest, ATableFullOfSamplesKeepsTheirThreads) {
  ProfileBuilder builder({.max_samples = 1});
  builder.add_hit(0, thread(builder, 8), stack(builder, {1}));
  builder.add_hit(0, thread(builder, 8), stack(builder, {1}));
  builder.add_hit(0, thread(builder, 9), stack(builder, {1}));
  builder.add_hit(0, thread(builder, 9), stack(builder, {2}));
  builder.add_hit(0, thread(builder, 9), 0);
  const wire::RawProfile profile = finished(builder);
  EXPECT_THAT(sample_lines(profile), ElementsAre("cpu-clock 7/8 elf:1 2", "cpu-clock 7/9  3"));
  EXPECT_THAT(problem_lines(profile), ElementsAre("TABLE_FULL 2")) << "the last one had no stack to lose";
}

TEST_F(ProfileBuilderTest, TheOrderOfSamplesDoesNotMatter) {
  struct Sample {
    uint32_t event, tid;
    std::vector<uint64_t> leaf_first;
  };
  std::mt19937_64 random(1);
  std::vector<Sample> samples;
  for (int i = 0; i < 500; ++i) {
    Sample sample{static_cast<uint32_t>(random() % 2), static_cast<uint32_t>(random() % 3), {}};
    for (uint64_t depth = random() % 5; depth > 0; --depth) {
      sample.leaf_first.push_back(random() % 3);
    }
    samples.push_back(std::move(sample));
  }
  std::vector<std::string> first;
  for (int order = 0; order < 5; ++order) {
    ProfileBuilder builder;
    for (const Sample& sample : samples) {
      builder.add_hit(sample.event, thread(builder, sample.tid), stack(builder, sample.leaf_first));
    }
    const wire::RawProfile profile = finished(builder);
    ASSERT_TRUE(wire::validate(profile).has_value());
    const auto lines = sample_lines(profile);
    EXPECT_EQ(std::set<std::string>(lines.begin(), lines.end()).size(), lines.size()) << "a row came twice";
    first = order == 0 ? lines : first;
    EXPECT_EQ(lines, first);
    std::ranges::shuffle(samples, random);
  }
}

TEST(AddKernelSymbols, WritesThemOnceForEachImage) {
  const auto kernel = identity::KernelMap::parse(
      "ffffffff81000000 T _text\nffffffff81000010 T start\nffffffff81003000 T _etext\nffffffffc0000100 t "
      "open\t[fs]\n",
      "fs 4096 1 - Live 0xffffffffc0000000\n", "k", {});
  ASSERT_TRUE(kernel.has_value());
  ProfileBuilder builder;
  builder.kernel_binary(kernel->images()[0]);
  wire::RawProfile profile = finished(builder);
  add_kernel_symbols(*kernel, profile);
  EXPECT_TRUE(wire::validate(profile).has_value());
  ASSERT_EQ(profile.binaries_size(), 2) << "the kernel was there, the module was not";
  const auto& images = profile.kernel_symbols().images();
  ASSERT_EQ(images.size(), 2);
  EXPECT_EQ(images[0].binary(), 0);
  EXPECT_THAT(images[0].offset_delta(), ElementsAre(0, 16));
  EXPECT_EQ(images[0].names(), std::string("_text\0start\0", 12));
  EXPECT_EQ(profile.binaries(static_cast<int>(images[1].binary())).path(), "fs");
  EXPECT_THAT(images[1].offset_delta(), ElementsAre(0x100));
}

}  // namespace
}  // namespace plimsoll
