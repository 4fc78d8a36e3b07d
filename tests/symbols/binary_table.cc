#include "tests/symbols/binary_table.h"

#include <elf.h>

#include <deque>
#include <filesystem>

#include "base/file.h"
#include "elf/elf_file.h"
#include "symbolizer/dwarf/table_builder.h"

namespace plimsoll::testing {
namespace {

constexpr uint64_t kMaxFileBytes = uint64_t{4} << 30U;

// Files stay mapped as long as it lives.
class Mappings {
 public:
  // Nothing of no path.
  Result<Bytes> map(const std::string& path) {
    if (path.empty()) {
      return Bytes();
    }
    auto file = MappedFile::open(path, kMaxFileBytes);
    if (!file) {
      return propagate(file);
    }
    files_.push_back(std::move(*file));
    return files_.back().bytes();
  }

 private:
  std::deque<MappedFile> files_;
};

// Hand-written assembly has tables among its code, and labels of no type.
bool names_code(const elf::Symbol& symbol) {
  return symbol.type == STT_FUNC || symbol.type == STT_GNU_IFUNC || symbol.type == STT_NOTYPE ||
         symbol.type == STT_OBJECT;
}

std::vector<symbolizer::NamedCode> symbols_of(const elf::ElfFile& file, uint32_t section_type) {
  std::vector<symbolizer::NamedCode> symbols;
  std::string_view source;
  file.for_each_symbol(section_type, [&](const elf::Symbol& symbol) {
    if (symbol.type == STT_FILE) {
      source = symbol.name;
    } else if (names_code(symbol) && !symbol.name.empty()) {
      symbols.push_back({symbol.address, symbol.size_bytes, symbol.name,
                         symbol.binding == STB_LOCAL ? source : std::string_view()});
    }
  });
  return symbols;
}

std::string path_of(const symbolizer::SplitName& split) {
  // An absolute name stands for itself.
  return (std::filesystem::path(split.directory) / split.name).string();
}

}  // namespace

Result<BinaryTable> BinaryTable::build(const BinaryFiles& files) {
  Mappings mappings;
  const auto binary = mappings.map(files.binary);
  const auto debug = binary ? mappings.map(files.debug) : propagate(binary);
  const auto supplement = debug ? mappings.map(files.supplement) : propagate(debug);
  const auto package = supplement ? mappings.map(files.package) : propagate(supplement);
  const auto linked = package ? elf::ElfFile::parse(*binary) : propagate(package);
  if (!linked) {
    return propagate(linked);
  }
  const Bytes described = files.debug.empty() ? *binary : *debug;
  const auto described_file = elf::ElfFile::parse(described);
  if (!described_file) {
    return propagate(described_file);
  }
  symbolizer::TableInputs inputs;
  inputs.debug = described;
  inputs.supplement = *supplement;
  inputs.package = *package;
  inputs.find_split = [&](const symbolizer::SplitName& name) {
    return mappings.map(path_of(name)).value_or(Bytes());
  };
  inputs.symbols = symbols_of(*described_file, SHT_SYMTAB);
  inputs.symbol_quality = symbolizer::SymtabQuality::kSymtab;
  if (inputs.symbols.empty()) {
    inputs.symbols = symbols_of(*linked, SHT_DYNSYM);
    inputs.symbol_quality = symbolizer::SymtabQuality::kDynsym;
  }
  inputs.segments = linked->segments();
  auto built = symbolizer::build_table(inputs);
  auto bytes = std::make_unique<std::string>(std::move(built.bytes));
  const auto table = symbolizer::Symtab::open(as_bytes(*bytes));
  if (!table) {
    return propagate(table);
  }
  return BinaryTable(std::move(bytes), *table, std::move(built.problems));
}

Chain BinaryTable::chain_at(uint64_t address) const {
  std::vector<symbolizer::SymtabFrame> frames;
  table_.look_up(address, frames);
  Chain chain;
  for (const symbolizer::SymtabFrame& frame : frames) {
    chain.push_back({std::string(frame.function), std::string(frame.file), frame.line});
  }
  return chain;
}

}  // namespace plimsoll::testing
