#include "store/packed/entry_pack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/durable_file.h"
#include "base/file.h"
#include "store/catalogue/catalogue.h"
#include "store/dictionaries/dictionary_reader.h"
#include "store/frames/binding_reader.h"
#include "store/frames/binding_writer.h"
#include "store/packed/block_packs.h"
#include "tests/temporary_directory.h"
#include "tests/unit/store/care_fixture.h"

namespace plimsoll::store {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// What a file holds, or why it cannot be read.
struct Unpacked {
  Dictionaries dictionaries;
  PackedFrames frames;
  Status read;
};

Unpacked unpack(const std::string& path) {
  const auto pack = EntryPack::open(path);
  Unpacked unpacked;
  unpacked.read = pack ? pack->read_locations(unpacked.dictionaries) : propagate(pack);
  unpacked.read = unpacked.read ? pack->read_stacks(unpacked.dictionaries) : unpacked.read;
  unpacked.read = unpacked.read ? pack->read_frames(unpacked.frames) : unpacked.read;
  return unpacked;
}

// "NAME FILE:LINE", innermost first, of all locations.
std::vector<std::string> names_in(const Bindings& bindings) {
  std::vector<std::string> names;
  for (uint32_t location = 0; location < bindings.locations(); ++location) {
    for (const Bindings::BoundFrame& frame : bindings.of(location)) {
      names.push_back(fmt::format("{}: {} {}:{}", location, bindings.functions[frame.function],
                                  bindings.files[frame.file], frame.line));
    }
  }
  return names;
}

class EntryPackTest : public ::testing::Test {
 protected:
  // Two blocks of three profiles, which are sealed, and one of one. Their locations have names of two frames.
  void SetUp() override {
    testing::fill_care_directory(path_, 1, 7, 3);
    for (const BlockFolder& block : blocks()) {
      auto catalogue = open(block, sqlite::OpenMode::kReadWrite);
      for (uint32_t location = 1; location <= 4; ++location) {
        bind(catalogue, location, "f");
      }
    }
  }

  std::vector<BlockFolder> blocks() const { return *list_blocks(path_ + "/blocks"); }

  static sqlite::Database open(const BlockFolder& block, sqlite::OpenMode mode = sqlite::OpenMode::kRead) {
    return *sqlite::Database::open(block.catalogue_path(), mode);
  }

  static void bind(sqlite::Database& catalogue, uint32_t location, const std::string& name) {
    const Binding binding{location,
                          {{.function = fmt::format("inlined{}", location), .file = "a.cc", .line = location},
                           {.function = fmt::format("{}{}", name, location), .line = 7}}};
    ASSERT_TRUE(BindingWriter(catalogue).bind(std::span(&binding, 1), 1));
  }

