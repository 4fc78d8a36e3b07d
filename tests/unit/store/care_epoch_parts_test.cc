// Epochs as parts of a copy, from a server that answers as the test says.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/hex.h"
#include "store/clickhouse/batches.h"
#include "store/clickhouse/row_binary.h"
#include "store/copy/epoch_parts.h"
#include "tests/clickhouse/answering_server.h"

namespace plimsoll::store {
namespace {

// Two kernels, whose symbols are asked for one by one: together they may be more than an answer may have.
TEST(EpochParts, ReadTheSymbolsOfOneKernelAfterTheOther) {
  const std::string directory_id(16, 'a');
  plimsoll::testing::AnsweringServer server([&](std::string_view sql) {
    clickhouse::RowBinaryWriter rows;
    const auto is = [&](std::string_view begin, std::string_view end = {}) {
      return sql.starts_with(begin) && sql.find(end) != std::string_view::npos;
    };
    if (is("SELECT version()")) {
      return std::string("26.7.1.1\n");
    }
    if (is("SELECT max(format)")) {
      rows.number(uint32_t{1});
    } else if (is("SELECT directory FROM")) {
      rows.text(to_hex(directory_id));
    } else if (is("SELECT min(epoch), max(batch)")) {
      rows.number(uint32_t{1}).number(uint64_t{1});
    } else if (is("SELECT min(after_sequence)")) {
      rows.number(int64_t{0});
    } else if (is("SELECT epoch, batch, place")) {
      clickhouse::BatchMark mark{.epoch = 1, .batch = 1};
      mark.entries.binaries = 3;
      clickhouse::write_mark(mark, rows);
    } else if (is("SELECT id, identity_kind, identity, path")) {
      for (const uint32_t binary : {1U, 2U}) {
        rows.number(binary).number(uint8_t{1}).text("id").text("[kernel]");
      }
    } else if (is("SELECT DISTINCT binary FROM kernel_symbols")) {
      rows.number(uint32_t{1}).number(uint32_t{2});
    } else if (is("SELECT content FROM kernel_symbols", " AND binary = 1 ")) {
      rows.text("first");
    } else if (is("SELECT content FROM kernel_symbols", " AND binary = 2 ")) {
      rows.text("second");
    }
    return rows.take();
  });
  const auto parts = EpochParts::open({.address = "clickhouse://" + server.address() + "/fleet"},
                                      directory_id, [] { return int64_t{1}; });
  ASSERT_TRUE(parts) << parts.error().text();
  const auto part = (*parts)->read(1);
  ASSERT_TRUE(part) << part.error().text();
  ASSERT_EQ(part->kernel_symbols.size(), 2);
  EXPECT_EQ(part->kernel_symbols[0].binary, 1);
  EXPECT_EQ(part->kernel_symbols[0].content, "first");
  EXPECT_EQ(part->kernel_symbols[1].binary, 2);
  EXPECT_EQ(part->kernel_symbols[1].content, "second");
}

}  // namespace
}  // namespace plimsoll::store
