// What the program compressor.cc writes: bytes and repetitions in Huffman codes, and where repetitions are found.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <queue>
#include <stdexcept>
#include <utility>
#include <vector>

#include "compressor_streams.h"

namespace {

constexpr uint32_t kMinMatch = 3;
constexpr uint32_t kMaxMatch = 258;

struct Token {
  uint32_t length = 0;  // 0: a byte
  uint32_t distance = 0;
  uint8_t byte = 0;
};

// A number as a class, by its highest two bits, and the bits below.
struct Class {
  uint32_t number = 0;
  uint32_t rest = 0;
  unsigned bits = 0;
};

Class class_of(uint32_t value) {
  if (value < 4) {
    return {value, 0, 0};
  }
  const auto bits = static_cast<unsigned>(std::bit_width(value)) - 2;
  return {2 * bits + 2 + (value >> bits & 1U), value & ((1U << bits) - 1), bits};
}

unsigned bits_of_class(uint32_t number) {
  return number < 4 ? 0 : number / 2 - 1;
}

uint32_t value_of(uint32_t number, uint32_t rest) {
  return number < 4 ? number : (2U | (number & 1U)) << bits_of_class(number) | rest;
}

class BitWriter {
 public:
  explicit BitWriter(Sink& sink) : sink_(sink) {}
  void put(uint32_t bits, unsigned count) {
    held_ |= uint64_t{bits} << filled_;
    filled_ += count;
    while (filled_ >= 8) {
      sink_.put(static_cast<uint8_t>(held_));
      held_ >>= 8U;
      filled_ -= 8;
    }
  }
  void finish() {
    put(0, 7);
    sink_.finish();
  }

 private:
  Sink& sink_;
  uint64_t held_ = 0;
  unsigned filled_ = 0;
};

class BitReader {
 public:
  explicit BitReader(Source& source) : source_(source) {}
  // The next bits, at most 16, behind the end zeros.
  uint32_t peek(unsigned count) {
    while (filled_ < count) {
      held_ |= static_cast<uint32_t>(source_.get()) << filled_;
      filled_ += 8;
    }
    return held_ & ((1U << count) - 1);
  }
  void drop(unsigned count) {
    held_ >>= count;
    filled_ -= count;
  }
  uint32_t get(unsigned count) {
    const uint32_t bits = peek(count);
    drop(count);
    return bits;
  }

 private:
  Source& source_;
  uint32_t held_ = 0;
  unsigned filled_ = 0;
};

// Canonical Huffman codes of at most kMaxBits bits.
template <size_t Symbols>
class Codes {
 public:
  static constexpr unsigned kMaxBits = 12;

  void count(size_t symbol) { ++counts_[symbol]; }

  void make() {
    while (!find_lengths()) {
      for (uint32_t& count : counts_) {
        count = (count + 1) / 2;
      }
    }
    uint32_t code = 0;
    for (unsigned length = 1; length <= kMaxBits; ++length, code <<= 1U) {
      for (size_t i = 0; i < Symbols; ++i) {
        if (lengths_[i] == length) {
          codes_[i] = static_cast<uint16_t>(reversed(code++, length));
          for (uint32_t at = codes_[i]; at < table_.size(); at += 1U << length) {
            table_[at] = {static_cast<uint16_t>(i), lengths_[i]};
          }
        }
      }
    }
  }

  void write(BitWriter& out, size_t symbol) const { out.put(codes_[symbol], lengths_[symbol]); }
  size_t read(BitReader& in) const {
    const Entry& entry = table_[in.peek(kMaxBits)];
    if (entry.length == 0) {
      throw std::runtime_error("no such code");
    }
    in.drop(entry.length);
    return entry.symbol;
  }

  void write_lengths(BitWriter& out) const {
    for (size_t i = 0; i < Symbols; ++i) {
      out.put(lengths_[i], 4);
    }
  }
  void read_lengths(BitReader& in) {
    for (size_t i = 0; i < Symbols; ++i) {
      lengths_[i] = static_cast<uint8_t>(in.get(4));
      counts_[i] = lengths_[i] == 0 ? 0 : 1U << (kMaxBits - std::min<unsigned>(lengths_[i], kMaxBits));
    }
    make();
  }

 private:
  struct Entry {
    uint16_t symbol = 0;
    uint8_t length = 0;
  };

  static uint32_t reversed(uint32_t code, unsigned length) {
    uint32_t result = 0;
    for (unsigned i = 0; i < length; ++i) {
      result = result << 1U | (code >> i & 1U);
    }
    return result;
  }

