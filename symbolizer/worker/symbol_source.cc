#include "symbolizer/worker/symbol_source.h"

#include <elf.h>

#include <algorithm>

#include "base/byte_reader.h"

namespace plimsoll::symbolizer {

std::optional<uint64_t> BinarySymbols::address_of(uint64_t file_offset) const {
  return elf::address_of(segments_, file_offset);
}

std::vector<store::Frame> BinarySymbols::frames_of(std::vector<SourceFrame> found, uint64_t address) const {
  const FunctionSymbol* const symbol = table_.find(address);
  std::vector<store::Frame> frames;
  for (SourceFrame& frame : found) {
    frames.push_back({std::move(frame.function), std::move(frame.file), frame.line});
  }
  if (frames.empty()) {
    frames.emplace_back();
  }
  // Assembly, the PLT and skeletons of split DWARF have their names in the symbol table alone.
  if (frames.back().function.empty() && symbol != nullptr) {
    frames.back().function = symbol->name;
  }
  std::erase_if(frames, [](const store::Frame& frame) { return frame.function.empty(); });
  return frames;
}

std::vector<std::vector<store::Frame>> BinarySymbols::frames_at(std::span<const uint64_t> addresses) {
  std::vector<std::vector<SourceFrame>> found(addresses.size());
  if (dwarf_) {
    if (auto looked_up = dwarf_->look_up(addresses); looked_up) {
      found = std::move(*looked_up);
    }
  }
  std::vector<std::vector<store::Frame>> frames;
  for (size_t i = 0; i < addresses.size(); ++i) {
    frames.push_back(frames_of(std::move(found[i]), addresses[i]));
  }
  return frames;
}

uint64_t BinarySymbols::memory_bytes() const {
  return table_.memory_bytes() + (dwarf_ ? dwarf_->memory_bytes() : 0) + looked_at_.size() + reasons_.size();
}

BinarySymbols read_kernel_symbols(const std::string& image, std::string looked_at) {
  BinarySymbols result;
  result.looked_at_ = std::move(looked_at);
  wire::KernelImage parsed;
  if (image.empty() || !parsed.ParseFromString(image)) {
    result.reasons_ = "no profile brought its symbols";
    return result;
  }
  std::vector<FunctionSymbol> symbols;
  uint64_t offset = 0;
  ByteReader names(as_bytes(parsed.names()));
  for (const uint64_t delta : parsed.offset_delta()) {
    offset += delta;
    symbols.push_back({offset, 0, std::string(names.c_string())});
  }
  result.table_ = SymbolTable::from_offsets(std::move(symbols), UINT64_MAX);
  result.quality_ = store::SymbolQuality::kSymtab;
  return result;
}

BinarySymbols read_vdso_symbols(std::string_view build_id) {
  BinarySymbols result;
  result.looked_at_ = "this process's vdso";
  const auto file = elf::own_vdso();
  if (!file || file->build_id() != build_id) {
    result.reasons_ = file ? "it is another kernel's" : file.error().text();
    return result;
  }
  result.table_ = SymbolTable::from_elf(*file, SHT_DYNSYM);
  result.quality_ = store::SymbolQuality::kDynsym;
  return result;
}

}  // namespace plimsoll::symbolizer
