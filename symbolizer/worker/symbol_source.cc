#include "symbolizer/worker/symbol_source.h"

#include <elf.h>

#include <algorithm>
#include <filesystem>

#include "base/checksum.h"
#include "base/file.h"

namespace plimsoll::symbolizer {
namespace {

constexpr uint64_t kMaxBinaryBytes = uint64_t{4} << 30;

bool lies_below(const std::filesystem::path& path, const std::filesystem::path& folder) {
  const auto [folder_end, unused] = std::ranges::mismatch(folder, path);
  return folder_end == folder.end();
}

// The file that `path` really names, or an error where that lies outside the roots.
Result<std::string> resolve_within(const std::string& path, const SymbolRoots& roots) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  if (error) {
    return fail_errno(error.value(), "looking for {}", path);
  }
  for (const std::string& folder : roots.folders) {
    const std::filesystem::path real_folder = std::filesystem::canonical(folder, error);
    if (!error && lies_below(real, real_folder)) {
      return real.string();
    }
  }
  return with_hint(
      fail(ErrorCode::kDenied, "{} lies outside the folders whose binaries may be read", real.string()),
      "add its folder to symbols.roots");
}

bool is_binary(const elf::ElfFile& file, Bytes content, wire::IdentityKind kind, std::string_view identity) {
  return kind == wire::GNU_BUILD_ID ? file.build_id() == identity
                                    : kind == wire::CONTENT_HASH && content_hash(content) == identity;
}

BinarySymbols symbols_of(const elf::ElfFile& file) {
  BinarySymbols symbols;
  symbols.segments = file.segments();
  symbols.table = SymbolTable::from_elf(file, SHT_SYMTAB);
  if (!symbols.table.empty()) {
    symbols.quality = store::SymbolQuality::kSymtab;
    return symbols;
  }
  symbols.table = SymbolTable::from_elf(file, SHT_DYNSYM);
  symbols.quality = symbols.table.empty() ? store::SymbolQuality::kNone : store::SymbolQuality::kDynsym;
  return symbols;
}

}  // namespace

Result<BinarySymbols> read_symbols(const std::string& path, wire::IdentityKind kind,
                                   std::string_view identity, const SymbolRoots& roots) {
  const auto real_path = resolve_within(path, roots);
  if (!real_path) {
    return propagate(real_path);
  }
  const auto mapped = MappedFile::open(*real_path, kMaxBinaryBytes);
  if (!mapped) {
    return propagate(mapped);
  }
  const auto file = elf::ElfFile::parse(mapped->bytes());
  if (!file) {
    return propagate(file, "reading {}", *real_path);
  }
  if (!is_binary(*file, mapped->bytes(), kind, identity)) {
    return fail(ErrorCode::kNotFound,
                "{} has another build ID: it was replaced, or is another machine's file", *real_path);
  }
  return symbols_of(*file);
}

Result<BinarySymbols> read_vdso_symbols(std::string_view build_id) {
  const auto file = elf::own_vdso();
  if (!file) {
    return propagate(file, "reading the vdso");
  }
  if (file->build_id() != build_id) {
    return fail(ErrorCode::kNotFound, "the vdso is another kernel's");
  }
  return symbols_of(*file);
}

}  // namespace plimsoll::symbolizer
