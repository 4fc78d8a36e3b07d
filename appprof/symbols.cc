#include "appprof/symbols.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

namespace plimsoll::appprof {
namespace {

constexpr uint64_t kMaxTableBytes = uint64_t{256} << 20;

// What lies there; shorter where the file ends, empty where it is too much.
std::string read_part(int file, uint64_t offset, uint64_t size) {
  std::string part;
  if (size > kMaxTableBytes || offset > INT64_MAX - size) {
    return part;
  }
  // Grown as it comes: a false size allocates nothing.
  constexpr uint64_t kStep = uint64_t{1} << 20;
  for (ssize_t got = 1; part.size() < size && got > 0;) {
    const size_t had = part.size();
    part.resize(had + std::min(kStep, size - had));
    got = ::pread(file, part.data() + had, part.size() - had, static_cast<off_t>(offset + had));
    part.resize(had + static_cast<size_t>(std::max<ssize_t>(got, 0)));
  }
  return part;
}

template <typename T>
std::optional<T> read_at(int file, uint64_t offset) {
  const std::string part = read_part(file, offset, sizeof(T));
  if (part.size() < sizeof(T)) {
    return std::nullopt;
  }
  T value;
  std::memcpy(&value, part.data(), sizeof(T));
  return value;
}

std::vector<Symbol> functions_of(std::string_view table, std::string_view names) {
  std::vector<Symbol> symbols;
  for (; table.size() >= sizeof(Elf64_Sym); table.remove_prefix(sizeof(Elf64_Sym))) {
    Elf64_Sym entry;
    std::memcpy(&entry, table.data(), sizeof(entry));
    if (ELF64_ST_TYPE(entry.st_info) == STT_FUNC && entry.st_shndx != SHN_UNDEF &&
        entry.st_name < names.size()) {
      const std::string_view rest = names.substr(entry.st_name);
      symbols.push_back({entry.st_value, entry.st_size, std::string(rest.substr(0, rest.find('\0')))});
    }
  }
  return symbols;
}

}  // namespace

std::vector<Symbol> read_symbols(int file) {
  std::vector<Symbol> symbols;
  const auto head = read_at<Elf64_Ehdr>(file, 0);
  if (!head || std::memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 || head->e_ident[EI_CLASS] != ELFCLASS64 ||
      head->e_ident[EI_DATA] != ELFDATA2LSB || head->e_shentsize != sizeof(Elf64_Shdr)) {
    return symbols;
  }
  std::vector<Elf64_Shdr> sections;
  for (uint64_t i = 0; i < head->e_shnum; ++i) {
    const auto section = read_at<Elf64_Shdr>(file, head->e_shoff + i * sizeof(Elf64_Shdr));
    if (!section) {
      break;
    }
    sections.push_back(*section);
  }
  for (const uint32_t wanted : {uint32_t{SHT_SYMTAB}, uint32_t{SHT_DYNSYM}}) {
    for (const Elf64_Shdr& section : sections) {
      if (symbols.empty() && section.sh_type == wanted && section.sh_link < sections.size()) {
        const Elf64_Shdr& names = sections[section.sh_link];
        symbols = functions_of(read_part(file, section.sh_offset, section.sh_size),
                               read_part(file, names.sh_offset, names.sh_size));
      }
    }
  }
  std::sort(symbols.begin(), symbols.end(),
            [](const Symbol& a, const Symbol& b) { return a.address < b.address; });
  return symbols;
}

const std::vector<Symbol>& SymbolSource::symbols_of(const std::string& path) {
  const auto [place, is_new] = files_.try_emplace(path);
  if (is_new) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat status{};
    if (file >= 0 && ::fstat(file, &status) == 0 && S_ISREG(status.st_mode)) {
      place->second = read_symbols(file);
    }
    if (file >= 0) {
      ::close(file);
    }
  }
  return place->second;
}

std::string SymbolSource::name_at(uintptr_t address) {
  const LoadedObject* object = code_.find_object(address);
  if (object == nullptr) {
    return {};
  }
  const std::vector<Symbol>& symbols = symbols_of(object->path);
  const uint64_t inside = address - object->bias;
  auto after = std::upper_bound(symbols.begin(), symbols.end(), inside,
                                [](uint64_t at, const Symbol& symbol) { return at < symbol.address; });
  // Of several that begin there or before, the nearest that reaches the address; one without a size reaches the next.
  for (int tries = 0; after != symbols.begin() && tries < 16; ++tries) {
    --after;
    if (inside < after->address + after->size || (after->size == 0 && tries == 0)) {
      return after->name;
    }
  }
  return {};
}

}  // namespace plimsoll::appprof
