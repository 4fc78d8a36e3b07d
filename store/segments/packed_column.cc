#include "store/segments/packed_column.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

namespace plimsoll::store {
namespace {

static_assert(std::endian::native == std::endian::little, "segments are mapped as they are");

constexpr size_t kLanes = 8;
constexpr size_t kRounds = kMiniBlockValues / kLanes;
constexpr unsigned kMaxBits = 32;

// A mini-block's header: bits in the lowest 6, then whether its exceptions have 32 high bits each or 16, then how many.
constexpr unsigned kWideShift = 6;
constexpr unsigned kExceptionsShift = 7;

struct ColumnHeader {
  uint64_t base;
  uint32_t count;
  uint32_t transform;
};

template <typename T>
void append(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

constexpr size_t packed_bytes(unsigned bits) {
  return kRounds * kLanes * bits / 8;
}

constexpr size_t round_up(size_t size, size_t multiple) {
  return (size + multiple - 1) / multiple * multiple;
}

constexpr size_t exception_bytes(size_t count, bool is_wide) {
  return round_up(count * (is_wide ? 4 : 2) + count, 4);
}

// ---- packing

// How a mini-block is packed.
struct Layout {
  unsigned bits = 0;
  size_t exceptions = 0;
  bool is_wide = false;

  size_t bytes() const { return packed_bytes(bits) + exception_bytes(exceptions, is_wide); }
};

// Values by how many bits they need.
Layout best_layout(std::span<const uint64_t> excess) {
  std::array<size_t, 65> by_width{};
  unsigned widest = 0;
  for (const uint64_t value : excess) {
    const auto width = static_cast<unsigned>(std::bit_width(value));
    ++by_width[width];
    widest = std::max(widest, width);
  }
  Layout best;
  size_t best_bytes = SIZE_MAX;
  size_t wider = 0;  // values that need more than `bits`
  for (unsigned bits = widest;; --bits) {
    if (bits <= kMaxBits && widest <= bits + 32) {
      const Layout layout{bits, wider, wider > 0 && widest - bits > 16};
      if (layout.bytes() < best_bytes) {
        best_bytes = layout.bytes();
        best = layout;
      }
    }
    if (bits == 0) {
      return best;
    }
    wider += by_width[bits];
  }
}

void pack_mini_block(std::span<const uint64_t> excess, const Layout& layout, std::string& out) {
  std::array<uint32_t, kLanes * kMaxBits> words{};
  for (size_t i = 0; i < excess.size() && layout.bits > 0; ++i) {
    const size_t bit = i / kLanes * layout.bits;
    const size_t word = bit / 32 * kLanes + i % kLanes;
    const uint64_t low = excess[i] & ((uint64_t{1} << layout.bits) - 1);
    words[word] |= static_cast<uint32_t>(low << bit % 32);
    if (bit % 32 + layout.bits > 32) {
      words[word + kLanes] |= static_cast<uint32_t>(low >> (32 - bit % 32));
    }
  }
  out.append(reinterpret_cast<const char*>(words.data()), packed_bytes(layout.bits));
  std::string places;
  for (size_t i = 0; i < excess.size(); ++i) {
    const uint64_t high = excess[i] >> layout.bits;
    if (high == 0) {
      continue;
    }
    if (layout.is_wide) {
      append(out, static_cast<uint32_t>(high));
    } else {
      append(out, static_cast<uint16_t>(high));
    }
    places.push_back(static_cast<char>(i));
  }
  out += places;
  out.resize(round_up(out.size(), 4));
}

std::string pack(std::span<const uint64_t> values, Transform transform) {
  const uint64_t base = values.empty() ? 0 : std::ranges::min(values);
  std::string headers;
  std::string data;
  std::vector<uint64_t> excess;
  for (size_t from = 0; from < values.size(); from += kMiniBlockValues) {
    excess.clear();
    for (const uint64_t value : values.subspan(from, std::min(kMiniBlockValues, values.size() - from))) {
      excess.push_back(value - base);
    }
    const Layout layout = best_layout(excess);
    append(headers, static_cast<uint16_t>(layout.bits | (layout.is_wide ? 1U << kWideShift : 0U) |
                                          layout.exceptions << kExceptionsShift));
    pack_mini_block(excess, layout, data);
  }
  headers.resize(round_up(headers.size(), 8));
  data.resize(round_up(data.size(), 8));
  std::string packed;
  append(packed, ColumnHeader{base, static_cast<uint32_t>(values.size()), static_cast<uint32_t>(transform)});
  return packed + headers + data;
}

std::vector<uint64_t> transformed(std::span<const uint64_t> values, Transform transform) {
  std::vector<uint64_t> differences;
  differences.reserve(values.size());
  uint32_t before = 0;
  for (const uint64_t value : values) {
    const auto difference = static_cast<uint32_t>(value) - before;
    before = static_cast<uint32_t>(value);
    differences.push_back(
        transform == Transform::kDifferences ? difference : difference << 1U ^ (0U - (difference >> 31U)));
  }
  return differences;
}

// ---- unpacking

// Eight values, one of each lane. Shifts are known when it is compiled, so that it is a handful of vector instructions.
template <unsigned kBits, unsigned kRound>
void unpack_round(const uint32_t* words, uint32_t base, uint32_t* values) {
  constexpr unsigned kShift = kRound * kBits % 32;
  constexpr uint32_t kMask = kBits == 32 ? UINT32_MAX : (uint32_t{1} << kBits) - 1;
  const uint32_t* in = words + kRound * kBits / 32 * kLanes;
  for (size_t lane = 0; lane < kLanes; ++lane) {
    if constexpr (kShift + kBits > 32) {
      const uint32_t value = in[lane] >> kShift | in[lane + kLanes] << (32 - kShift);
      values[kRound * kLanes + lane] = (value & kMask) + base;
    } else {
      values[kRound * kLanes + lane] = (in[lane] >> kShift & kMask) + base;
    }
  }
}

template <unsigned kBits>
void unpack_words(const uint32_t* words, uint32_t base, uint32_t* values) {
  if constexpr (kBits == 0) {
    std::fill_n(values, kMiniBlockValues, base);
  } else {
    [&]<unsigned... kRound>(std::integer_sequence<unsigned, kRound...>) {
      (unpack_round<kBits, kRound>(words, base, values), ...);
    }(std::make_integer_sequence<unsigned, kRounds>());
  }
}

using UnpackWords = void (*)(const uint32_t*, uint32_t, uint32_t*);

template <unsigned... kBits>
constexpr std::array<UnpackWords, sizeof...(kBits)> unpackers(
    std::integer_sequence<unsigned, kBits...> /*widths*/) {
  return {unpack_words<kBits>...};
}

constexpr auto kUnpackers = unpackers(std::make_integer_sequence<unsigned, kMaxBits + 1>());

}  // namespace

void pack_column(std::span<const uint64_t> values, std::string& out) {
  std::string smallest = pack(values, Transform::kNone);
  if (values.empty() || std::ranges::max(values) <= UINT32_MAX) {
    for (const Transform transform : {Transform::kDifferences, Transform::kZigzagDifferences}) {
      std::string packed = pack(transformed(values, transform), transform);
      if (packed.size() < smallest.size()) {
        smallest = std::move(packed);
      }
    }
  }
  out += smallest;
}

// A mini-block as it lies in the file.
struct PackedColumn::MiniBlock {
  unsigned bits;
  size_t exceptions;
  bool is_wide;

