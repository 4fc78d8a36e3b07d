#include "symbolizer/search/table_search.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <deque>
#include <filesystem>
#include <iterator>
#include <optional>
#include <utility>

#include "base/checksum.h"
#include "base/hex.h"
#include "elf/binary_part.h"
#include "elf/build_id.h"
#include "symbolizer/dwarf/table_builder.h"
#include "symbolizer/go/go_symbols.h"
#include "symbolizer/libdw/libdw_reader.h"
#include "symbolizer/search/code_symbols.h"
#include "symbolizer/search/debug_links.h"

namespace plimsoll::symbolizer {
namespace {

constexpr uint64_t kMaxMiniDebugInfoBytes = uint64_t{256} << 20;

std::string folder_of(const std::string& path) {
  return std::filesystem::path(path).parent_path().string();
}

std::string name_of(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

bool has_dwarf(const FoundFile& file) {
  constexpr std::array<std::string_view, 4> kNames{".debug_info", ".zdebug_info", ".debug_line",
                                                   ".zdebug_line"};
  return std::ranges::any_of(kNames,
                             [&](std::string_view name) { return !file.elf.section_bytes(name).empty(); });
}

// Its code was left out, and its program headers do not say where in the binary that lies.
bool is_debug_file(const FoundFile& file) {
  return std::ranges::any_of(file.elf.sections(), [](const elf::Section& section) {
    return (section.flags & SHF_EXECINSTR) != 0 && section.type == SHT_NOBITS;
  });
}

// One search, from the binary to its table.
class TableSearch {
 public:
  TableSearch(const TableQuery& query, std::function<void(uint64_t)> opened)
      : query_(query),
        kind_(query.identity_kind),
        identity_(query.identity),
        search_(query.roots, std::move(opened)) {}

  Result<FoundTable> run() {
    if (auto opened = open_named_files(); !opened) {
      return propagate(opened);
    }
    if (!binary_) {
      find_binary();
    }
    if (debug_file_) {
      build_with(&*debug_file_);
    } else if (binary_ && has_dwarf(*binary_)) {
      build_with(&*binary_);
    }
    if (result_.quality < SymtabQuality::kLines && !debug_file_) {
      find_debug_file();
      build_with(debug_file_ && has_dwarf(*debug_file_) ? &*debug_file_ : nullptr);
    }
    result_.looked_at = search_.looked_at();
    result_.reasons =
        result_.quality == SymtabQuality::kFull && named_.binary.empty() ? "" : search_.reasons();
    return std::move(result_);
  }

  Result<FoundBinary> run_for_binary() {
    if (auto opened = open_named_files(); !opened) {
      return propagate(opened);
    }
    if (!binary_) {
      find_binary();
    }
    if (binary_ && is_debug_file(*binary_)) {
      search_.add_reason(binary_->path + " is a separate debug file");
      binary_.reset();
    }
    return FoundBinary{std::move(binary_), search_.reasons()};
  }

 private:
  Result<std::optional<FoundFile>> open_named(const std::string& path) {
    if (path.empty()) {
      return std::nullopt;
    }
    auto found = search_.open(path);
    return found ? Result<std::optional<FoundFile>>(std::move(*found)) : propagate(found);
  }

  Status open_named_files() {
    for (const auto& [path, file] :
         {std::pair(&named_.binary, &binary_), std::pair(&named_.debug, &debug_file_),
          std::pair(&named_.supplement, &supplement_), std::pair(&named_.package, &package_)}) {
      auto found = open_named(*path);
      if (!found) {
        return propagate(found);
      }
      *file = std::move(*found);
    }
    if (binary_) {
      const std::string_view build_id = binary_->elf.build_id();
      kind_ = build_id.empty() ? wire::CONTENT_HASH : wire::GNU_BUILD_ID;
      identity_ = build_id.empty() ? content_hash(binary_->map.bytes()) : std::string(build_id);
    }
    return binary_ && debug_file_ ? check_debug_file(*binary_, *debug_file_) : Status();
  }

  static Status check_debug_file(const FoundFile& binary, const FoundFile& debug) {
    const std::string_view ours = binary.elf.build_id();
    const std::string_view theirs = debug.elf.build_id();
    return ours.empty() || theirs.empty() || ours == theirs
               ? Status()
               : fail(ErrorCode::kInvalid,
                      "{} is a debug file of another build: its build ID is {}, that of {} is {}", debug.path,
                      to_hex(theirs), binary.path, to_hex(ours));
  }

  bool is_binary(const FoundFile& file) const {
    return kind_ == wire::GNU_BUILD_ID
               ? elf::is_build(file.elf.build_id(), identity_)
               : kind_ == wire::CONTENT_HASH && content_hash(file.map.bytes()) == identity_;
  }

  // The file's, where the one that was told may have been cut.
  std::string_view whole_identity() const {
    return binary_ && kind_ == wire::GNU_BUILD_ID ? binary_->elf.build_id() : std::string_view(identity_);
  }

  void find_binary() {
    if (kind_ == wire::IDENTITY_UNKNOWN) {
      search_.add_reason(
          "no build ID: the machine could not read the binary, or the profile has none (text formats carry "
          "none: scrape it, or convert it to pprof first)");
      return;
    }
    for (const std::string& path : query_.paths) {
      auto found = search_.open(path);
      if (!found) {
        search_.add_reason(found.error().text());
      } else if (!is_binary(*found)) {
        search_.add_reason(found->path +
                           " has another build ID: the file was replaced, or belongs to another machine");
      } else {
        binary_ = std::move(*found);
        return;
      }
    }
    find_copy();
  }

  // Looks in copies of another machine's file system, and by its build ID. Gives no reason where it is not there either.
  void find_copy() {
    const std::string_view build_id =
        kind_ == wire::GNU_BUILD_ID ? std::string_view(identity_) : std::string_view();
    for (const std::string& candidate :
         elf::places_of_copies(query_.roots.folders, query_.roots.debug_folders, query_.paths, build_id)) {
      if (auto found = search_.open(candidate); found && is_binary(*found)) {
        binary_ = std::move(*found);
        return;
      }
    }
  }

  // As Debian, Fedora and gdb have it.
  void find_debug_file() {
    for (const std::string& root : query_.roots.debug_folders) {
      if (kind_ == wire::GNU_BUILD_ID && !debug_file_) {
        try_debug_file(build_id_path(root, whole_identity()), std::nullopt);
      }
    }
    const auto link = binary_ ? find_debug_link(binary_->elf) : std::nullopt;
    if (link && !debug_file_) {
      const std::string folder = folder_of(binary_->path);
      std::vector<std::string> candidates{folder + "/" + link->name, folder + "/.debug/" + link->name};
      for (const std::string& root : query_.roots.debug_folders) {
        candidates.push_back(root + folder + "/" + link->name);
      }
      for (const std::string& candidate : candidates) {
        if (!debug_file_ && candidate != binary_->path) {
          try_debug_file(candidate, link->crc);
        }
      }
    }
    if (!debug_file_) {
      debug_file_ = std::exchange(poor_part_, std::nullopt);
    }
    if (!debug_file_) {
      search_.add_reason("no separate debug file");
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
                                          : kind_ == wire::GNU_BUILD_ID && elf::is_build(build_id, identity_);
    if (!matches) {
      search_.add_reason(found->path + " is a debug file of another build");
      return;
    }
    // What a machine sent of a stripped file hides no debug file that lies elsewhere.
    const bool is_poor = elf::whole_file_hash(found->elf) && !has_dwarf(*found);
    (is_poor ? poor_part_ : debug_file_) = std::move(*found);
  }

  // False where the file refers to one that is not there.
  bool find_supplement(const FoundFile& file) {
    const auto link = find_supplement_link(file.elf);
    if (!link || supplement_) {
      return true;
    }
    std::vector<std::string> candidates;
    for (const std::string& root : query_.roots.debug_folders) {
      candidates.push_back(build_id_path(root, link->build_id));
    }
    candidates.push_back(link->path.starts_with('/') ? link->path : folder_of(file.path) + "/" + link->path);
    for (const std::string& candidate : candidates) {
      auto found = search_.open(candidate);
      if (found && found->elf.build_id() == link->build_id) {
        supplement_ = std::move(*found);
        return true;
      }
    }
    search_.add_reason(fmt::format("{}: its supplementary file {} (build ID {}) is missing", file.path,
                                   link->path, to_hex(link->build_id)));
    return false;
  }

  void find_package(const FoundFile& dwarf) {
    if (package_) {
      return;
    }
    std::vector<std::string> candidates{dwarf.path + ".dwp"};
    if (binary_ && &dwarf != &*binary_) {
      candidates.push_back(binary_->path + ".dwp");
    }
    for (const std::string& root : query_.roots.debug_folders) {
      if (kind_ == wire::GNU_BUILD_ID) {
        const std::string debug_path = build_id_path(root, whole_identity());
        candidates.push_back(debug_path.substr(0, debug_path.rfind('.')) + ".dwp");
      }
    }
    for (const std::string& candidate : candidates) {
      if (auto found = search_.open(candidate)) {
        package_ = std::move(*found);
        return;
      }
    }
  }

  // Where the compiler wrote it, there below the debug folders, or where it was moved to together with the binary or its debug file.
  std::vector<std::string> split_candidates(const SplitName& split, const FoundFile& dwarf) const {
    const std::string name(split.name);
    const std::string absolute = name.starts_with('/') ? name : fmt::format("{}/{}", split.directory, name);
    std::vector<std::string> candidates{absolute};
    for (const std::string& root : query_.roots.debug_folders) {
      candidates.push_back(root + absolute);
    }
    for (const FoundFile* file : {binary_ ? &*binary_ : nullptr, &dwarf}) {
      if (file != nullptr) {
        const std::string beside = folder_of(file->path) + "/";
        candidates.push_back(beside + name);
        candidates.push_back(beside + name_of(name));
      }
    }
    return candidates;
  }

  Bytes find_split(const SplitName& split, const FoundFile& dwarf) {
    for (const std::string& candidate : split_candidates(split, dwarf)) {
      auto found = search_.open(candidate);
      if (found) {
        return splits_.emplace_back(std::move(*found)).map.bytes();
      }
      if (found.error().code != ErrorCode::kNotFound) {
        search_.add_reason(found.error().text());
      }
    }
    return {};
  }

  // What has all that the binary has but its code; null: nothing does.
  const FoundFile* binary_or_part() const {
    if (binary_) {
      return &*binary_;
    }
    return debug_file_ && elf::whole_file_hash(debug_file_->elf) ? &*debug_file_ : nullptr;
  }

  // Where a kernel's code begins. Other programs may have such a symbol, too: nothing is counted from there.
  static std::optional<uint64_t> kernel_text(const std::vector<NamedCode>& symbols) {
    const auto text = std::ranges::find(symbols, "_text", &NamedCode::name);
    return text == symbols.end() ? std::nullopt : std::optional(text->address);
  }

  // The best there are, for what DWARF does not name.
  void find_symbols(TableInputs& inputs) {
    for (const FoundFile* file : {binary_ ? &*binary_ : nullptr, debug_file_ ? &*debug_file_ : nullptr}) {
      if (file != nullptr && inputs.symbols.empty()) {
        inputs.symbols = code_symbols(file->elf, SHT_SYMTAB);
        inputs.sections = code_sections(file->elf);
        inputs.symbol_quality = SymtabQuality::kSymtab;
        inputs.kernel_text = kernel_text(inputs.symbols);
      }
    }
    const FoundFile* const exporting = binary_or_part();
    if (!inputs.symbols.empty() || exporting == nullptr) {
      return;
    }
    inputs.symbols = code_symbols(exporting->elf, SHT_DYNSYM);
    inputs.sections = code_sections(exporting->elf);
    inputs.symbol_quality = SymtabQuality::kDynsym;
    add_mini_debug_info(*exporting, inputs);
    if (inputs.symbols.empty()) {
      search_.add_reason("it is stripped and exports no functions");
    }
  }

  void add_mini_debug_info(const FoundFile& binary, TableInputs& inputs) {
    auto bytes = read_mini_debug_info(binary.elf, kMaxMiniDebugInfoBytes);
    if (!bytes) {
      search_.add_reason(bytes.error().text());
      return;
    }
    mini_debug_info_ = std::move(*bytes);
    const auto mini = elf::ElfFile::parse(as_bytes(mini_debug_info_));
    const auto symbols = mini ? code_symbols(*mini, SHT_SYMTAB) : std::vector<NamedCode>();
    if (!symbols.empty()) {
      inputs.symbols.insert(inputs.symbols.end(), symbols.begin(), symbols.end());
      inputs.symbol_quality = SymtabQuality::kSymtab;
    }
  }

  // `dwarf`: the file with DWARF; null: symbols alone. Replaces the result.
  void build_with(const FoundFile* dwarf) {
    if (identity_.size() > SymtabHeader{}.identity.size()) {
      search_.add_reason(fmt::format("its build ID of {} bytes is too long", identity_.size()));
      return;
    }
    TableInputs inputs;
    find_symbols(inputs);
    inputs.symbol_quality = inputs.symbols.empty() ? SymtabQuality::kNone : inputs.symbol_quality;
    inputs.identity = {static_cast<uint32_t>(kind_), identity_};
    const FoundFile* const whole = binary_or_part();
    if (whole != nullptr && (elf::whole_file_hash(whole->elf) || !is_debug_file(*whole))) {
      inputs.segments = whole->elf.segments();
    }
    if (dwarf == nullptr && !debug_file_) {
      search_.add_reason("it has no DWARF");
    }
    inputs.threads = query_.threads;
    if (dwarf != nullptr && !query_.without_dwarf) {
      inputs.max_quality = find_supplement(*dwarf) ? SymtabQuality::kFull : SymtabQuality::kLines;
      find_package(*dwarf);
      inputs.debug = dwarf->map.bytes();
      inputs.supplement = supplement_ ? supplement_->map.bytes() : Bytes();
      inputs.package = package_ ? package_->map.bytes() : Bytes();
      inputs.reader = query_.reader;
      inputs.open_second = [&inputs] { return open_libdw(inputs.debug, inputs.supplement); };
      inputs.find_split = [this, dwarf](const SplitName& split) { return find_split(split, *dwarf); };
    }
    // A stripped Go program exports at most what C calls of it.
    if (whole != nullptr && inputs.debug.empty() && inputs.symbol_quality < SymtabQuality::kSymtab) {
      if (auto go = build_go_table(whole->elf, inputs.identity)) {
        const bool is_better = go->quality > inputs.symbol_quality;
        keep(std::move(*go));
        if (is_better) {
          return;
        }
      }
    }
    if (!inputs.debug.empty() || !inputs.symbols.empty()) {
      keep(build_table(inputs));
    }
  }

  void keep(BuiltTable built) {
    for (std::string& problem : built.problems) {
      search_.add_reason(std::move(problem));
    }
    result_.bytes = std::move(built.bytes);
    result_.quality = built.quality;
  }

  const TableQuery& query_;
  const NamedFiles& named_ = query_.named;
  wire::IdentityKind kind_;
  std::string identity_;
  FileSearch search_;
  std::optional<FoundFile> binary_;
  std::optional<FoundFile> debug_file_;
  std::optional<FoundFile> poor_part_;  // a part without DWARF
  std::optional<FoundFile> supplement_;
  std::optional<FoundFile> package_;
  std::deque<FoundFile> splits_;  // kept: the builder borrows their bytes
  std::string mini_debug_info_;   // likewise
  FoundTable result_;
};

}  // namespace

Result<FoundTable> find_table(const TableQuery& query, std::function<void(uint64_t bytes)> opened) {
  return TableSearch(query, std::move(opened)).run();
}

Result<FoundBinary> find_binary(const TableQuery& query, std::function<void(uint64_t bytes)> opened) {
  return TableSearch(query, std::move(opened)).run_for_binary();
}

}  // namespace plimsoll::symbolizer
