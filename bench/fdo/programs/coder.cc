// Codes headers of the C++ library and code of a program bit by bit with a range coder, decodes them and compares, as often as is said:
// coder ROUNDS. Each bit has a chance that follows the bits before it in the same context, as in archivers of the LZMA family: its branches
// depend on the data and are hard to predict. A program to make compiler profiles of.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

namespace {

using Bytes = std::vector<uint8_t>;

constexpr uint32_t kLowestRange = 1U << 24U;
constexpr unsigned kChanceBits = 11;
constexpr unsigned kAdaption = 5;

// The chance of a 0, of 2^11.
struct Chance {
  uint16_t zero = 1U << (kChanceBits - 1);
};

class Encoder {
 public:
  explicit Encoder(Bytes& out) : out_(out) {}
  void put(Chance& chance, uint32_t bit) {
    const uint32_t bound = (range_ >> kChanceBits) * chance.zero;
    if (bit == 0) {
      range_ = bound;
      chance.zero = static_cast<uint16_t>(chance.zero + (((1U << kChanceBits) - chance.zero) >> kAdaption));
    } else {
      low_ += bound;
      range_ -= bound;
      chance.zero = static_cast<uint16_t>(chance.zero - (chance.zero >> kAdaption));
    }
    while (range_ < kLowestRange) {
      range_ <<= 8U;
      shift_low();
    }
  }
  void finish() {
    for (int i = 0; i < 5; ++i) {
      shift_low();
    }
  }

 private:
  // The highest byte, once no carry can reach it any more.
  void shift_low() {
    if (low_ < 0xff000000U || low_ > 0xffffffffU) {
      const auto carry = static_cast<uint8_t>(low_ >> 32U);
      for (; held_ > 0; --held_) {
        out_.push_back(static_cast<uint8_t>(first_ + carry));
        first_ = 0xff;
      }
      first_ = static_cast<uint8_t>(low_ >> 24U);
    }
    ++held_;
    low_ = (low_ & 0x00ffffffU) << 8U;
  }

  Bytes& out_;
  uint64_t low_ = 0;
  uint32_t range_ = ~0U;
  uint64_t held_ = 1;
  uint8_t first_ = 0;
};

class Decoder {
 public:
  explicit Decoder(const Bytes& in) : in_(in) {
    for (int i = 0; i < 5; ++i) {
      code_ = code_ << 8U | next();
    }
  }
  uint32_t get(Chance& chance) {
    const uint32_t bound = (range_ >> kChanceBits) * chance.zero;
    uint32_t bit = 0;
    if (code_ < bound) {
      range_ = bound;
      chance.zero = static_cast<uint16_t>(chance.zero + (((1U << kChanceBits) - chance.zero) >> kAdaption));
    } else {
      code_ -= bound;
      range_ -= bound;
      chance.zero = static_cast<uint16_t>(chance.zero - (chance.zero >> kAdaption));
      bit = 1;
    }
    while (range_ < kLowestRange) {
      range_ <<= 8U;
      code_ = code_ << 8U | next();
    }
    return bit;
  }

 private:
  uint32_t next() { return at_ < in_.size() ? in_[at_++] : 0; }

  const Bytes& in_;
  size_t at_ = 0;
  uint32_t range_ = ~0U;
  uint32_t code_ = 0;
};

// A byte behind two others: the bits before it in the byte, and a few of the bytes before, choose the chance.
class Model {
 public:
  void begin() { chances_.assign(kContexts * 256, Chance()); }
  void put(Encoder& out, uint8_t byte) {
    Chance* const chances = context();
    uint32_t node = 1;
    for (int i = 7; i >= 0; --i) {
      const uint32_t bit = byte >> i & 1U;
      out.put(chances[node], bit);
      node = node << 1U | bit;
    }
    add(byte);
  }
  uint8_t get(Decoder& in) {
    Chance* const chances = context();
    uint32_t node = 1;
    while (node < 256) {
      node = node << 1U | in.get(chances[node]);
    }
    add(static_cast<uint8_t>(node));
    return static_cast<uint8_t>(node);
  }

 private:
  static constexpr size_t kContexts = 1U << 11U;

  Chance* context() { return chances_.data() + size_t{256} * ((before_ & 0xffU) << 3U | before_ >> 13U); }
  void add(uint8_t byte) { before_ = (before_ << 8U | byte) & 0xffffU; }

  std::vector<Chance> chances_;
  uint32_t before_ = 0;
};

constexpr size_t kBlockBytes = size_t{64} << 10U;

Bytes read_block(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  Bytes bytes(kBlockBytes);
  in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<size_t>(in.gcount()));
  return bytes;
}

std::vector<Bytes> read_blocks() {
  std::vector<std::filesystem::path> files{"/bin/bash"};
  for (const auto& entry : std::filesystem::recursive_directory_iterator("/usr/include/c++")) {
    if (entry.is_regular_file() && entry.file_size() >= kBlockBytes) {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  std::vector<Bytes> blocks;
  for (size_t i = 0; i < std::min<size_t>(files.size(), 8); ++i) {
    blocks.push_back(read_block(files[i]));
  }
  return blocks;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<Bytes> blocks = read_blocks();
  size_t bytes = 0;
  const auto model = std::make_unique<Model>();
  const long rounds = argc > 1 ? std::atol(argv[1]) : 1;
  for (long round = 0; round < rounds; ++round) {
    const Bytes& block = blocks[static_cast<size_t>(round) % blocks.size()];
    Bytes packed;
    Encoder out(packed);
    *model = Model();
    model->begin();
    for (const uint8_t byte : block) {
      model->put(out, byte);
    }
    out.finish();
    bytes += packed.size();
    Bytes unpacked;
    Decoder in(packed);
    *model = Model();
    model->begin();
    while (unpacked.size() < block.size()) {
      unpacked.push_back(model->get(in));
    }
    if (unpacked != block) {
      std::puts("a block is not what it was");
      return 1;
    }
  }
  std::printf("%zu bytes\n", bytes);
}
