#include "symbolizer/dwarf/dwarf_file.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "symbolizer/dwarf/debug_image.h"
#include "symbolizer/dwarf/unit_index.h"
#include "symbolizer/dwarf/unit_reader.h"

namespace plimsoll::symbolizer {
namespace {

// libdw keeps what it parses, about five bytes for each of a unit with its lines, until its handle is ended.
constexpr uint64_t kMaxParsedBytes = uint64_t{16} << 20;
constexpr uint64_t kMemoryByParsedByte = 5;

constexpr uint32_t kNoUnit = UINT32_MAX;

}  // namespace

class DwarfFile::Reader {
 public:
  Reader(DebugImage main, std::optional<DebugImage> supplement)
      : main_(std::move(main)), supplement_(std::move(supplement)) {}

  Status build_index() {
    if (auto begun = begin(); !begun) {
      return begun;
    }
    index_ = UnitIndex::build(dwarf_.get(), main_.file().segments());
    end();
    return {};
  }

  Result<std::vector<std::vector<SourceFrame>>> look_up(std::span<const uint64_t> addresses) {
    std::vector<std::vector<SourceFrame>> frames(addresses.size());
    std::vector<uint32_t> units;
    std::ranges::transform(addresses, std::back_inserter(units),
                           [&](uint64_t address) { return index_.unit_of(address).value_or(kNoUnit); });
    std::vector<size_t> order(addresses.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::sort(order, [&](size_t a, size_t b) {
      return std::pair(units[a], addresses[a]) < std::pair(units[b], addresses[b]);
    });
    for (auto first = order.begin(); first != order.end() && units[*first] != kNoUnit;) {
      const uint32_t unit = units[*first];
      const auto last = std::find_if(first, order.end(), [&](size_t i) { return units[i] != unit; });
      if (auto read = read_unit(unit, addresses, {first, last}, frames); !read) {
        return propagate(read);
      }
      first = last;
    }
    return frames;
  }

  bool has_functions() const { return index_.has_functions(); }

  uint64_t memory_bytes() const {
    const uint64_t decompressed =
        main_.decompressed_bytes() + (supplement_ ? supplement_->decompressed_bytes() : 0);
    return index_.memory_bytes() + decompressed + kMemoryByParsedByte * parsed_bytes_;
  }

 private:
  // libdw's own handles: cheap to make again once the sections are decompressed.
  Status begin() {
    if (dwarf_ != nullptr) {
      return {};
    }
    if (auto begun = begin(main_, elf_, dwarf_); !begun) {
      return begun;
    }
    if (supplement_) {
      if (auto begun = begin(*supplement_, supplement_elf_, supplement_dwarf_); !begun) {
        end();
        return propagate(begun, "its supplementary file");
      }
      ::dwarf_setalt(dwarf_.get(), supplement_dwarf_.get());
    }
    return {};
  }

  static Status begin(const DebugImage& image, ElfHandle& elf, DwarfHandle& dwarf) {
    if (elf == nullptr) {
      auto opened = image.open();
      if (!opened) {
        return propagate(opened);
      }
      elf = std::move(*opened);
    }
    dwarf.reset(::dwarf_begin_elf(elf.get(), DWARF_C_READ, nullptr));
    return dwarf == nullptr ? Status(fail(ErrorCode::kCorrupt, "libdw: {}", last_dwarf_error())) : Status();
  }

  void end() {
    trees_ = {};
    dwarf_.reset();
    supplement_dwarf_.reset();
    parsed_bytes_ = 0;
  }

  Status read_unit(uint32_t number, std::span<const uint64_t> addresses, std::span<const size_t> wanted,
                   std::vector<std::vector<SourceFrame>>& frames) {
    const DwarfUnit& unit = index_.units()[number];
    if (parsed_bytes_ != 0 && parsed_bytes_ + unit.bytes > kMaxParsedBytes) {
      end();
    }
    if (auto begun = begin(); !begun) {
      return begun;
    }
    parsed_bytes_ += unit.bytes;
    Dwarf_Die die{};
    if (::dwarf_offdie(dwarf_.get(), unit.die_offset, &die) == nullptr) {
      return {};  // the rest of the file may still be sound
    }
    UnitReader reader(die, !unit.is_skeleton, trees_);
    for (const size_t i : wanted) {
      frames[i] = reader.frames_at(addresses[i]);
    }
    return {};
  }

  DebugImage main_;
  std::optional<DebugImage> supplement_;
  UnitIndex index_;
  ElfHandle elf_;
  ElfHandle supplement_elf_;
  DwarfHandle supplement_dwarf_;  // outlives dwarf_, which refers to it
  DwarfHandle dwarf_;             // null: to be begun
  UnitTrees trees_;               // of dwarf_
  uint64_t parsed_bytes_ = 0;     // of units that dwarf_ has parsed
};

DwarfFile::DwarfFile(std::unique_ptr<Reader> reader) : reader_(std::move(reader)) {}
DwarfFile::DwarfFile(DwarfFile&& other) noexcept = default;
DwarfFile& DwarfFile::operator=(DwarfFile&& other) noexcept = default;
DwarfFile::~DwarfFile() = default;

Result<DwarfFile> DwarfFile::open(std::span<std::byte> image, std::span<std::byte> supplement) {
  auto main = DebugImage::check(image, DebugImage::Role::kMain);
  if (!main) {
    return propagate(main);
  }
  std::optional<DebugImage> checked_supplement;
  if (main->needs_supplement()) {
    if (supplement.empty()) {
      // Left alone, libdw would open whatever path .gnu_debugaltlink names.
      return fail(ErrorCode::kNotFound, "its DWARF refers to a supplementary file that was not found");
    }
    auto checked = DebugImage::check(supplement, DebugImage::Role::kSupplement);
    if (!checked || checked->needs_supplement()) {
      return checked ? fail(ErrorCode::kCorrupt, "its supplementary file refers to another one")
                     : propagate(checked, "its supplementary file");
    }
    checked_supplement = std::move(*checked);
  }
  auto reader = std::make_unique<Reader>(std::move(*main), std::move(checked_supplement));
  if (auto built = reader->build_index(); !built) {
    return propagate(built);
  }
  return DwarfFile(std::move(reader));
}

Result<std::vector<std::vector<SourceFrame>>> DwarfFile::look_up(std::span<const uint64_t> addresses) {
  return reader_->look_up(addresses);
}

bool DwarfFile::has_functions() const {
  return reader_->has_functions();
}

uint64_t DwarfFile::memory_bytes() const {
  return reader_->memory_bytes();
}

}  // namespace plimsoll::symbolizer
