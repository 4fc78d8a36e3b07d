#include "formats/maps_text.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/hex.h"
#include "base/mapped_path.h"
#include "base/printable.h"
#include "formats/text_scanner.h"

namespace plimsoll::formats {
namespace {

constexpr size_t kMaxPathBytes = 4096;
constexpr size_t kMaxVariables = 16;

using Variables = std::map<std::string, std::string, std::less<>>;

bool is_permissions(std::string_view word) {
  return word.size() == 4 && word.find_first_not_of("-rwxps") == std::string_view::npos;
}

// "$build/lib.so" with what $build stands for.
std::string with_variable(std::string_view path, const Variables& variables) {
  if (path.starts_with('$')) {
    const size_t end = std::min(path.find('/'), path.size());
    const auto known = variables.find(path.substr(1, end - 1));
    if (known != variables.end()) {
      return known->second + std::string(path.substr(end));
    }
  }
  return std::string(path);
}

// offset major:minor inode path, behind the permissions
bool take_proc_maps_tail(TextScanner& line, Mapping& mapping) {
  const auto offset = line.take_hex();
  const std::string_view device = line.take_word();
  const auto inode = line.take_integer();
  if (!offset || device.find(':') == std::string_view::npos || !inode) {
    return false;
  }
  mapping.file_offset = *offset;
  mapping.path = without_deleted(line.rest());
  return true;
}

// path (@offset) build ID, behind the range or the permissions
void take_brief_tail(TextScanner& line, Mapping& mapping) {
  mapping.path = line.take_word();
  if (line.take("(@")) {
    mapping.file_offset = line.take_hex().value_or(0);
    line.take(")");
  }
  const auto build_id = from_hex(line.take_word());
  if (build_id && build_id->size() <= kMaxBuildIdBytes) {
    mapping.build_id = *build_id;
  }
}

std::optional<Mapping> parse_line(std::string_view text) {
  TextScanner line(text);
  Mapping mapping;
  const auto start = line.take_hex();
  if (!start || !line.take("-")) {
    return std::nullopt;
  }
  const auto end = line.take_hex();
  if (!end || *end <= *start) {
    return std::nullopt;
  }
  line.take(":");
  mapping.start = *start;
  mapping.end = *end;
  TextScanner after_permissions = line;
  const std::string_view permissions = after_permissions.take_word();
  if (!is_permissions(permissions)) {
    take_brief_tail(line, mapping);
    return mapping;
  }
  if (permissions.find('x') == std::string_view::npos) {
    return std::nullopt;
  }
  TextScanner tail = after_permissions;
  if (!take_proc_maps_tail(tail, mapping)) {
    take_brief_tail(after_permissions, mapping);
  }
  return mapping;
}

}  // namespace

std::vector<Mapping> parse_maps_text(std::string_view text, size_t max_mappings) {
  std::vector<Mapping> mappings;
  Variables variables;
  LineReader lines(text);
  while (const auto line = lines.next()) {
    if (mappings.size() == max_mappings) {
      break;
    }
    if (auto mapping = parse_line(*line)) {
      mapping->path = printable(with_variable(mapping->path.substr(0, kMaxPathBytes), variables))
                          .substr(0, kMaxPathBytes);
      mappings.push_back(std::move(*mapping));
    } else if (const size_t equals = line->find('=');
               equals != std::string_view::npos && variables.size() < kMaxVariables) {
      const std::string_view value = TextScanner(line->substr(equals + 1)).rest();
      variables[std::string(TextScanner(*line).take_word().substr(0, equals))] =
          std::string(value.substr(0, kMaxPathBytes));
    }
  }
  return mappings;
}

void MappingIndex::add(Ranges& ranges, uint64_t start, Range range) {
  const auto next = ranges.lower_bound(start);
  const uint64_t from = next == ranges.begin() ? start : std::max(start, std::prev(next)->second.end);
  const uint64_t to = next == ranges.end() ? range.end : std::min(range.end, next->first);
  if (from < to) {
    ranges.emplace_hint(next, from, Range{to, range.mapping_plus_1});
  }
}

MappingIndex::MappingIndex(const std::vector<Mapping>& mappings) {
  for (uint32_t i = 0; i < mappings.size(); ++i) {
    const Mapping& mapping = mappings[i];
    add(mapped_, mapping.start, {mapping.end, i + 1});
    if (mapping.file_offset != 0 && mapping.file_offset <= mapping.start) {
      add(before_them_, mapping.start - mapping.file_offset, {mapping.start, i + 1});
    }
  }
}

uint32_t MappingIndex::find_in(const Ranges& ranges, uint64_t address) {
  const auto next = ranges.upper_bound(address);
  const bool is_in_one = next != ranges.begin() && std::prev(next)->second.end > address;
  return is_in_one ? std::prev(next)->second.mapping_plus_1 : 0;
}

uint32_t MappingIndex::find(uint64_t address) const {
  const uint32_t mapped = find_in(mapped_, address);
  return mapped != 0 ? mapped : find_in(before_them_, address);
}

}  // namespace plimsoll::formats
