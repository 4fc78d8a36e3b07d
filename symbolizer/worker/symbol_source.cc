#include "symbolizer/worker/symbol_source.h"

#include <elf.h>

#include <algorithm>

#include "base/byte_reader.h"
#include "elf/elf_file.h"

namespace plimsoll::symbolizer {

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

uint64_t BinarySymbols::memory_bytes() const {
  return symbols_.memory_bytes() + (table_ ? table_->map.bytes().size() : 0) + looked_at_.size() +
         reasons_.size();
}

BinarySymbols read_kernel_symbols(const std::string& image, std::string looked_at) {
  BinarySymbols result({}, {}, std::move(looked_at));
  wire::KernelImage parsed;
  if (image.empty() || !parsed.ParseFromString(image)) {
    result.reasons_ = "no profile contains its symbols";
    return result;
  }
  std::vector<FunctionSymbol> symbols;
  uint64_t offset = 0;
  ByteReader names(as_bytes(parsed.names()));
  for (const uint64_t delta : parsed.offset_delta()) {
    offset += delta;
    symbols.push_back({offset, 0, std::string(names.c_string())});
  }
  result.symbols_ = SymbolTable::from_offsets(std::move(symbols), UINT64_MAX);
  result.quality_ = store::SymbolQuality::kSymtab;
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