  // Whether none is too long.
  bool find_lengths() {
    using Node = std::pair<uint32_t, size_t>;
    std::priority_queue<Node, std::vector<Node>, std::greater<>> queue;
    std::array<size_t, 2 * Symbols> parents{};
    for (size_t i = 0; i < Symbols; ++i) {
      if (counts_[i] > 0) {
        queue.emplace(counts_[i], i);
      }
    }
    size_t next = Symbols;
    while (queue.size() > 1) {
      const Node a = queue.top();
      queue.pop();
      const Node b = queue.top();
      queue.pop();
      parents[a.second] = parents[b.second] = next;
      queue.emplace(a.first + b.first, next++);
    }
    bool fits = true;
    for (size_t i = 0; i < Symbols; ++i) {
      unsigned length = counts_[i] > 0 && next == Symbols ? 1 : 0;
      for (size_t at = parents[i]; counts_[i] > 0 && at != 0; at = parents[at]) {
        ++length;
      }
      lengths_[i] = static_cast<uint8_t>(length);
      fits = fits && length <= kMaxBits;
    }
    return fits;
  }

  std::array<uint32_t, Symbols> counts_{};
  std::array<uint8_t, Symbols> lengths_{};
  std::array<uint16_t, Symbols> codes_{};
  std::array<Entry, size_t{1} << kMaxBits> table_{};
};

// Bytes, and behind them classes of lengths; classes of distances.
class TokenCodes {
 public:
  void count(const Token& token) {
    if (token.length == 0) {
      tokens_.count(token.byte);
    } else {
      tokens_.count(256 + class_of(token.length - kMinMatch).number);
      distances_.count(class_of(token.distance).number);
    }
  }
  void make() {
    tokens_.make();
    distances_.make();
  }

  void write_lengths(BitWriter& out) const {
    tokens_.write_lengths(out);
    distances_.write_lengths(out);
  }
  void read_lengths(BitReader& in) {
    tokens_.read_lengths(in);
    distances_.read_lengths(in);
  }

  void write(BitWriter& out, const Token& token) const {
    if (token.length == 0) {
      tokens_.write(out, token.byte);
      return;
    }
    const Class length = class_of(token.length - kMinMatch);
    tokens_.write(out, 256 + length.number);
    out.put(length.rest, length.bits);
    const Class distance = class_of(token.distance);
    distances_.write(out, distance.number);
    out.put(distance.rest, distance.bits);
  }

  Token read(BitReader& in) const {
    const size_t symbol = tokens_.read(in);
    if (symbol < 256) {
      return {0, 0, static_cast<uint8_t>(symbol)};
    }
    const auto length = static_cast<uint32_t>(symbol - 256);
    Token token;
    token.length = kMinMatch + value_of(length, in.get(bits_of_class(length)));
    const auto distance = static_cast<uint32_t>(distances_.read(in));
    token.distance = value_of(distance, in.get(bits_of_class(distance)));
    return token;
  }

 private:
  Codes<256 + 20> tokens_;
  Codes<40> distances_;
};

// Where the bytes at a place were before.
class MatchFinder {
 public:
  virtual ~MatchFinder() = default;
  virtual Token longest(size_t at) = 0;
  virtual void enter(size_t at) = 0;
};

template <size_t Hashed, int Tries>
class HashChains : public MatchFinder {
 public:
  explicit HashChains(const Bytes& bytes) : bytes_(bytes), before_(bytes.size(), -1) { heads_.fill(-1); }

  Token longest(size_t at) override {
    Token best;
    if (at + Hashed > bytes_.size()) {
      return best;
    }
    int32_t from = heads_[hash(at)];
    for (int tries = Tries; from >= 0 && tries > 0; --tries) {
      const uint32_t length = common(static_cast<size_t>(from), at);
      const auto distance = static_cast<uint32_t>(at - static_cast<size_t>(from));
      if (length >= kMinMatch && length > best.length && (length > kMinMatch || distance < 4096)) {
        best = {length, distance, 0};
        if (length >= 64) {
          break;
        }
      }
      from = before_[static_cast<size_t>(from)];
    }
    return best;
  }

  void enter(size_t at) override {
    if (at + Hashed <= bytes_.size()) {
      int32_t& head = heads_[hash(at)];
      before_[at] = head;
      head = static_cast<int32_t>(at);
    }
  }

 private:
  static constexpr unsigned kHashBits = 14;

  uint32_t hash(size_t at) const {
    uint32_t value = 0;
    for (size_t i = 0; i < Hashed; ++i) {
      value = value << 8U | bytes_[at + i];
    }
    return value * 2654435761U >> (32U - kHashBits);
  }

  uint32_t common(size_t a, size_t b) const {
    const size_t limit = std::min<size_t>(kMaxMatch, bytes_.size() - b);
    size_t length = 0;
    while (length < limit && bytes_[a + length] == bytes_[b + length]) {
      ++length;
    }
    return static_cast<uint32_t>(length);
  }

  const Bytes& bytes_;
  std::array<int32_t, size_t{1} << kHashBits> heads_{};
  std::vector<int32_t> before_;
};

}  // namespace
