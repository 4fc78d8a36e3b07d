#include "symbolizer/worker/symbol_source.h"

#include <elf.h>

#include <algorithm>

#include "base/byte_reader.h"
#include "elf/elf_file.h"

namespace plimsoll::symbolizer {
namespace {

constexpr std::string_view kNoNames = "no profile contains its symbols";

}  // namespace

BinarySymbols::BinarySymbols(std::optional<MappedTable> table, std::string reasons, std::string looked_at)
    : table_(std::move(table)), reasons_(std::move(reasons)), looked_at_(std::move(looked_at)) {
  if (table_) {
    quality_ = static_cast<store::SymbolQuality>(table_->table.quality());
  }
}

std::optional<uint64_t> BinarySymbols::address_of(uint64_t file_offset) const {
  return table_ ? table_->table.address_of(file_offset) : std::nullopt;
}

std::vector<store::Frame> BinarySymbols::frames_at(uint64_t address, std::vector<SymtabFrame>& found) const {
  std::vector<store::Frame> frames;
  found.clear();
  if (table_) {
    table_->table.look_up(address, found);
  }
  for (const SymtabFrame& frame : found) {
    if (!frame.function.empty()) {
      frames.push_back({.function = std::string(frame.known_as),
                        .file = std::string(frame.file),
                        .line = frame.line,
                        .linkage_name = std::string(frame.function),
                        .column = frame.column,
                        .discriminator = frame.discriminator,
                        .start_line = frame.start_line,
                        .is_inlined = frame.is_inlined});
    }
  }
  if (const FunctionSymbol* const symbol = symbols_.find(address); symbol != nullptr) {
    frames.push_back({.linkage_name = symbol->name});
  }
  return frames;
}

std::vector<std::vector<store::Frame>> BinarySymbols::frames_at(std::span<const uint64_t> addresses) const {
  std::vector<std::vector<store::Frame>> frames;
  frames.reserve(addresses.size());
  std::vector<SymtabFrame> found;
  for (const uint64_t address : addresses) {
    frames.push_back(frames_at(address, found));
  }
  return frames;
}

std::optional<uint64_t> BinarySymbols::elf_address_of(wire::LocationKind kind, uint64_t address) const {
  if (kind == wire::ELF_FILE_OFFSET) {
    return address_of(address);
  }
  if (kind != wire::KERNEL) {
    return address;
  }
  const auto text = table_ ? table_->table.kernel_text() : std::nullopt;
  return text ? std::optional(*text + address) : std::nullopt;
}

std::vector<store::Frame> BinarySymbols::frames_of(wire::LocationKind kind, uint64_t address) const {
  const bool is_of_kernel = kind == wire::KERNEL || kind == wire::MODULE;
  const FunctionSymbol* const name = is_of_kernel ? kernel_names_.find(address) : nullptr;
  // Of several names of one function a stripped file may have another than kallsyms: without lines it changes
  // nothing.
  const bool has_only_names = name != nullptr && quality_ < store::SymbolQuality::kLines;
  const auto elf_address = has_only_names ? std::nullopt : elf_address_of(kind, address);
  std::vector<store::Frame> frames;
  if (elf_address) {
    std::vector<SymtabFrame> found;
    frames = frames_at(*elf_address, found);
  }
  if (frames.empty() && name != nullptr) {
    frames.push_back({.linkage_name = name->name});
  }
  return frames;
}

uint64_t BinarySymbols::memory_bytes() const {
  return symbols_.memory_bytes() + kernel_names_.memory_bytes() + (table_ ? table_->map.bytes().size() : 0) +
         looked_at_.size() + reasons_.size();
}

BinarySymbols with_kernel_names(BinarySymbols of_files, const std::string& image, std::string_view state) {
  BinarySymbols result = std::move(of_files);
  result.looked_at_ = fmt::format("{}\n{}", state, result.looked_at_);
  wire::KernelImage parsed;
  if (image.empty() || !parsed.ParseFromString(image)) {
    if (result.quality_ < store::SymbolQuality::kSymtab && !result.reasons_.starts_with(kNoNames)) {
      result.reasons_ = fmt::format("{}{}{}", kNoNames, result.reasons_.empty() ? "" : "; ", result.reasons_);
    }
    return result;
  }
  std::vector<FunctionSymbol> names;
  uint64_t offset = 0;
  ByteReader texts(as_bytes(parsed.names()));
  for (const uint64_t delta : parsed.offset_delta()) {
    offset += delta;
    names.push_back({offset, 0, std::string(texts.c_string())});
  }
  result.kernel_names_ = SymbolTable::from_offsets(std::move(names), UINT64_MAX);
  result.quality_ = std::max(result.quality_, store::SymbolQuality::kSymtab);
  // All have names, as a kernel without debug information should.
  result.reasons_.clear();
  return result;
}

BinarySymbols read_vdso_symbols(std::string_view build_id) {
  BinarySymbols result({}, {}, "this process's vdso");
  const auto file = elf::own_vdso();
  if (!file || file->build_id() != build_id) {
    result.reasons_ = file ? "it belongs to another kernel" : file.error().text();
    return result;
  }
  result.symbols_ = SymbolTable::from_elf(*file, SHT_DYNSYM);
  result.quality_ = store::SymbolQuality::kDynsym;
  return result;
}

}  // namespace plimsoll::symbolizer