  explicit MiniBlock(uint16_t header)
      : bits(header & 0x3fU),
        exceptions(header >> kExceptionsShift),
        is_wide((header >> kWideShift & 1U) != 0) {}

  size_t bytes() const { return packed_bytes(bits) + exception_bytes(exceptions, is_wide); }
};

// Goes over the mini-blocks of a column whose extent has been checked.
class PackedColumn::Walk {
 public:
  explicit Walk(const PackedColumn& column)
      : headers_(column.headers_.data()),
        data_(column.data_.data()),
        left_((column.count_ + kMiniBlockValues - 1) / kMiniBlockValues) {}

  // Low bits and base of the next mini-block to `values`, then each exception to `patch`, by place and what it adds.
  template <typename Patch>
  bool next(uint32_t base, uint32_t* values, const Patch& patch) {
    if (left_-- == 0) {
      return false;
    }
    const MiniBlock block = header();
    kUnpackers[block.bits](reinterpret_cast<const uint32_t*>(data_), base, values);
    const std::byte* highs = data_ + packed_bytes(block.bits);
    const std::byte* places = highs + block.exceptions * (block.is_wide ? 4 : 2);
    for (size_t i = 0; i < block.exceptions; ++i) {
      const uint64_t high = block.is_wide ? load<uint32_t>(highs + i * 4) : load<uint16_t>(highs + i * 2);
      patch(std::to_integer<size_t>(places[i]), high << block.bits);
    }
    data_ += block.bytes();
    return true;
  }

 private:
  template <typename T>
  static T load(const std::byte* at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
  }

