// Which blocks have their addresses looked up.
#include "server/symbol_passes.h"

#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "store/door/symbols.h"
#include "symbolizer/worker/worker.h"
#include "tests/temporary_directory.h"

namespace plimsoll::server::symbol_passes_test {
namespace {

// What a test has of a block, and what a pass has asked it.
struct Block {
  int64_t first = 0;
  int64_t number = 0;
  int64_t generation = 0;
};

// Blocks with ten locations each and no binaries. A look at one is noted: "1-4 from 0", the last ID that was looked up before.
class FakeBlock : public store::BlockSymbols {
 public:
  FakeBlock(const Block& block, std::vector<std::string>& looks) : block_(block), looks_(looks) {}

  int64_t number() const override { return block_.number; }
  int64_t generation() const override { return block_.generation; }
  Result<std::vector<store::PendingBinary>> find_pending(int64_t& bound_up_to) override {
    looks_.push_back(fmt::format("{}-{} from {}", block_.first, block_.number, bound_up_to));
    bound_up_to = 10;
    return std::vector<store::PendingBinary>();
  }
  Status add_locations(bool /*all*/, store::PendingBinary& /*binary*/) override { return {}; }
  Result<std::string> kernel_image(const store::PendingBinary& /*binary*/) override { return std::string(); }
  Status bind(std::span<const store::NamedBinary> /*binaries*/) override { return {}; }
  bool is_gone() const override { return false; }
  bool is_unreadable() const override { return false; }

 private:
  const Block block_;
  std::vector<std::string>& looks_;
};

class FakeSymbols : public store::Symbols {
 public:
  FakeSymbols(const std::vector<Block>& blocks, std::vector<std::string>& looks)
      : blocks_(blocks), looks_(looks) {}

  Result<std::vector<std::unique_ptr<store::BlockSymbols>>> blocks() override {
    std::vector<std::unique_ptr<store::BlockSymbols>> blocks;
    for (const Block& block : blocks_) {
      blocks.push_back(std::make_unique<FakeBlock>(block, looks_));
    }
    return blocks;
  }

 private:
  const std::vector<Block>& blocks_;  // as they are now
  std::vector<std::string>& looks_;
};

TEST(SymbolPassesTest, BlocksThatWereRolledUpOrMergedAreLookedAtOnceMore) {
  const testing::TemporaryDirectory folder;
  std::vector<Block> blocks{{1, 1}, {2, 2}, {3, 3}, {4, 4}, {5, 5}};
  std::vector<std::string> looks;
  SymbolPasses passes(
      std::make_unique<FakeSymbols>(blocks, looks),
      *symbolizer::Symbolizer::open(folder.path(), {.folders = {}}, {.argv = {"/nowhere/plimsoll"}}));
  const auto looks_of_pass = [&] {
    looks.clear();
    EXPECT_TRUE(passes.run(false));
    return looks;
  };
  EXPECT_EQ(looks_of_pass().size(), 5);
  EXPECT_EQ(looks_of_pass(), std::vector<std::string>{"5-5 from 10"});
  blocks = {{1, 1}, {2, 2, 1}, {3, 3}, {4, 4}, {5, 5}};
  EXPECT_EQ(looks_of_pass(), (std::vector<std::string>{"5-5 from 10", "2-2 from 0"}))
      << "what the search before was about to name was lost";
  EXPECT_EQ(looks_of_pass(), std::vector<std::string>{"5-5 from 10"});
  blocks = {{1, 4, 1}, {5, 5}};
  EXPECT_EQ(looks_of_pass(), (std::vector<std::string>{"5-5 from 10", "1-4 from 0"}))
      << "their locations have other IDs";
  EXPECT_EQ(looks_of_pass(), std::vector<std::string>{"5-5 from 10"});
}

}  // namespace
}  // namespace plimsoll::server::symbol_passes_test
