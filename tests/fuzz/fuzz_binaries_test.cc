// Damaged ELF files that are added to the repository of binaries: each is kept whole by the build ID inside of it, or refused.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/checksum.h"
#include "base/file.h"
#include "symbolizer/repository/repository.h"
#include "symbolizer/repository/repository_files.h"
#include "symbolizer/repository/source_archive.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/seed.h"
#include "tests/temporary_directory.h"
#include "tests/unit/elf/part_of.h"
#include "tests/unit/symbolizer/repository/sample_binary.h"
#include "tests/unit/symbolizer/repository/sample_sources.h"

namespace plimsoll::symbolizer {
namespace {

constexpr int kDamagedBinaries = 10'000;
constexpr uint64_t kMaxSampleBytes = 1 << 20;

TEST(FuzzBinaries, DamagedFilesAreKeptByTheirOwnBuildIdOrRefused) {
  const plimsoll::testing::TemporaryDirectory folder;
  const auto repository = *BinaryRepository::open(folder.path(), {.max_file_bytes = kMaxSampleBytes});
  std::mt19937_64 random(fuzz::seed(31));
  const std::vector<std::string> originals{image_of({}), image_of({.kind = BinaryKind::kDebug}),
                                           image_of({.quality = store::SymbolQuality::kDynsym}),
                                           *elf::part_of(image_of({}), elf::BinaryPart::kDebugSections)};
  int kept = 0;
  for (int i = 0; i < kDamagedBinaries; ++i) {
    const std::string image = fuzz::mutated(originals[random() % originals.size()], random);
    // The disk is asked for what may be kept alone, and now and then for the rest.
    const auto facts = examine_binary(as_bytes(image), "damaged");
    if (facts) {
      EXPECT_GE(facts->build_id.size(), kMinBuildIdBytes);
      EXPECT_LE(facts->build_id.size(), kMaxBuildIdBytes);
    }
    if (!facts && i % 16 != 0) {
      continue;
    }
    auto staged = repository->stage();
    ASSERT_TRUE(staged) << staged.error().text();
    ASSERT_TRUE(staged->write(as_bytes(image)));
    const auto added = repository->add(*std::move(staged), {.source = "fuzz", .now_ns = 1});
    EXPECT_TRUE(facts || !added);
    if (added && added->is_new()) {
      ++kept;
      const auto content =
          read_file(kept_path(folder.path(), added->build_id, added->file.kind), kMaxSampleBytes);
      ASSERT_TRUE(content);
      EXPECT_EQ(*content, image);
      EXPECT_EQ(added->file.content_hash, content_hash(as_bytes(image)));
    }
  }
  EXPECT_GT(kept, 10) << "nearly all damage was to headers";
  // What is kept is found again.
  const uint64_t bytes = repository->bytes();
  const auto again = BinaryRepository::open(folder.path(), {.max_file_bytes = kMaxSampleBytes});
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ((*again)->bytes(), bytes);
}

// Whatever is in an archive, a file that it gives is a part of it, under a path that leads nowhere else.
TEST(FuzzBinaries, DamagedSourcesGiveTheirOwnBytesOrNothing) {
  const std::string whole = source_archive_of(
      {{"build/a.c", "int a;\n"}, {std::string(150, 'n'), std::string(600, 'b')}, {"c.h", ""}});
  std::mt19937_64 random(fuzz::seed(33));
  int read = 0;
  for (int i = 0; i < kDamagedBinaries; ++i) {
    const std::string damaged = fuzz::mutated(whole, random);
    const auto sources = SourceArchive::parse(as_bytes(damaged));
    for (const char* path : {"/build/a.c", "c.h", "/../build/a.c"}) {
      const auto content = sources ? sources->find(path) : std::nullopt;
      if (content && !content->empty()) {
        ++read;
        EXPECT_GE(as_text(*content).data(), damaged.data());
        EXPECT_LE(as_text(*content).data() + content->size(), damaged.data() + damaged.size());
        EXPECT_NE(std::string_view(path), "/../build/a.c");
      }
    }
  }
  EXPECT_GT(read, 100) << "most damage is to contents";
}

TEST(FuzzBinaries, DamagedRecordsAreRefused) {
  BinaryRecord record{.build_id = "sample build ID"};
  record.set({.content_hash = "content", .htl_hash = "htl", .source = "alice: app"});
  const std::string whole = encode_record(record);
  std::mt19937_64 random(fuzz::seed(32));
  for (int i = 0; i < kDamagedBinaries; ++i) {
    const std::string damaged = fuzz::mutated(whole, random);
    const auto read = decode_record(damaged);
    EXPECT_TRUE(!read || damaged == whole);
  }
}

}  // namespace
}  // namespace plimsoll::symbolizer
