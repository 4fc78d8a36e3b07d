#include "formats/gperftools_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/byte_reader.h"

namespace plimsoll::formats {
namespace {

constexpr uint64_t kFirstAddress = 0x10000;
constexpr uint64_t kAddressStep = 0x10;
constexpr size_t kDeepest = 65'536;

// A name must stay on its line, and "--" would part it into a function and one inlined into it.
std::string symbol_line(uint64_t address, std::string name) {
  std::ranges::replace_if(name, [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
  for (size_t at = name.find("--"); at != std::string::npos; at = name.find("--", at)) {
    name.replace(at, 2, "- -");
  }
  return fmt::format("{:#018x} {}\n", address, name);
}

void append_words(std::span<const uint64_t> words, std::string& bytes) {
  bytes += as_text(std::as_bytes(words));
}

}  // namespace

uint64_t GperftoolsWriter::address(std::string_view name) {
  const auto [entry, is_new] =
      addresses_.try_emplace(std::string(name), kFirstAddress + kAddressStep * names_.size());
  if (is_new) {
    names_.emplace_back(name);
    bytes_ += name.size();
  }
  return entry->second;
}

Status GperftoolsWriter::add_sample(std::span<const std::string_view> names, uint64_t count) {
  if (names.empty() || count == 0) {
    return {};
  }
  names = names.first(std::min(names.size(), kDeepest));
  bytes_ += (names.size() + 2) * sizeof(uint64_t);
  if (bytes_ > max_bytes_) {
    return with_hint(
        fail(ErrorCode::kTooLarge, "the gperftools profile has over {} bytes", max_bytes_),
        "select less, with a filter (where) or a shorter time (since, until), or write pprof's format, "
        "which is far smaller");
  }
  words_.push_back(count);
  words_.push_back(names.size());
  for (const std::string_view name : names) {
    words_.push_back(address(name));
  }
  return {};
}

std::string GperftoolsWriter::finish(std::string_view binary) {
  std::string bytes = fmt::format("--- symbol\nbinary={}\n", binary);
  for (size_t i = 0; i < names_.size(); ++i) {
    bytes += symbol_line(kFirstAddress + kAddressStep * i, names_[i]);
  }
  bytes += "---\n--- profile\n";
  // Header: none, three words, version 0, the period in microseconds, padding. Trailer: no count, one address, which is 0.
  constexpr std::array<uint64_t, 5> kHeader{0, 3, 0, 1, 0};
  constexpr std::array<uint64_t, 3> kTrailer{0, 1, 0};
  append_words(kHeader, bytes);
  append_words(words_, bytes);
  append_words(kTrailer, bytes);
  return bytes;
}

}  // namespace plimsoll::formats
