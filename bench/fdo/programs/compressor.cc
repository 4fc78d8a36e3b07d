// Packs headers of the C++ library and code of a program, block by block, takes each block apart again and compares, as often as is said:
// compressor ROUNDS. Repetitions are found by hash chains and written in Huffman codes. A program to make compiler
// profiles of: it is written as archivers are, of filters and streams that hide what is behind them.
#include <algorithm>
#include <boost/crc.hpp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "compressor_codes.h"
#include "compressor_streams.h"

namespace {

struct Block {
  Bytes bytes;
  bool is_code = false;
};

// A repetition that begins a byte later may be longer.
Token choose(MatchFinder& finder, const Bytes& bytes, size_t at) {
  Token found = finder.longest(at);
  finder.enter(at);
  if (found.length != 0 && found.length < 32 && at + 1 < bytes.size() &&
      finder.longest(at + 1).length > found.length + 1) {
    found.length = 0;
  }
  found.byte = bytes[at];
  return found;
}

std::unique_ptr<MatchFinder> finder_for(const Block& block) {
  return block.is_code ? std::unique_ptr<MatchFinder>(std::make_unique<HashChains<3, 6>>(block.bytes))
                       : std::make_unique<HashChains<4, 6>>(block.bytes);
}

struct Packed {
  Bytes bytes;
  size_t filtered_bytes = 0;
  uint32_t sum = 0;  // of what was packed
};

Packed pack(const Block& block) {
  Block filtered{{}, block.is_code};
  MemorySink filtered_memory(filtered.bytes);
  const auto filter = filter_for(block.is_code, filtered_memory);
  ChecksumSink checksum(*filter);
  for (const uint8_t byte : block.bytes) {
    checksum.put(byte);
  }
  checksum.finish();
  const Bytes& bytes = filtered.bytes;
  Packed packed{{}, bytes.size(), checksum.sum()};
  MemorySink memory(packed.bytes);
  FrameSink frames(memory);
  BitWriter out(frames);
  const auto codes = std::make_unique<TokenCodes>();
  const auto finder = finder_for(filtered);
  std::vector<Token> tokens;
  for (size_t at = 0; at < bytes.size();) {
    const Token token = choose(*finder, bytes, at);
    codes->count(token);
    tokens.push_back(token);
    for (size_t end = at + std::max(1U, token.length); ++at < end;) {
      finder->enter(at);
    }
  }
  codes->make();
  codes->write_lengths(out);
  for (const Token& token : tokens) {
    codes->write(out, token);
  }
  out.put(0, 16);  // a reader looks as far ahead
  out.finish();
  return packed;
}

Bytes unpack(const Packed& packed, bool is_code) {
  MemorySource memory(packed.bytes);
  FrameSource frames(memory);
  BitReader in(frames);
  const auto codes = std::make_unique<TokenCodes>();
  codes->read_lengths(in);
  Bytes unpacked;
  MemorySink unpacked_memory(unpacked);
  ChecksumSink checksum(unpacked_memory);
  const auto filter = inverse_filter_for(is_code, checksum);
  Bytes bytes(packed.filtered_bytes);
  size_t at = 0;
  const auto put = [&bytes, &at, &filter](uint8_t byte) {
    bytes[at++] = byte;
    filter->put(byte);
  };
  while (at < bytes.size()) {
    const Token token = codes->read(in);
    if (token.length == 0) {
      put(token.byte);
      continue;
    }
    if (token.distance > at || token.length > bytes.size() - at) {
      throw std::runtime_error("a repetition begins before the block, or ends behind it");
    }
    for (uint32_t i = 0; i < token.length; ++i) {
      put(bytes[at - token.distance]);
    }
  }
  filter->finish();
  if (checksum.sum() != packed.sum) {
    throw std::runtime_error("the archive is damaged");
  }
  return unpacked;
}

constexpr size_t kBlockBytes = size_t{64} << 10U;
constexpr size_t kBlocksOfKind = 8;

void add_file(const std::filesystem::path& path, Bytes& bytes) {
  std::ifstream in(path, std::ios::binary);
  std::string content(std::filesystem::exists(path) ? std::filesystem::file_size(path) : 0, 0);
  in.read(content.data(), static_cast<std::streamsize>(content.size()));
  bytes.insert(bytes.end(), content.begin(), content.end());
}

std::vector<Block> read_blocks() {
  std::vector<std::filesystem::path> headers;
  for (const auto& entry : std::filesystem::recursive_directory_iterator("/usr/include/c++")) {
    if (entry.is_regular_file()) {
      headers.push_back(entry.path());
    }
  }
  std::ranges::sort(headers);
  Bytes text;
  for (size_t i = 0; i < headers.size() && text.size() < kBlocksOfKind * kBlockBytes; ++i) {
    add_file(headers[i], text);
  }
  Bytes code;
  add_file("/bin/bash", code);
  std::vector<Block> blocks;
  for (size_t i = 0; i < kBlocksOfKind; ++i) {
    for (const Bytes* bytes : {&text, &code}) {
      if (bytes->size() < (i + 1) * kBlockBytes) {
        throw std::runtime_error("/usr/include/c++ or /bin/bash is missing, or too short");
      }
      const auto from = bytes->begin() + static_cast<std::ptrdiff_t>(i * kBlockBytes);
      blocks.push_back({Bytes(from, from + static_cast<std::ptrdiff_t>(kBlockBytes)), bytes == &code});
    }
  }
  return blocks;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::vector<Block> blocks = read_blocks();
    size_t bytes = 0;
    boost::crc_32_type sum;
    const long rounds = argc > 1 ? std::atol(argv[1]) : 1;
    for (long round = 0; round < rounds; ++round) {
      const Block& block = blocks[static_cast<size_t>(round) % blocks.size()];
      const Packed packed = pack(block);
      sum.process_bytes(packed.bytes.data(), packed.bytes.size());
      bytes += packed.bytes.size();
      if (unpack(packed, block.is_code) != block.bytes) {
        std::puts("a block is not what it was");
        return 1;
      }
    }
    std::printf("%zu bytes, sum %08x\n", bytes, static_cast<unsigned>(sum.checksum()));
  } catch (const std::exception& error) {
    std::printf("%s\n", error.what());
    return 1;
  }
}
