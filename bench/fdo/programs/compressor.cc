// Compresses and decompresses text: matches by hash chains, coded by an adaptive binary range coder. The argument: how often.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

using Buffer = std::vector<uint8_t>;
using Bit = uint16_t;
constexpr Bit kHalf = 1024;

class Encoder {
 public:
  explicit Encoder(Buffer& out) : out_(out) {}

  void bit(Bit& probability, unsigned value) {
    const uint32_t bound = (range_ >> 11U) * probability;
    if (value == 0) {
      range_ = bound;
      probability = static_cast<Bit>(probability + ((2048U - probability) >> 5U));
    } else {
      low_ += bound;
      range_ -= bound;
      probability = static_cast<Bit>(probability - (probability >> 5U));
    }
    while (range_ < (1U << 24U)) {
      shift();
      range_ <<= 8U;
    }
  }

  void tree(Bit* probabilities, unsigned bits, unsigned value) {
    unsigned node = 1;
    for (unsigned i = bits; i-- > 0;) {
      const unsigned one = (value >> i) & 1U;
      bit(probabilities[node], one);
      node = node * 2 + one;
    }
  }

  void finish() {
    for (int i = 0; i < 5; ++i) {
      shift();
    }
  }

 private:
  void shift() {
    if (low_ < 0xff000000U || low_ > 0xffffffffU) {
      const auto carry = static_cast<uint8_t>(low_ >> 32U);
      if (pending_ > 0) {
        out_.push_back(static_cast<uint8_t>(cache_ + carry));
        for (; pending_ > 1; --pending_) {
          out_.push_back(static_cast<uint8_t>(0xffU + carry));
        }
      }
      pending_ = 0;
      cache_ = static_cast<uint8_t>(low_ >> 24U);
    }
    ++pending_;
    low_ = (low_ & 0x00ffffffU) << 8U;
  }

  Buffer& out_;
  uint64_t low_ = 0;
  uint32_t range_ = 0xffffffffU;
  uint8_t cache_ = 0;
  uint64_t pending_ = 1;
};

class Decoder {
 public:
  explicit Decoder(const Buffer& in) : in_(in) {
    for (int i = 0; i < 5; ++i) {
      code_ = (code_ << 8U) | byte();
    }
  }

  unsigned bit(Bit& probability) {
    const uint32_t bound = (range_ >> 11U) * probability;
    unsigned value = 0;
    if (code_ < bound) {
      range_ = bound;
      probability = static_cast<Bit>(probability + ((2048U - probability) >> 5U));
    } else {
      code_ -= bound;
      range_ -= bound;
      probability = static_cast<Bit>(probability - (probability >> 5U));
      value = 1;
    }
    while (range_ < (1U << 24U)) {
      code_ = (code_ << 8U) | byte();
      range_ <<= 8U;
    }
    return value;
  }

  unsigned tree(Bit* probabilities, unsigned bits) {
    unsigned node = 1;
    for (unsigned i = 0; i < bits; ++i) {
      node = node * 2 + bit(probabilities[node]);
    }
    return node - (1U << bits);
  }

 private:
  uint8_t byte() { return at_ < in_.size() ? in_[at_++] : 0; }

  const Buffer& in_;
  size_t at_ = 0;
  uint32_t range_ = 0xffffffffU;
  uint32_t code_ = 0;
};

struct Model {
  Model() { std::fill_n(reinterpret_cast<Bit*>(this), sizeof(Model) / sizeof(Bit), kHalf); }
  std::array<Bit, 2> is_match;
  std::array<std::array<Bit, 256>, 256> literal;
  std::array<Bit, 256> length;
  std::array<Bit, 256> distance_high;
  std::array<std::array<Bit, 256>, 256> distance_low;
};

constexpr size_t kMinMatch = 4;
constexpr size_t kMaxMatch = kMinMatch + 255;
constexpr size_t kWindow = 65535;

class Matches {
 public:
  explicit Matches(const Buffer& in) : in_(in), head_(1U << 16U, -1), previous_(in.size(), -1) {}

  void insert(size_t at) {
    if (at + kMinMatch <= in_.size()) {
      int32_t& head = head_[hash(at)];
      previous_[at] = head;
      head = static_cast<int32_t>(at);
    }
  }