  MiniBlock header() {
    const MiniBlock block(load<uint16_t>(headers_));
    headers_ += sizeof(uint16_t);
    return block;
  }

  const std::byte* headers_;
  const std::byte* data_;
  size_t left_;
};

Result<PackedColumn> PackedColumn::read(ByteReader& reader, size_t count) {
  const auto header = reader.read<ColumnHeader>();
  const size_t mini_blocks = (count + kMiniBlockValues - 1) / kMiniBlockValues;
  PackedColumn column;
  column.headers_ = reader.bytes(round_up(mini_blocks * sizeof(uint16_t), 8));
  if (!reader.ok() || header.count != count ||
      header.transform > static_cast<uint32_t>(Transform::kZigzagDifferences)) {
    return fail(ErrorCode::kCorrupt, "a column is not one of {} values", count);
  }
  size_t data_bytes = 0;
  ByteReader headers(column.headers_);
  for (size_t i = 0; i < mini_blocks; ++i) {
    const MiniBlock block(headers.read<uint16_t>());
    if (block.bits > kMaxBits || block.exceptions > kMiniBlockValues) {
      return fail(ErrorCode::kCorrupt, "a mini-block of {} bits and {} exceptions", block.bits,
                  block.exceptions);
    }
    data_bytes += block.bytes();
  }
  column.data_ = reader.bytes(round_up(data_bytes, 8));
  if (!reader.ok() || reinterpret_cast<uintptr_t>(column.data_.data()) % alignof(uint32_t) != 0) {
    return fail(ErrorCode::kCorrupt, "a column ends outside of its block");
  }
  column.base_ = header.base;
  column.count_ = count;
  column.transform_ = static_cast<Transform>(header.transform);
  column.size_bytes_ = sizeof header + column.headers_.size() + column.data_.size();
  return column;
}

void PackedColumn::unpack(std::vector<uint32_t>& values) const {
  values.resize(round_up(count_, kMiniBlockValues));
  uint32_t* out = values.data();
  Walk walk(*this);
  while (walk.next(static_cast<uint32_t>(base_), out,
                   [&](size_t place, uint64_t high) { out[place] += static_cast<uint32_t>(high); })) {
    out += kMiniBlockValues;
  }
  uint32_t sum = 0;
  if (transform_ == Transform::kDifferences) {
    for (uint32_t& value : values) {
      value = sum += value;
    }
  } else if (transform_ == Transform::kZigzagDifferences) {
    for (uint32_t& value : values) {
      value = sum += value >> 1U ^ (0U - (value & 1U));
    }
  }
}

// Transformed values have 32 bits.
template <typename Value>
void PackedColumn::unpack_narrow(std::vector<Value>& values) const {
  std::vector<uint32_t> narrow;
  unpack(narrow);
  values.assign(narrow.begin(), narrow.end());
}

void PackedColumn::unpack(std::vector<uint64_t>& values) const {
  if (transform_ != Transform::kNone) {
    unpack_narrow(values);
    return;
  }
  values.resize(round_up(count_, kMiniBlockValues));
  std::array<uint32_t, kMiniBlockValues> low;
  std::array<uint64_t, kMiniBlockValues> high{};
  uint64_t* out = values.data();
  Walk walk(*this);
  while (walk.next(0, low.data(), [&](size_t place, uint64_t value) { high[place] = value; })) {
    for (size_t i = 0; i < kMiniBlockValues; ++i) {
      out[i] = base_ + low[i] + std::exchange(high[i], 0);
    }
    out += kMiniBlockValues;
  }
}

void PackedColumn::unpack(std::vector<double>& values) const {
  if (transform_ != Transform::kNone) {
    unpack_narrow(values);
    return;
  }
  values.resize(round_up(count_, kMiniBlockValues));
  std::array<uint32_t, kMiniBlockValues> low;
  double* out = values.data();
  Walk walk(*this);
  std::vector<std::pair<size_t, double>> patches;
  constexpr uint32_t kSignBit = uint32_t{1} << 31U;
  const double base = static_cast<double>(base_) + kSignBit;
  while (walk.next(0, low.data(), [&](size_t place, uint64_t high) {
    patches.emplace_back(place, static_cast<double>(high));
  })) {
    // Conversions of signed integers are single instructions everywhere; others are not.
    for (size_t i = 0; i < kMiniBlockValues; ++i) {
      out[i] = base + static_cast<double>(static_cast<int32_t>(low[i] ^ kSignBit));
    }
    for (const auto& [place, high] : patches) {
      out[place] += high;
    }
    patches.clear();
    out += kMiniBlockValues;
  }
}

}  // namespace plimsoll::store