  testing::TemporaryDirectory folder_;
  std::string path_ = folder_ / "data";
};

TEST_F(EntryPackTest, HasWhatTheCatalogueHas) {
  const BlockFolder block = blocks().front();
  ASSERT_TRUE(pack_block(block));
  auto catalogue = open(block);
  const auto expected = *load_dictionaries(catalogue);
  const auto unpacked = unpack(entry_pack_path(block));
  ASSERT_TRUE(unpacked.read) << unpacked.read.error().text();
  EXPECT_GT(expected.stacks.size(), 5);
  EXPECT_EQ(unpacked.dictionaries.stacks, expected.stacks);
  EXPECT_EQ(unpacked.dictionaries.locations, expected.locations);
  const auto bindings = *BindingReader::load(catalogue, &unpacked.frames);
  EXPECT_EQ(names_in(bindings), names_in(*BindingReader::load(catalogue)));
  EXPECT_GE(names_in(bindings).size(), 8);
  EXPECT_THAT(bindings.rebound, IsEmpty());
}

TEST_F(EntryPackTest, NamesThatCameLaterAreReadBesides) {
  const BlockFolder block = blocks().front();
  ASSERT_TRUE(pack_block(block));
  auto catalogue = open(block, sqlite::OpenMode::kReadWrite);
  bind(catalogue, 2, "better");
  bind(catalogue, 5, "new");
  const auto pack = usable_pack(block, catalogue);
  ASSERT_TRUE(pack);
  PackedFrames frames;
  ASSERT_TRUE(pack->read_frames(frames));
  const auto bindings = BindingReader::load(catalogue, &frames);
  ASSERT_TRUE(bindings) << bindings.error().text();
  EXPECT_EQ(names_in(*bindings), names_in(*BindingReader::load(catalogue)));
}

TEST(EntryPack, OfManyChunksHasAllOfThem) {
  constexpr uint32_t kMany = 150'000;
  Dictionaries dictionaries;
  for (uint32_t id = 1; id <= kMany; ++id) {
    dictionaries.locations.push_back({id % 7 == 0 ? wire::NAMED : wire::ELF, id % 500,
                                      id * 0x9e3779b97f4a7c15U,
                                      id % 7 == 0 ? fmt::format("name{}", id) : ""});
    dictionaries.stacks.push_back({id / 3, 1 + (id * 31) % kMany});
  }
  const testing::TemporaryDirectory folder;
  const std::string path = folder / "pack";
  ASSERT_TRUE(write_file_durably(path, as_bytes(pack_entries(dictionaries, Bindings()))));
  const auto unpacked = unpack(path);
  ASSERT_TRUE(unpacked.read) << unpacked.read.error().text();
  EXPECT_TRUE(unpacked.dictionaries.stacks == dictionaries.stacks);
  EXPECT_TRUE(unpacked.dictionaries.locations == dictionaries.locations);
  EXPECT_THAT(unpacked.frames.frames, IsEmpty());
}

TEST_F(EntryPackTest, EveryFlippedBitIsDamage) {
  const std::string path = entry_pack_path(blocks().front());
  ASSERT_TRUE(pack_block(blocks().front()));
  const std::string sound = *read_file(path, 1 << 20);
  for (size_t bit = 0; bit < sound.size() * 8; ++bit) {
    std::string damaged = sound;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    std::ofstream(path, std::ios::binary) << damaged;
    ASSERT_FALSE(unpack(path).read) << "bit " << bit;
  }
  for (size_t size = 0; size < sound.size(); size += 7) {
    std::ofstream(path, std::ios::binary) << sound.substr(0, size);
    ASSERT_FALSE(unpack(path).read) << size << " bytes";
  }
}

TEST_F(EntryPackTest, OfOtherEntriesIsNotUsed) {
  const auto folders = blocks();
  ASSERT_TRUE(pack_block(folders[0]));
  auto catalogue = open(folders[0], sqlite::OpenMode::kReadWrite);
  EXPECT_TRUE(usable_pack(folders[0], catalogue));
  ASSERT_TRUE(catalogue.run("INSERT INTO stack (parent, location) VALUES (0, 1)"));
  EXPECT_FALSE(usable_pack(folders[0], catalogue)) << "a stack more";
  ASSERT_TRUE(
      catalogue.run("DELETE FROM stack WHERE id = (SELECT max(id) FROM stack); DELETE FROM binding_change"));
  EXPECT_FALSE(usable_pack(folders[0], catalogue)) << "names of an earlier time";
}

TEST_F(EntryPackTest, IsMadeOfSealedBlocksOneByOne) {
  BlockPacker packer;
  std::vector<int64_t> packed;
  for (int i = 0; i < 4; ++i) {
    packed.push_back(packer.run_once(blocks()).value_or(-1));
  }
  EXPECT_THAT(packed, ElementsAre(1, 2, 0, 0)) << "block 3 is not sealed";
  EXPECT_FALSE(std::filesystem::exists(entry_pack_path(blocks()[2])));
}

TEST_F(EntryPackTest, IsMadeAgainWhereItIsDamaged) {
  const auto folders = blocks();
  BlockPacker packer;
  ASSERT_EQ(packer.run_once(folders).value_or(-1), 1);
  ASSERT_EQ(packer.run_once(folders).value_or(-1), 2);
  const std::string path = entry_pack_path(folders[1]);
  const std::string sound = *read_file(path, 1 << 20);
  std::string damaged = sound;
  damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 1);
  std::ofstream(path, std::ios::binary) << damaged;
  BlockPacker next_start;
  EXPECT_EQ(next_start.run_once(folders).value_or(-1), 2);
  EXPECT_EQ(*read_file(path, 1 << 20), sound);
  EXPECT_EQ(next_start.run_once(folders).value_or(-1), 0);
}

TEST_F(EntryPackTest, WhatACrashHasLeftGoes) {
  const BlockFolder block = blocks().front();
  const std::string left = entry_pack_path(block) + ".4711.tmp";
  std::ofstream(left) << "half";
  EXPECT_EQ(BlockPacker().run_once(blocks()).value_or(-1), 1);
  EXPECT_FALSE(std::filesystem::exists(left));
  EXPECT_TRUE(unpack(entry_pack_path(block)).read);
}

TEST_F(EntryPackTest, ABlockWithADamagedCatalogueKeepsNoOtherFromItsOwn) {
  const auto folders = blocks();
  std::filesystem::resize_file(folders[0].catalogue_path(), 100);
  BlockPacker packer;
  EXPECT_EQ(packer.run_once(folders).value_or(-1), 2);
}

}  // namespace
}  // namespace plimsoll::store
