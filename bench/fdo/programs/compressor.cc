// Compresses made-up text by repetitions and canonical Huffman codes, and takes it apart again, as often as is said: fdo_compressor_gcc ROUNDS. A program to make compiler
// profiles of.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <queue>
#include <string>
#include <vector>

namespace {

constexpr size_t kMinMatch = 4;
constexpr size_t kMaxMatch = 130;
constexpr size_t kWindow = 1U << 15U;
constexpr size_t kSymbols = 256 + kMaxMatch;

std::string make_text() {
  static const std::vector<std::string> kWords = {"the ",   "quick ", "brown", " fox", " jumps", "over",
                                                  " lazy ", "dog",    ".\n",   "0123", "fleet",  "load",
                                                  "line ",  "ship",   "\t",    "x"};
  std::string text;
  uint64_t state = 88172645463325252;
  while (text.size() < 400'000) {
    state ^= state << 13U;
    state ^= state >> 7U;
    state ^= state << 17U;
    text += state % 7 == 0 ? std::string(1, static_cast<char>(state >> 8U & 0xffU))
                           : kWords[(state >> 20U) % kWords.size()];
  }
  return text;
}

struct Token {
  uint16_t symbol;  // a byte, or 256 + length - kMinMatch
  uint16_t distance;
};

uint32_t hash_at(const std::string& text, size_t i) {
  uint32_t value = 0;
  for (size_t j = 0; j < kMinMatch; ++j) {
    value = value << 8U | static_cast<uint8_t>(text[i + j]);
  }
  return value * 2654435761U >> 17U;
}

std::vector<Token> find_repetitions(const std::string& text) {
  std::vector<int32_t> heads(1U << 15U, -1);
  std::vector<int32_t> before(text.size(), -1);
  std::vector<Token> tokens;
  for (size_t i = 0; i < text.size();) {
    size_t best = 0;
    size_t distance = 0;
    if (i + kMinMatch <= text.size()) {
      int32_t at = heads[hash_at(text, i)];
      for (int tries = 0; at >= 0 && i - static_cast<size_t>(at) < kWindow && tries < 12; ++tries) {
        const auto from = static_cast<size_t>(at);
        size_t length = 0;
        while (length < kMaxMatch && i + length < text.size() && text[from + length] == text[i + length]) {
          ++length;
        }
        if (length > best) {
          best = length;
          distance = i - from;
        }
        at = before[from];
      }
    }
    const size_t step = best >= kMinMatch ? best : 1;
    tokens.push_back(best >= kMinMatch ? Token{static_cast<uint16_t>(256 + best - kMinMatch),
                                               static_cast<uint16_t>(distance)}
                                       : Token{static_cast<uint8_t>(text[i]), 0});
    for (size_t j = 0; j < step; ++j, ++i) {
      if (i + kMinMatch <= text.size()) {
        int32_t& head = heads[hash_at(text, i)];
        before[i] = head;
        head = static_cast<int32_t>(i);
      }
    }
  }
  return tokens;
}

// Lengths of Huffman codes.
std::array<uint8_t, kSymbols> code_lengths(const std::vector<Token>& tokens) {
  std::array<uint64_t, kSymbols> counts{};
  for (const Token& token : tokens) {
    ++counts[token.symbol];
  }
  using Node = std::pair<uint64_t, int>;
  std::priority_queue<Node, std::vector<Node>, std::greater<>> queue;
  std::vector<int> parents(2 * kSymbols, -1);
  for (size_t i = 0; i < kSymbols; ++i) {
    if (counts[i] > 0) {
      queue.emplace(counts[i], static_cast<int>(i));
    }
  }
  int next = kSymbols;
  while (queue.size() > 1) {
    const Node a = queue.top();
    queue.pop();
    const Node b = queue.top();
    queue.pop();
    parents[static_cast<size_t>(a.second)] = parents[static_cast<size_t>(b.second)] = next;
    queue.emplace(a.first + b.first, next++);
  }
  std::array<uint8_t, kSymbols> lengths{};
  for (size_t i = 0; i < kSymbols; ++i) {
    for (int at = static_cast<int>(i); counts[i] > 0 && parents[static_cast<size_t>(at)] >= 0;
         at = parents[static_cast<size_t>(at)]) {
      ++lengths[i];
    }
  }
  return lengths;
}

class BitWriter {
 public:
  void put(uint64_t bits, unsigned count) {
    held_ |= bits << filled_;
    filled_ += count;
    while (filled_ >= 8) {
      bytes.push_back(static_cast<uint8_t>(held_));
      held_ >>= 8U;
      filled_ -= 8;
    }
  }
  std::vector<uint8_t> bytes;

 private:
  uint64_t held_ = 0;
  unsigned filled_ = 0;
};

uint64_t reversed(uint64_t code, unsigned length) {
  uint64_t result = 0;
  for (unsigned i = 0; i < length; ++i) {
    result = result << 1U | (code >> i & 1U);
  }
  return result;
}

std::vector<uint8_t> encode(const std::vector<Token>& tokens, const std::array<uint8_t, kSymbols>& lengths) {
  std::array<uint64_t, kSymbols> codes{};
  uint64_t code = 0;
  for (unsigned length = 1; length < 32; ++length, code <<= 1U) {
    for (size_t i = 0; i < kSymbols; ++i) {
      if (lengths[i] == length) {
        codes[i] = reversed(code++, length);
      }
    }
  }
  BitWriter writer;
  for (const Token& token : tokens) {
    writer.put(codes[token.symbol], lengths[token.symbol]);
    if (token.symbol >= 256) {
      writer.put(token.distance, 15);
    }
  }
  writer.put(0, 8);
  return writer.bytes;
}

uint32_t checksum(const std::vector<uint8_t>& bytes) {
  uint32_t sum = ~0U;
  for (const uint8_t byte : bytes) {
    sum ^= byte;
    for (int i = 0; i < 8; ++i) {
      sum = (sum & 1U) != 0 ? sum >> 1U ^ 0xedb88320U : sum >> 1U;
    }
  }
  return ~sum;
}

std::string expand(const std::vector<Token>& tokens) {
  std::string text;
  for (const Token& token : tokens) {
    if (token.symbol < 256) {
      text += static_cast<char>(token.symbol);
      continue;
    }
    for (size_t i = 0; i < token.symbol - 256 + kMinMatch; ++i) {
      text += text[text.size() - token.distance];
    }
  }
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string text = make_text();
  size_t bytes = 0;
  uint32_t sum = 0;
  for (int round = argc > 1 ? std::atoi(argv[1]) : 1; round > 0; --round) {
    const std::vector<Token> tokens = find_repetitions(text);
    const std::vector<uint8_t> packed = encode(tokens, code_lengths(tokens));
    sum ^= checksum(packed);
    bytes += packed.size();
    if (expand(tokens) != text) {
      return 1;
    }
  }
  std::printf("%zu bytes, sum %08x\n", bytes, sum);
}