  size_t longest(size_t at, size_t& distance) const {
    if (at + kMinMatch > in_.size()) {
      return 0;
    }
    size_t best = kMinMatch - 1;
    int tries = 32;
    for (int32_t candidate = head_[hash(at)]; candidate >= 0 && tries-- > 0;
         candidate = previous_[static_cast<size_t>(candidate)]) {
      const auto from = static_cast<size_t>(candidate);
      if (at - from > kWindow) {
        break;
      }
      const size_t limit = std::min(kMaxMatch, in_.size() - at);
      size_t length = 0;
      while (length < limit && in_[from + length] == in_[at + length]) {
        ++length;
      }
      if (length > best) {
        best = length;
        distance = at - from;
      }
    }
    return best >= kMinMatch ? best : 0;
  }

 private:
  size_t hash(size_t at) const {
    uint32_t word = 0;
    std::memcpy(&word, &in_[at], sizeof word);
    return (word * 2654435761U) >> 16U;
  }

  const Buffer& in_;
  std::vector<int32_t> head_;
  std::vector<int32_t> previous_;
};

Buffer compress(const Buffer& in) {
  Buffer out;
  Encoder encoder(out);
  Model model;
  Matches matches(in);
  unsigned after_match = 0;
  for (size_t at = 0; at < in.size();) {
    size_t distance = 0;
    size_t length = matches.longest(at, distance);
    if (length > 0 && length < 32 && at + 1 < in.size()) {
      size_t later_distance = 0;
      if (matches.longest(at + 1, later_distance) > length + 1) {
        length = 0;
      }
    }
    encoder.bit(model.is_match[after_match], length > 0 ? 1 : 0);
    if (length == 0) {
      encoder.tree(model.literal[at > 0 ? in[at - 1] : 0].data(), 8, in[at]);
      matches.insert(at++);
      after_match = 0;
      continue;
    }
    encoder.tree(model.length.data(), 8, static_cast<unsigned>(length - kMinMatch));
    const auto high = static_cast<unsigned>(distance >> 8U);
    encoder.tree(model.distance_high.data(), 8, high);
    encoder.tree(model.distance_low[high].data(), 8, static_cast<unsigned>(distance & 255U));
    for (size_t i = 0; i < length; ++i) {
      matches.insert(at++);
    }
    after_match = 1;
  }
  encoder.finish();
  return out;
}

Buffer decompress(const Buffer& in, size_t bytes) {
  Buffer out;
  out.reserve(bytes);
  Decoder decoder(in);
  Model model;
  unsigned after_match = 0;
  while (out.size() < bytes) {
    if (decoder.bit(model.is_match[after_match]) == 0) {
      out.push_back(
          static_cast<uint8_t>(decoder.tree(model.literal[out.empty() ? 0 : out.back()].data(), 8)));
      after_match = 0;
      continue;
    }
    const size_t length = kMinMatch + decoder.tree(model.length.data(), 8);
    const unsigned high = decoder.tree(model.distance_high.data(), 8);
    const size_t distance = high * 256U + decoder.tree(model.distance_low[high].data(), 8);
    if (distance == 0 || distance > out.size()) {
      return {};
    }
    for (size_t i = 0; i < length; ++i) {
      out.push_back(out[out.size() - distance]);
    }
    after_match = 1;
  }
  return out;
}

Buffer text_of_words() {
  Buffer text;
  uint64_t state = 88172645463325252U;
  const auto next = [&state] {
    state ^= state << 13U;
    state ^= state >> 7U;
    state ^= state << 17U;
    return state;
  };
  std::vector<std::string> words;
  for (int i = 0; i < 2000; ++i) {
    std::string word;
    for (uint64_t letters = 2 + next() % 8; letters > 0; --letters) {
      word += static_cast<char>('a' + next() % 26);
    }
    words.push_back(word);
  }
  while (text.size() < 1000000) {
    const std::string& word = words[(next() % 2000) * (next() % 2000) / 2000];
    text.insert(text.end(), word.begin(), word.end());
    text.push_back(next() % 12 == 0 ? '\n' : ' ');
  }
  return text;
}

}  // namespace

int main(int, char** argv) {
  const Buffer text = text_of_words();
  size_t compressed_bytes = 0;
  for (int round = std::atoi(argv[1]); round > 0; --round) {
    const Buffer compressed = compress(text);
    compressed_bytes += compressed.size();
    if (decompress(compressed, text.size()) != text) {
      return 1;
    }
  }
  std::printf("%zu\n", compressed_bytes);
  return 0;
}
