#include "symbolizer/worker/symbol_loader.h"

#include <algorithm>

#include "base/log.h"
#include "elf/build_id.h"
#include "symbolizer/search/debug_links.h"

namespace plimsoll::symbolizer {

bool SymbolLoader::is_best(const Symtab& table, const WantedBinary& wanted) const {
  if (table.quality() == SymtabQuality::kFull) {
    return true;
  }
  if (wanted.looked_at.empty() || FileSearch::has_changed(wanted.looked_at, roots_)) {
    return false;
  }
  // Paths that have become known since are no matter where the binary was found.
  const bool had_binary = table.header().blobs[static_cast<size_t>(Blob::kSegments)].bytes != 0;
  return had_binary || std::ranges::all_of(wanted.paths, [&](const std::string& path) {
           return FileSearch::has_tried(wanted.looked_at, path);
         });
}

std::optional<BinarySymbols> SymbolLoader::load(const WantedBinary& wanted) {
  if (wanted.identity_kind == wire::IDENTITY_UNKNOWN || wanted.identity.empty()) {
    return BinarySymbols(std::nullopt,
                         "no build ID: the machine could not read the binary, or the profile has none (text "
                         "formats carry none: scrape it, or convert it to pprof first)",
                         FileSearch(roots_).looked_at());
  }
  auto kept = tables_.find(wanted.identity_kind, wanted.identity);
  if (kept && is_best(kept->table, wanted)) {
    const bool is_full = kept->table.quality() == SymtabQuality::kFull;
    return BinarySymbols(std::move(kept), is_full ? std::string() : std::string(wanted.reasons),
                         std::string(wanted.looked_at));
  }
  auto made = take_or_make(wanted);
  if (!made) {
    return std::nullopt;
  }
  if (kept && kept->table.quality() > made->quality) {
    return BinarySymbols(std::move(kept), std::move(made->reasons), std::move(made->looked_at));
  }
  if (made->mapped) {
    if (auto stored = tables_.keep(*made->mapped); !stored) {
      log_warning("the symbol table cannot be stored: {}", stored.error().text());
    }
  }
  return BinarySymbols(std::move(made->mapped), std::move(made->reasons), std::move(made->looked_at));
}

std::optional<MadeTable> SymbolLoader::take_or_make(const WantedBinary& wanted) {
  auto taken = options_.remote == nullptr ? std::nullopt : options_.remote->take(wanted.identity);
  if (!taken) {
    return make(wanted);
  }
  MadeTable result;
  result.quality = taken->table.quality();
  result.mapped = std::move(*taken);
  result.looked_at = looked_at_of_failure(wanted);
  return result;
}

std::optional<MadeTable> SymbolLoader::make(const WantedBinary& wanted) {
  // Before the search: what arrives meanwhile then differs from it.
  std::string looked_at_before = looked_at_of_failure(wanted);
  TableQuery query{.identity_kind = wanted.identity_kind,
                   .identity = std::string(wanted.identity),
                   .paths = {wanted.paths.begin(), wanted.paths.end()},
                   .roots = roots_};
  const MakeOptions options{
      .limits = options_.limits, .folder = tables_.folder(), .progress = {}, .stop = options_.stop};
  auto made = process_.make_with_fallback(query, options);
  if (made) {
    return std::move(*made);
  }
  std::string reasons = made.error().text();
  query.without_dwarf = true;
  made = process_.make(query, options);
  if (!made && options_.stop.stop_requested()) {
    return std::nullopt;
  }
  MadeTable result = made ? std::move(*made) : MadeTable();
  // Whatever the search without DWARF missed is not what was wrong.
  result.reasons = std::move(reasons);
  if (result.looked_at.empty()) {
    result.looked_at = std::move(looked_at_before);
  }
  return result;
}

// So that the same failure does not come again and again: until one of the files is another.
std::string SymbolLoader::looked_at_of_failure(const WantedBinary& wanted) const {
  FileSearch search(roots_);
  for (const std::string& path : wanted.paths) {
    search.note(path);
  }
  for (const std::string& root : roots_.debug_folders) {
    search.note(build_id_path(root, wanted.identity));
    search.note(elf::build_id_entry(root, wanted.identity));
  }
  return search.looked_at();
}

}  // namespace plimsoll::symbolizer
