#include "symbolizer/dwarf/merged_code.h"

#include <dwarf.h>
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace plimsoll::symbolizer {
namespace {

// Of functions that have a linkage name.
constexpr uint64_t kNoHome = UINT64_MAX;
// Longer names nobody reads, and a damaged file could make them of any length.
constexpr size_t kMaxQualifiedBytes = 1000;

std::vector<uint32_t> paths_of(const UnitRows& code, SymtabWriter& writer) {
  std::vector<uint32_t> paths;
  for (size_t file = 0; code.lines && file < code.lines->files(); ++file) {
    paths.push_back(writer.path(code.lines->path_of(file)));
  }
  return paths;
}

// With what separates it from the name that follows; empty where people would write nothing.
std::string text_of(const NameScope& scope) {
  if (!scope.name.empty()) {
    return fmt::format("{}::", scope.name);
  }
  switch (scope.tag) {
    case DW_TAG_namespace:
      return "(anonymous namespace)::";
    case DW_TAG_subprogram:
      return {};
    default:
      return "(anonymous class)::";
  }
}

uint32_t path_of(uint32_t file, const std::vector<uint32_t>& paths) {
  return file < paths.size() ? paths[file] : 0;
}

bool says_nothing(const CodeRow& row) {
  return row.scope == kNoScope && row.line == kNoLine;
}

}  // namespace

void MergedCode::add(const UnitRows& code, const Origin& origin) {
  const auto first_scope = static_cast<uint32_t>(scopes_.size());
  const std::vector<uint32_t> paths = paths_of(code, writer_);
  add_scopes(code, paths, origin);
  add_rows(code, paths, first_scope);
  add_names(code.names, origin.file);
}

MergedCode::File& MergedCode::file(uint32_t number) {
  files_.resize(std::max<size_t>(files_.size(), size_t{number} + 1));
  return files_[number];
}

uint32_t MergedCode::function_of(const CodeScope& scope, const FunctionName* said, const Origin& origin) {
  const auto [known, is_new] =
      file(scope.is_in_supplement ? kSupplementFile : origin.file)
          .functions.try_emplace(scope.entry, static_cast<uint32_t>(functions_.size()));
  if (is_new) {
    const FunctionName found =
        said != nullptr ? *said : function_name_at(scope.entry, scope.is_in_supplement, origin.find_unit);
    const bool is_linked = !found.linkage_name.empty();
    functions_.push_back({.name = is_linked ? found.linkage_name : found.name,
                          .start_line = found.line,
                          .unit = origin.unit,
                          .home = is_linked ? kNoHome : found.home,
                          .file = found.is_home_in_supplement ? kSupplementFile : origin.file});
  }
  return known->second;
}

void MergedCode::add_names(const UnitNames& names, uint32_t file_number) {
  const auto first = static_cast<uint32_t>(name_scopes_.size());
  for (NameScope scope : names.scopes) {
    scope.parent = scope.parent == kNoScope ? kNoScope : first + scope.parent;
    name_scopes_.push_back(scope);
  }
  for (const ScopedFunction& function : names.functions) {
    file(file_number).scoped.push_back({function.entry, first + function.name_scope});
  }
}

std::string MergedCode::qualified_name(const MergedFunction& function) const {
  if (function.home == kNoHome || function.file >= files_.size()) {
    return {};
  }
  const std::vector<ScopedFunction>& scoped = files_[function.file].scoped;
  const auto found = std::ranges::lower_bound(scoped, function.home, {}, &ScopedFunction::entry);
  if (found == scoped.end() || found->entry != function.home) {
    return {};
  }
  std::string name(function.name);
  for (uint32_t i = found->name_scope; i != kNoScope && name.size() <= kMaxQualifiedBytes;
       i = name_scopes_[i].parent) {
    name.insert(0, text_of(name_scopes_[i]));
  }
  return name.size() <= kMaxQualifiedBytes ? name : std::string();
}

void MergedCode::add_scopes(const UnitRows& code, const std::vector<uint32_t>& paths, const Origin& origin) {
  const auto first = static_cast<uint32_t>(scopes_.size());
  for (size_t i = 0; i < code.scopes.size(); ++i) {
    const CodeScope& scope = code.scopes[i];
    const FunctionName* const said = i < code.scope_names.size() ? &code.scope_names[i] : nullptr;
    const bool is_inlined = scope.parent != kNoScope;
    const uint32_t location = is_inlined ? writer_.location({path_of(scope.call_file, paths), scope.call_line,
                                                             scope.call_column, scope.call_discriminator})
                                         : 0;
    scopes_.push_back(
        {is_inlined ? first + scope.parent : kNoNumber, function_of(scope, said, origin), location});
  }
}

void MergedCode::add_rows(const UnitRows& code, const std::vector<uint32_t>& paths, uint32_t first_scope) {
  bool goes_on = false;
  for (const CodeRow& row : code.rows) {
    if (goes_on) {
      stretches_.back().to = row.from;
    }
    if (says_nothing(row)) {
      goes_on = false;
      continue;
    }
    if (!goes_on) {
      stretches_.push_back({row.from, row.from, rows_.size(), 0});
      goes_on = true;
    }
    uint32_t location = 0;
    if (row.line != kNoLine && code.lines) {
      const LineRow& line = code.lines->rows()[row.line];
      location = writer_.location({path_of(line.file, paths), line.line, line.column, line.discriminator});
    }
    rows_.push_back({row.from, row.scope == kNoScope ? kNoNumber : first_scope + row.scope, location});
    ++stretches_.back().rows;
  }
}

void MergedCode::clear() {
  scopes_ = {};
  rows_ = {};
  functions_ = {};
  stretches_ = {};
  files_ = {};
  name_scopes_ = {};
}

void MergedCode::sort() {
  std::ranges::sort(stretches_, {},
                    [](const Stretch& stretch) { return std::tuple(stretch.from, stretch.first_row); });
}

}  // namespace plimsoll::symbolizer
