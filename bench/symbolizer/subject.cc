#include "bench/symbolizer/subject.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <unordered_set>

#include "base/file.h"
#include "bench/harness/child.h"
#include "elf/elf_file.h"

namespace plimsoll::bench {
namespace {

// Below where scripts/install.sh unpacks packages.
constexpr const char* kLargeBinary = "usr/bin/ceph-osd";
constexpr uint64_t kMinDwarfBytes = 200'000'000;
constexpr uint64_t kMaxFileBytes = uint64_t{4} << 30U;

// Where Debian puts what was taken out of a binary.
std::string debug_path(const std::string& root, std::string_view build_id) {
  std::string hex;
  for (const char byte : build_id) {
    hex += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  }
  return hex.size() < 4
             ? std::string()
             : fmt::format("{}/usr/lib/debug/.build-id/{}/{}.debug", root, hex.substr(0, 2), hex.substr(2));
}

// As they are once decompressed.
uint64_t dwarf_bytes(const elf::ElfFile& file, Bytes image) {
  uint64_t total = 0;
  for (const elf::Section& section : file.sections()) {
    if (!section.name.starts_with(".debug_")) {
      continue;
    }
    const auto bytes = slice(image, section.file_offset, section.size_bytes, "a section");
    ByteReader reader(bytes.value_or(Bytes()));
    total += (section.flags & SHF_COMPRESSED) != 0 ? reader.read<Elf64_Chdr>().ch_size : section.size_bytes;
  }
  return total;
}

Result<Subject> with_dwarf_bytes(Subject subject) {
  const auto image = MappedFile::open(subject.debug, kMaxFileBytes);
  const auto file = image ? elf::ElfFile::parse(image->bytes()) : propagate(image);
  if (!file) {
    return propagate(file);
  }
  subject.dwarf_bytes = dwarf_bytes(*file, image->bytes());
  return subject;
}

Result<Subject> find_large_subject() {
  const std::string root = sibling_program("../bench-packages");
  const std::string binary = root + "/" + kLargeBinary;
  const auto image = MappedFile::open(binary, kMaxFileBytes);
  const auto file = image ? elf::ElfFile::parse(image->bytes()) : propagate(image);
  auto subject =
      file ? with_dwarf_bytes({"ceph-osd", binary, debug_path(root, file->build_id())}) : propagate(file);
  if (!subject) {
    return with_hint(propagate(subject), "scripts/install.sh --bench unpacks it");
  }
  if (subject->dwarf_bytes < kMinDwarfBytes) {
    return fail(ErrorCode::kNotFound, "{} has {} bytes of DWARF only", subject->debug, subject->dwarf_bytes);
  }
  return subject;
}

}  // namespace

Result<Subject> find_subject(const Flags& flags) {
  if (flags.quick) {
    const std::string own = sibling_program("plimsoll");
    return with_dwarf_bytes({"plimsoll", own, own});
  }
  return find_large_subject();
}

std::vector<std::string> table_command(const Subject& subject, const std::string& table) {
  return {sibling_program("make_table"), subject.binary, subject.debug, table};
}

Result<CodeAddresses> CodeAddresses::of(const std::string& binary) {
  const auto image = MappedFile::open(binary, kMaxFileBytes);
  const auto file = image ? elf::ElfFile::parse(image->bytes()) : propagate(image);
  if (!file) {
    return propagate(file);
  }
  std::vector<Range> ranges;
  for (const elf::Section& section : file->sections()) {
    if ((section.flags & SHF_EXECINSTR) != 0 && section.size_bytes != 0) {
      ranges.push_back({section.address, section.address + section.size_bytes});
    }
  }
  if (ranges.empty()) {
    return fail(ErrorCode::kNotFound, "{} has no executable section", binary);
  }
  return CodeAddresses(std::move(ranges));
}

uint64_t CodeAddresses::draw_one() {
  const uint64_t bytes =
      std::accumulate(ranges_.begin(), ranges_.end(), uint64_t{0},
                      [](uint64_t sum, const Range& range) { return sum + (range.end - range.begin); });
  uint64_t at = std::uniform_int_distribution<uint64_t>(0, bytes - 1)(random_);
  auto range = ranges_.begin();
  for (; at >= range->end - range->begin; ++range) {
    at -= range->end - range->begin;
  }
  return range->begin + at;
}

std::vector<uint64_t> CodeAddresses::draw(size_t count) {
  std::unordered_set<uint64_t> seen;
  std::vector<uint64_t> drawn;
  while (drawn.size() < count) {
    if (const uint64_t address = draw_one(); seen.insert(address).second) {
      drawn.push_back(address);
    }
  }
  return drawn;
}

}  // namespace plimsoll::bench
