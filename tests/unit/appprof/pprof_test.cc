// What the library writes, read by the readers of formats/, which know nothing of it.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "appprof/locks.h"
#include "appprof/pprof_writer.h"
#include "appprof/symbols.h"
#include "appprof/unwind.h"
#include "formats/read_profile.h"

namespace plimsoll::appprof {
namespace {

formats::ApplicationProfile read(const std::string& content) {
  auto profile = formats::read_profile({reinterpret_cast<const std::byte*>(content.data()), content.size()});
  EXPECT_TRUE(profile) << (profile ? "" : profile.error().message);
  return profile ? *std::move(profile) : formats::ApplicationProfile{};
}

[[gnu::noinline]] std::vector<uintptr_t> stack_here() {
  uintptr_t frames[kMaxFrames];
  const size_t depth =
      take_stack(frames, kMaxFrames, reinterpret_cast<uintptr_t>(__builtin_return_address(0)));
  return {frames, frames + depth};
}

Profile two_samples() {
  Profile profile;
  profile.types = {{"contentions", "count"}, {"delay", "nanoseconds"}};
  profile.period_type = {"contentions", "count"};
  profile.period = 1;
  profile.time_ns = 2'000'000'000;
  profile.duration_ns = 500'000'000;
  Sample& sample = profile.samples.emplace_back();
  sample.stack = stack_here();
  sample.values = {2.6, 1e12};
  sample.labels = {{"request", "search"}};
  Sample& lost = profile.samples.emplace_back();
  lost.stand_in = "[sites beyond the table]";
  lost.values = {1, 7};
  return profile;
}

TEST(AppprofPprof, IsReadWithMappingsBuildIdsValuesAndLabels) {
  const Profile written = two_samples();
  const std::string packed =
      gzip(write_pprof(written, CodeMap::read(), {{"job", "test"}, {"request", "of the process"}}));
  const formats::ApplicationProfile profile = read(packed);
  ASSERT_EQ(profile.samples.size(), 2);
  EXPECT_EQ(profile.types,
            (std::vector<formats::ValueType>{{"contentions", "count"}, {"delay", "nanoseconds"}}));
  EXPECT_EQ(profile.duration_ns, 500'000'000);
  EXPECT_EQ(profile.samples.values(0)[0], 3);
  EXPECT_EQ(profile.samples.values(0)[1], 1'000'000'000'000);
  std::map<std::string, std::string> labels;
  for (const auto& [key, value] : profile.label_sets[profile.samples.label_set(0)]) {
    labels[profile.texts[key]] = profile.texts[value];
  }
  EXPECT_EQ(labels, (std::map<std::string, std::string>{{"job", "test"}, {"request", "search"}}));
  const formats::Location& leaf = profile.locations[profile.samples.stack(0)[0]];
  EXPECT_EQ(leaf.address, written.samples[0].stack[0] - 1) << "in the call, not behind it";
  ASSERT_EQ(leaf.mapping_plus_1, 1) << "the main program is the first mapping";
  EXPECT_THAT(profile.mappings[0].path, ::testing::EndsWith("appprof_test"));
  EXPECT_EQ(profile.mappings[0].build_id.size(), 20);
  const formats::Location& stand_in = profile.locations[profile.samples.stack(1)[0]];
  ASSERT_EQ(stand_in.frame_count, 1);
  EXPECT_EQ(profile.texts[profile.functions[profile.frames[stand_in.first_frame].function].name],
            "[sites beyond the table]");
}

TEST(AppprofPprof, ContentionTextIsReadWithTheSameValues) {
  const formats::ApplicationProfile profile = read(contention_text(two_samples()));
  ASSERT_EQ(profile.samples.size(), 1);
  EXPECT_EQ(profile.samples.values(0)[0], 3);
  EXPECT_EQ(profile.samples.values(0)[1], 1'000'000'000'000);
  EXPECT_EQ(profile.discarded, 1);
}

TEST(AppprofPprof, ADifferenceHasWhatCameSince) {
  Profile later = two_samples();
  const Profile earlier = later;
  later.samples[0].values = {4, 1e12 + 5};
  later.monotonic_ns += 1'000'000'000;
  later.time_ns -= 3'600'000'000'000;  // meanwhile the clock was set back
  const Profile changed = difference(earlier, later);
  ASSERT_EQ(changed.samples.size(), 1);
  EXPECT_NEAR(changed.samples[0].values[0], 1.4, 1e-9);
  EXPECT_EQ(changed.samples[0].values[1], 5);
  EXPECT_EQ(changed.duration_ns, 1'000'000'000);
}

TEST(AppprofSymbols, NamesFunctionsOfThisProgram) {
  const CodeMap code = CodeMap::read();
  const std::vector<uintptr_t> stack = stack_here();
  ASSERT_FALSE(stack.empty());
  const std::vector<std::string> names = names_of(
      code, std::vector<uintptr_t>{stack[0] - 1, 1, reinterpret_cast<uintptr_t>(&::fopen), stack[0] - 1});
  EXPECT_THAT(names[0], ::testing::HasSubstr("NamesFunctionsOfThisProgram"));
  EXPECT_EQ(names[1], "");
  EXPECT_THAT(names[2], ::testing::HasSubstr("fopen"));
  EXPECT_EQ(names[3], names[0]);
}

TEST(AppprofSymbols, ACutFileHasNoneAndHarmsNothing) {
  const std::vector<uint64_t> addresses = {0, 1, 0x1000, 0x100'000, UINT64_MAX};
  std::string whole = read_file("/proc/self/exe");
  for (const size_t size :
       {size_t{0}, size_t{3}, size_t{63}, size_t{64}, size_t{1000}, whole.size() / 2, whole.size() - 100}) {
    const int file = ::memfd_create("cut", MFD_CLOEXEC);
    ASSERT_EQ(::write(file, whole.data(), size), static_cast<ssize_t>(size));
    names_in_file(file, addresses);
    ::close(file);
  }
  // Every field of the head, wild.
  for (size_t at = 16; at < 64; ++at) {
    std::string wild = whole.substr(0, 64) + whole.substr(64, 1 << 16);
    wild[at] = '\xff';
    const int file = ::memfd_create("wild", MFD_CLOEXEC);
    ASSERT_EQ(::write(file, wild.data(), wild.size()), static_cast<ssize_t>(wild.size()));
    names_in_file(file, addresses);
    ::close(file);
  }
}

TEST(AppprofMappings, ReadsExecutableLines) {
  const auto mappings = parse_maps(
      "7f0000000000-7f0000001000 r--p 00000000 08:01 12 /usr/lib/a.so\n"
      "7f0000001000-7f0000003000 r-xp 00001000 08:01 12 /usr/lib/with blank.so (deleted)\n"
      "7ffe00000000-7ffe00002000 r-xp 00000000 00:00 0 [vdso]\nnonsense\n");
  ASSERT_EQ(mappings.size(), 2);
  EXPECT_EQ(mappings[0].begin, 0x7f0000001000);
  EXPECT_EQ(mappings[0].file_offset, 0x1000);
  EXPECT_EQ(mappings[0].path, "/usr/lib/with blank.so");
  EXPECT_EQ(mappings[1].path, "[vdso]");
}

TEST(AppprofMappings, NotesThatLieAboutTheirSizeHaveNoBuildId) {
  struct {
    uint32_t name_size, size, type;
    char name[4];
    unsigned char id[4];
  } note = {4, 4, 3, {'G', 'N', 'U', 0}, {0x01, 0xab, 0xcd, 0xef}};
  EXPECT_EQ(build_id_of_notes(&note, sizeof(note), 4), "01abcdef");
  note.size = 5;
  EXPECT_EQ(build_id_of_notes(&note, sizeof(note), 4), "");
  note.size = UINT32_MAX;
  note.name_size = UINT32_MAX;
  EXPECT_EQ(build_id_of_notes(&note, sizeof(note), 4), "");
}

}  // namespace
}  // namespace plimsoll::appprof
