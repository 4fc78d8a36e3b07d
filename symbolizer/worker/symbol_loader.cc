#include <elf.h>

#include <algorithm>
#include <filesystem>

#include "base/checksum.h"
#include "symbolizer/worker/debug_links.h"
#include "symbolizer/worker/symbol_source.h"

namespace plimsoll::symbolizer {
namespace {

constexpr uint64_t kMaxMiniDebugInfoBytes = uint64_t{256} << 20;

bool is_binary(const FoundFile& file, wire::IdentityKind kind, std::string_view identity) {
  return kind == wire::GNU_BUILD_ID
             ? file.elf.build_id() == identity
             : kind == wire::CONTENT_HASH && content_hash(file.map.bytes()) == identity;
}

std::string folder_of(const std::string& path) {
  return std::filesystem::path(path).parent_path().string();
}

}  // namespace

// One search, from the binary to its symbols.
class SymbolLoader {
 public:
  SymbolLoader(wire::IdentityKind kind, std::string_view identity, const SymbolRoots& roots)
      : kind_(kind), identity_(identity), roots_(roots), search_(roots) {}

  BinarySymbols load(std::span<const std::string> paths) {
    if (kind_ == wire::IDENTITY_UNKNOWN) {
      search_.add_reason("the machine could not read which build it is");
    }
    for (const std::string& path : paths) {
      if (!binary_ && kind_ != wire::IDENTITY_UNKNOWN) {
        find_binary(path);
      }
    }
    if (binary_) {
      result_.segments_ = binary_->elf.segments();
    }
    if (!binary_ || !add_dwarf(*binary_)) {
      find_debug_file();
      if (debug_file_) {
        add_dwarf(*debug_file_);
      }
    }
    add_tables();
    result_.looked_at_ = search_.looked_at();
    result_.reasons_ = result_.quality_ == store::SymbolQuality::kFull ? "" : search_.reasons();
    keep_files();
    return std::move(result_);
  }

 private:
  void find_binary(const std::string& path) {
    auto found = search_.open(path);
    if (!found) {
      search_.add_reason(found.error().text());
    } else if (!is_binary(*found, kind_, identity_)) {
      search_.add_reason(found->path +
                         " has another build ID: it was replaced, or is another machine's file");
    } else {
      binary_ = std::move(*found);
    }
  }

  // As Debian, Fedora and gdb have it.
  void find_debug_file() {
    for (const std::string& root : roots_.debug_folders) {
      if (kind_ == wire::GNU_BUILD_ID && !debug_file_) {
        try_debug_file(build_id_path(root, identity_), std::nullopt);
      }
    }
    const auto link = binary_ ? find_debug_link(binary_->elf) : std::nullopt;
    if (link && !debug_file_) {
      const std::string folder = folder_of(binary_->path);
      std::vector<std::string> candidates{folder + "/" + link->name, folder + "/.debug/" + link->name};
      for (const std::string& root : roots_.debug_folders) {
        candidates.push_back(root + folder + "/" + link->name);
      }
      for (const std::string& candidate : candidates) {
        if (!debug_file_ && candidate != binary_->path) {
          try_debug_file(candidate, link->crc);
        }
      }
    }
    if (!debug_file_) {
      search_.add_reason("there is no separate debug file");
    }
  }

  // A file with a build ID must have the binary's; the CRC of the link speaks for one without.
  void try_debug_file(const std::string& path, std::optional<uint32_t> crc) {
    auto found = search_.open(path);
    if (!found) {
      if (found.error().code != ErrorCode::kNotFound) {
        search_.add_reason(found.error().text());
      }
      return;
    }
    const std::string_view build_id = found->elf.build_id();
    const bool matches = build_id.empty() ? crc && debug_link_crc(found->map.bytes()) == *crc
                                          : kind_ == wire::GNU_BUILD_ID && build_id == identity_;
    if (!matches) {
      search_.add_reason(found->path + " is the debug file of another build");
      return;
    }
    debug_file_ = std::move(*found);
  }

