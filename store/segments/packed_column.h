// A column of integers in the fewest bits that are still read at memory's speed: patched frame of reference
// (Zukowski et al., "Super-Scalar RAM-CPU Cache Compression", ICDE 2006) in mini-blocks of 256 values.
//
// Values, or the differences between neighbours, are stored as what they exceed the column's smallest by, in as many bits as
// pay within their mini-block; the few that need more have their high bits apart. A mini-block is interleaved over eight
// lanes of 32 bits, so that compilers turn the loops that unpack it into vector instructions of whatever width there is.
// docs/store-format.md describes the bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/byte_reader.h"
#include "base/result.h"

namespace plimsoll::store {

inline constexpr size_t kMiniBlockValues = 256;

// What is packed in place of the values, modulo 2^32.
enum class Transform : uint8_t {
  kNone = 0,
  kDifferences = 1,        // to the value before, the first to 0: ascending values
  kZigzagDifferences = 2,  // the same with the sign in the lowest bit: values that wander
};

// Appends the column to `out`, whose size is a multiple of 8 and stays one. Takes the transform that needs the fewest bytes;
// values from 2^32 on are never transformed. Costs about 10 ns a value.
void pack_column(std::span<const uint64_t> values, std::string& out);

// A packed column, in borrowed bytes. Any thread may read.
class PackedColumn {
 public:
  PackedColumn() = default;

  // The column at the reader's place, which moves behind it: kCorrupt where it is not whole, or has other than `count` values.
  // What it holds may still be any numbers. Costs 2 ns for each mini-block.
  static Result<PackedColumn> read(ByteReader& reader, size_t count);

  size_t size() const { return count_; }
  size_t size_bytes() const { return size_bytes_; }

  // All values; those from 2^32 on are cut off in the first, rounded to a double's 53 bits in the last. `values` is resized to
  // what whole mini-blocks take, of which the first size() are the column's: its rest is of no meaning.
  void unpack(std::vector<uint32_t>& values) const;
  void unpack(std::vector<uint64_t>& values) const;
  void unpack(std::vector<double>& values) const;

 private:
  struct MiniBlock;
  class Walk;

  template <typename Value>
  void unpack_narrow(std::vector<Value>& values) const;

  Bytes headers_;  // 2 bytes for each mini-block
  Bytes data_;     // of all mini-blocks
  uint64_t base_ = 0;
  size_t count_ = 0;
  size_t size_bytes_ = 0;
  Transform transform_ = Transform::kNone;
};

}  // namespace plimsoll::store
