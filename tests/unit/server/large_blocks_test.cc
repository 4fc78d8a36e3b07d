#include "server/memory/large_blocks.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <thread>
#include <vector>

namespace plimsoll::server {
namespace {

constexpr size_t kMib = size_t{1} << 20;

uintptr_t address_of(const void* block) {
  return reinterpret_cast<uintptr_t>(block);
}

// Whether the page at an address is part of no mapping.
bool is_unmapped(uintptr_t page) {
  unsigned char residency = 0;
  return ::mincore(reinterpret_cast<void*>(page), 1, &residency) != 0 && errno == ENOMEM;
}

class LargeBlocks : public ::testing::Test {
 protected:
  void SetUp() override {
#ifdef PLIMSOLL_SANITIZED
    GTEST_SKIP() << "the sanitizer's allocator is in the place of ours";
#endif
    map_large_blocks(kMib);
  }
  void TearDown() override { map_large_blocks(SIZE_MAX); }
};

TEST_F(LargeBlocks, AreGoneOnceTheyAreDeleted) {
  for (const size_t bytes : {kMib, kMib + 1, 40 * kMib}) {
    void* const block = ::operator new(bytes);
    const uintptr_t address = address_of(block);
    EXPECT_EQ(address % 4096, 0U);
    static_cast<char*>(block)[bytes - 1] = 1;
    EXPECT_FALSE(is_unmapped(address));
    ::operator delete(block);
    EXPECT_TRUE(is_unmapped(address)) << bytes;
  }
}

// What malloc() would do.
TEST_F(LargeBlocks, CutUpNoFreePieceOfTheHeap) {
  constexpr size_t kPieces = 64;
  using Piece = std::array<char, kMib / 16>;
  std::array<std::unique_ptr<Piece>, kPieces> heap;
  for (auto& piece : heap) {
    piece = std::make_unique<Piece>();
  }
  const auto* const first = heap.at(8)->data();
  const auto* const last = heap.at(56)->data();
  for (size_t i = 8; i < 57; ++i) {
    heap.at(i).reset();
  }
  const std::vector<char> large(2 * kMib);
  EXPECT_TRUE(large.data() < first || large.data() > last);
}

TEST_F(LargeBlocks, AreAlignedAsAskedFor) {
  for (const size_t alignment : {size_t{64}, size_t{4096}, 2 * kMib}) {
    void* const block = ::operator new(3 * kMib, std::align_val_t{alignment});
    const uintptr_t address = address_of(block);
    EXPECT_EQ(address % alignment, 0U);
    static_cast<char*>(block)[3 * kMib - 1] = 1;
    ::operator delete(block, std::align_val_t{alignment});
    EXPECT_TRUE(is_unmapped(address));
  }
}

TEST_F(LargeBlocks, OfBeforeAndOfAfterwardsAreDeletedAlike) {
  map_large_blocks(SIZE_MAX);
  auto before = std::make_unique<std::vector<char>>(4 * kMib);
  map_large_blocks(kMib);
  auto during = std::make_unique<std::vector<char>>(4 * kMib);
  before.reset();
  map_large_blocks(SIZE_MAX);
  const uintptr_t page = address_of(during->data());
  during.reset();
  EXPECT_TRUE(is_unmapped(page));
}

TEST_F(LargeBlocks, ThereIsNoMemoryForAreAnException) {
  EXPECT_THROW(static_cast<void>(::operator new(SIZE_MAX / 4)), std::bad_alloc);
  EXPECT_EQ(::operator new(SIZE_MAX / 4, std::nothrow), nullptr);
}

// More at a time than there is room for in the list of mappings.
TEST_F(LargeBlocks, AreOfSeveralThreadsAndMany) {
  std::vector<std::jthread> threads;
  for (char value = 1; value <= 4; ++value) {
    threads.emplace_back([value] {
      std::vector<std::unique_ptr<std::array<char, kMib>>> blocks;
      for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < 1500; ++i) {
          // Left as they are but for one byte: 6,000 blocks of a MiB each would not fit into memory.
          blocks.push_back(std::make_unique_for_overwrite<std::array<char, kMib>>());
          blocks.back()->back() = value;
        }
        for (const auto& block : blocks) {
          ASSERT_EQ(block->back(), value);
        }
        blocks.clear();
      }
    });
  }
}

}  // namespace
}  // namespace plimsoll::server