  std::optional<FoundFile> find_supplement(const FoundFile& file) {
    const auto link = find_supplement_link(file.elf);
    if (!link) {
      return std::nullopt;
    }
    std::vector<std::string> candidates;
    for (const std::string& root : roots_.debug_folders) {
      candidates.push_back(build_id_path(root, link->build_id));
    }
    candidates.push_back(link->path.starts_with('/') ? link->path : folder_of(file.path) + "/" + link->path);
    for (const std::string& candidate : candidates) {
      auto found = search_.open(candidate);
      if (found && found->elf.build_id() == link->build_id) {
        return std::move(*found);
      }
    }
    return std::nullopt;
  }

  bool add_dwarf(FoundFile& file) {
    auto supplement = find_supplement(file);
    auto dwarf = DwarfFile::open(file.map.writable_bytes(),
                                 supplement ? supplement->map.writable_bytes() : std::span<std::byte>());
    if (!dwarf) {
      const bool is_itself = binary_ && &file == &*binary_;
      search_.add_reason((is_itself ? "" : file.path + ": ") + dwarf.error().text());
      return false;
    }
    result_.quality_ = dwarf->has_functions() ? store::SymbolQuality::kFull : store::SymbolQuality::kLines;
    result_.dwarf_ = std::move(*dwarf);
    dwarf_file_ = &file;
    supplement_ = std::move(supplement);
    return true;
  }

  // For what DWARF does not name.
  void add_tables() {
    for (const FoundFile* file : {binary_ ? &*binary_ : nullptr, debug_file_ ? &*debug_file_ : nullptr}) {
      if (file != nullptr && set_table({{&file->elf, SHT_SYMTAB}}, store::SymbolQuality::kSymtab)) {
        return;
      }
    }
    if (!binary_) {
      return;
    }
    const elf::ElfFile* const binary = &binary_->elf;
    std::vector<SymbolSection> sections{{binary, SHT_DYNSYM}};
    const auto mini_bytes = read_mini_debug_info(*binary, kMaxMiniDebugInfoBytes);
    if (!mini_bytes) {
      search_.add_reason(mini_bytes.error().text());
    }
    const auto mini = elf::ElfFile::parse(as_bytes(mini_bytes ? *mini_bytes : std::string_view()));
    auto quality = store::SymbolQuality::kDynsym;
    if (mini && !SymbolTable::from_elf(*mini, SHT_SYMTAB).empty()) {
      sections.push_back({&*mini, SHT_SYMTAB});
      quality = store::SymbolQuality::kSymtab;
    }
    if (!set_table(sections, quality)) {
      search_.add_reason("it is stripped and exports no functions");
    }
  }

  bool set_table(const std::vector<SymbolSection>& sections, store::SymbolQuality quality) {
    auto table = SymbolTable::from_sections(sections);
    if (table.empty()) {
      return false;
    }
    result_.table_ = std::move(table);
    result_.quality_ = std::max(result_.quality_, quality);
    return true;
  }

  void keep_files() {
    if (dwarf_file_ != nullptr) {
      result_.files_.push_back(std::move(dwarf_file_->map));
    }
    if (supplement_) {
      result_.files_.push_back(std::move(supplement_->map));
    }
  }

  const wire::IdentityKind kind_;
  const std::string_view identity_;
  const SymbolRoots& roots_;
  FileSearch search_;
  std::optional<FoundFile> binary_;
  std::optional<FoundFile> debug_file_;
  std::optional<FoundFile> supplement_;
  FoundFile* dwarf_file_ = nullptr;  // the one of the two above that result_.dwarf_ is of
  BinarySymbols result_;
};

BinarySymbols find_symbols(wire::IdentityKind kind, std::string_view identity,
                           std::span<const std::string> paths, const SymbolRoots& roots) {
  return SymbolLoader(kind, identity, roots).load(paths);
}

}  // namespace plimsoll::symbolizer
