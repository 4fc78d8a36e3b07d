#include "appprof/symbols.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <optional>

namespace plimsoll::appprof {
namespace {

constexpr uint64_t kMaxTableBytes = uint64_t{1} << 30;
constexpr uint64_t kMaxNoteBytes = 65'536;
constexpr size_t kMaxNameBytes = 4096;
constexpr size_t kSymbolsAtOnce = 1024;
// Of a file; further ones are unknown.
constexpr size_t kMaxNamesBytes = size_t{16} << 20;

// How many bytes of those wanted are there.
size_t read_at(int file, uint64_t offset, void* to, size_t size) {
  const ssize_t got = offset > INT64_MAX ? -1 : ::pread(file, to, size, static_cast<off_t>(offset));
  return static_cast<size_t>(std::max<ssize_t>(got, 0));
}

template <typename T>
std::optional<T> read_whole(int file, uint64_t offset) {
  T value;
  return read_at(file, offset, &value, sizeof(T)) == sizeof(T) ? std::optional(value) : std::nullopt;
}

std::string name_at(int file, const Elf64_Shdr& names, uint64_t offset) {
  std::array<char, kMaxNameBytes> text{};
  const uint64_t left = offset < names.sh_size ? names.sh_size - offset : 0;
  const size_t size =
      read_at(file, names.sh_offset + offset, text.data(), std::min<uint64_t>(text.size(), left));
  return {text.data(), ::strnlen(text.data(), size)};
}

// The symbol of each address that begins last of those that reach it.
struct Best {
  uint64_t begin = 0;
  uint64_t name = 0;
  bool is_found = false;
};

void search_table(int file, const Elf64_Shdr& table, std::span<const uint64_t> addresses,
                  std::vector<Best>& best) {
  std::vector<Elf64_Sym> symbols(kSymbolsAtOnce);
  const uint64_t count = std::min(table.sh_size, kMaxTableBytes) / sizeof(Elf64_Sym);
  for (uint64_t done = 0; done < count;) {
    const size_t wanted = std::min<uint64_t>(kSymbolsAtOnce, count - done);
    const size_t got = read_at(file, table.sh_offset + done * sizeof(Elf64_Sym), symbols.data(),
                               wanted * sizeof(Elf64_Sym)) /
                       sizeof(Elf64_Sym);
    for (const Elf64_Sym& symbol : std::span(symbols).first(got)) {
      if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF) {
        continue;
      }
      for (auto address = std::ranges::lower_bound(addresses, symbol.st_value);
           address != addresses.end() && *address - symbol.st_value < symbol.st_size; ++address) {
        Best& of = best[static_cast<size_t>(address - addresses.begin())];
        if (!of.is_found || symbol.st_value > of.begin) {
          of = {symbol.st_value, symbol.st_name, true};
        }
      }
    }
    if (got < wanted) {
      return;  // the file is shorter than it says
    }
    done += got;
  }
}

std::vector<Elf64_Shdr> sections_of(int file) {
  std::vector<Elf64_Shdr> sections;
  const auto head = read_whole<Elf64_Ehdr>(file, 0);
  if (!head || std::memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 || head->e_ident[EI_CLASS] != ELFCLASS64 ||
      head->e_ident[EI_DATA] != ELFDATA2LSB || head->e_shentsize != sizeof(Elf64_Shdr)) {
    return sections;
  }
  for (uint64_t i = 0; i < head->e_shnum; ++i) {
    const auto section = read_whole<Elf64_Shdr>(file, head->e_shoff + i * sizeof(Elf64_Shdr));
    if (!section) {
      break;
    }
    sections.push_back(*section);
  }
  return sections;
}

// Whether the file still is the one that was loaded: a deployment may have put another there. Yes, where the loaded one has no ID.
bool is_of_build(int file, const std::string& build_id) {
  if (build_id.empty()) {
    return true;
  }
  for (const Elf64_Shdr& section : sections_of(file)) {
    if (section.sh_type == SHT_NOTE && section.sh_size <= kMaxNoteBytes) {
      std::vector<char> notes(section.sh_size);
      const size_t size = read_at(file, section.sh_offset, notes.data(), notes.size());
      if (const std::string found = build_id_of_notes(notes.data(), size, section.sh_addralign);
          !found.empty()) {
        return found == build_id;
      }
    }
  }
  return false;
}

int open_regular(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat status{};
  if (file >= 0 && (::fstat(file, &status) != 0 || !S_ISREG(status.st_mode))) {
    ::close(file);
    return -1;
  }
  return file;
}

}  // namespace

std::vector<std::string> names_in_file(int file, std::span<const uint64_t> addresses) {
  std::vector<std::string> found(addresses.size());
  const std::vector<Elf64_Shdr> sections = sections_of(file);
  size_t bytes = 0;
  for (const uint32_t wanted : {uint32_t{SHT_SYMTAB}, uint32_t{SHT_DYNSYM}}) {
    const auto table = std::ranges::find(sections, wanted, &Elf64_Shdr::sh_type);
    if (table == sections.end() || table->sh_link >= sections.size()) {
      continue;
    }
    std::vector<Best> best(addresses.size());
    search_table(file, *table, addresses, best);
    for (size_t i = 0; i < best.size(); ++i) {
      if (best[i].is_found && found[i].empty() && bytes < kMaxNamesBytes) {
        found[i] = name_at(file, sections[table->sh_link], best[i].name);
        bytes += found[i].size();
      }
    }
  }
  return found;
}

std::vector<std::string> names_of(const CodeMap& code, std::span<const uintptr_t> addresses) {
  // By file: where the address lies in it, and which of the questions it is.
  std::map<const LoadedObject*, std::vector<std::pair<uint64_t, size_t>>> questions;
  for (size_t i = 0; i < addresses.size(); ++i) {
    if (const LoadedObject* object = code.find_object(addresses[i])) {
      questions[object].emplace_back(addresses[i] - object->bias, i);
    }
  }
  std::vector<std::string> names(addresses.size());
  for (auto& [object, asked] : questions) {
    const int file = open_regular(object->opened_path());
    if (file < 0) {
      continue;
    }
    if (!is_of_build(file, object->build_id)) {
      ::close(file);
      continue;
    }
    std::ranges::sort(asked);
    std::vector<uint64_t> places;
    places.reserve(asked.size());
    for (const auto& [place, question] : asked) {
      places.push_back(place);
    }
    std::vector<std::string> found = names_in_file(file, places);
    for (size_t i = 0; i < found.size(); ++i) {
      names[asked[i].second] = std::move(found[i]);
    }
    ::close(file);
  }
  return names;
}

}  // namespace plimsoll::appprof
