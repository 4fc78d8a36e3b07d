// The manifest and the packs of raw profiles in an object store, as text and bytes.
#include <gtest/gtest.h>

#include <string>

#include "store/archive/archive.h"
#include "store/objects/manifest.h"
#include "store/objects/profile_pack.h"

namespace plimsoll::store {
namespace {

TEST(ObjectManifestTest, SaysWhereRowsAreAndIsOfALaterVersionThen) {
  Manifest manifest{.directory_id = std::string(16, '\1'), .writer = std::string(16, '\2')};
  EXPECT_TRUE(to_text(manifest).starts_with("plimsoll-objects 1\n"));
  manifest.rows = "clickhouse://a,b/p";
  EXPECT_TRUE(to_text(manifest).starts_with("plimsoll-objects 2\n"))
      << "a program that does not know of them would lose them";
  const auto read = parse_manifest(to_text(manifest));
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(*read, manifest);
  EXPECT_EQ(parse_manifest("plimsoll-objects 4\n").error().code, ErrorCode::kUnsupported);
}

TEST(ObjectManifestTest, IsWhatWasWritten) {
  Manifest manifest{.directory_id = std::string(16, '\1'), .writer = std::string(16, '\2'), .written_ns = 3};
  manifest.set("FORMAT", {.bytes = 2, .hash = std::string(32, 'a'), .version = -7}, 0);
  manifest.set("FORMAT", {.bytes = 3, .hash = std::string(32, 'b'), .version = 8}, 0);
  manifest.blocks[7] = {.name = "000007.1", .version = -5, .built_up_to = 90};
  const auto read = parse_manifest(to_text(manifest));
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(*read, manifest);
  EXPECT_EQ(manifest.leaving.size(), 1);
}

TEST(ObjectManifestTest, MergedBlocksFollowEachOtherAndAreOfALaterVersion) {
  Manifest manifest{.directory_id = std::string(16, '\1'), .writer = std::string(16, '\2')};
  manifest.blocks[8] = {.name = "000003-000008.2", .version = -5, .built_up_to = 90};
  manifest.blocks[9] = {.name = "000009", .version = 6, .built_up_to = 95};
  for (const char* const rows : {"", "clickhouse://a,b/p"}) {
    manifest.rows = rows;
    EXPECT_TRUE(to_text(manifest).starts_with("plimsoll-objects 3\n"))
        << "a program that does not know such names would take it for damaged";
    const auto read = parse_manifest(to_text(manifest));
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_EQ(*read, manifest);
  }
  EXPECT_EQ(manifest.blocks[8].first(), 3);
  EXPECT_EQ(manifest.blocks[9].first(), 9);
  EXPECT_FALSE(manifest.covers(2));
  EXPECT_TRUE(manifest.covers(3));
  EXPECT_TRUE(manifest.covers(9));
  EXPECT_FALSE(manifest.covers(10));
  Manifest overlapping = manifest;
  overlapping.blocks[7] = {.name = "000007"};
  EXPECT_EQ(parse_manifest(to_text(overlapping)).error().code, ErrorCode::kCorrupt);
  Manifest with_gap = manifest;
  with_gap.blocks[12] = {.name = "000011-000012.1"};
  EXPECT_EQ(parse_manifest(to_text(with_gap)).error().code, ErrorCode::kCorrupt);
}

TEST(ObjectManifestTest, PathsThatLeadOutOfADirectoryAreRefused) {
  Manifest manifest{.directory_id = std::string(16, '\1'), .writer = std::string(16, '\2')};
  for (const char* const path : {"../a", "/etc/passwd", "a/../../b", "a//b"}) {
    Manifest wrong = manifest;
    wrong.set(path, {.bytes = 2, .hash = std::string(32, 'a')}, 0);
    EXPECT_EQ(parse_manifest(to_text(wrong)).error().code, ErrorCode::kCorrupt) << path;
  }
  for (const uint64_t bytes : {kMaxStoredBytes + 1, UINT64_MAX}) {
    Manifest wrong = manifest;
    wrong.set("a", {.bytes = bytes, .hash = std::string(32, 'a')}, 0);
    EXPECT_EQ(parse_manifest(to_text(wrong)).error().code, ErrorCode::kCorrupt)
        << "its parts fill the memory";
  }
  manifest.blocks[7] = {.name = "000007"};
  manifest.blocks[9] = {.name = "000009"};
  EXPECT_EQ(parse_manifest(to_text(manifest)).error().code, ErrorCode::kCorrupt) << "a block is missing";
}

TEST(ProfilePackTest, EachCutIsCorrupt) {
  ProfilePack pack;
  EXPECT_TRUE(pack.is_empty());
  pack.add({3, std::string(16, 'a'), "first", 5, Arrival::kImported});
  pack.add({4, std::string(16, 'b'), "second", 6, Arrival::kUploaded});
  const std::string& content = pack.content();
  const auto profiles = parse_pack(as_bytes(content));
  ASSERT_TRUE(profiles) << profiles.error().text();
  ASSERT_EQ(profiles->size(), 2);
  EXPECT_EQ(profiles->at(0).encoded, "first");
  EXPECT_EQ(profiles->at(0).arrival, Arrival::kImported);
  EXPECT_EQ(profiles->at(1).received_ns, 6);
  EXPECT_EQ(pack_at(pack_path(pack.range()))->last, 4);
  for (size_t size = 0; size < content.size(); ++size) {
    const auto cut = parse_pack(as_bytes(content.substr(0, size)));
    EXPECT_TRUE(!cut || cut->size() < 2) << size;
  }
}

}  // namespace
}  // namespace plimsoll::store
