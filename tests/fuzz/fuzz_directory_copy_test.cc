// What a primary server says of a copy, damaged: refused, or a copy that a query server can take.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "proto/directory.pb.h"
#include "store/directory/data_directory.h"
#include "store/replica/copied_directory.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/seed.h"

namespace plimsoll::fuzz {
namespace {

std::string sound_facts() {
  wire::DirectoryCopy facts;
  facts.set_format_version(store::kShardedCopyVersion);
  facts.set_id("00112233445566778899aabbccddeeff");
  facts.set_taken_ns(1'700'000'000'000'000'000);
  facts.set_directory_format(static_cast<uint32_t>(store::kDirectoryFormat));
  facts.set_directory_id("0123456789abcdef");
  facts.set_rows_address("clickhouse://plimsoll@clickhouse.example/plimsoll");
  facts.set_rows_insert_quorum(2);
  facts.add_rows_shards("clickhouse://plimsoll@clickhouse-2.example/plimsoll");
  for (const std::string_view name : store::kCopiedDatabases) {
    wire::DirectoryCopy::File& file = *facts.add_files();
    file.set_name(std::string(name));
    file.set_size_bytes(4096);
    file.set_content_hash("fedcba9876543210");
  }
  return facts.SerializeAsString();
}

TEST(FuzzDirectoryCopy, ListsAreRefusedOrSound) {
  const std::string sound = sound_facts();
  wire::DirectoryCopy facts;
  ASSERT_TRUE(facts.ParseFromString(sound));
  const Status checked = store::check_copy(facts);
  ASSERT_TRUE(checked) << checked.error().text();
  std::mt19937_64 random(fuzz::seed(1));
  for (int i = 0; i < 10'000; ++i) {
    if (!facts.ParseFromString(mutated(sound, random)) || !store::check_copy(facts)) {
      continue;
    }
    // It becomes the name of a folder, and of files in it.
    EXPECT_EQ(facts.id().find_first_not_of("0123456789abcdef"), std::string::npos);
    EXPECT_EQ(facts.id().size(), 32U);
    EXPECT_EQ(facts.files().size(), 2);
    // A line each of the file that says where rows are.
    for (const std::string& shard : facts.rows_shards()) {
      EXPECT_EQ(shard.find_first_of("\r\n"), std::string::npos);
    }
    for (const wire::DirectoryCopy::File& file : facts.files()) {
      EXPECT_TRUE(file.name() == "live.db" || file.name() == "draws.db");
    }
  }
}

}  // namespace
}  // namespace plimsoll::fuzz
