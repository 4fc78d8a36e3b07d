#include "formats/symbolized.h"

#include <boost/unordered/unordered_flat_map.hpp>
#include <optional>
#include <string>
#include <utility>

#include "base/printable.h"
#include "formats/legacy_contention.h"
#include "formats/legacy_cpu.h"
#include "formats/legacy_heap.h"
#include "formats/legacy_rows.h"
#include "formats/text_scanner.h"

namespace plimsoll::formats {
namespace {

constexpr std::string_view kStart = "--- symbol";
constexpr std::string_view kEnd = "---";
constexpr std::string_view kInlined =
    "--";  // behind the name of the function that the next one was inlined into
constexpr size_t kMaxSymbolBytes = 4000;

struct Symbols {
  std::string binary;
  boost::unordered_flat_map<uint64_t, std::string_view> names;  // by address, as they stand there
};

// Leaves the lines behind the symbols' end.
Result<Symbols> read_symbols(LineReader& lines, const Limits& limits) {
  Symbols symbols;
  lines.next();
  for (auto line = lines.next(); line && *line != kEnd; line = lines.next()) {
    TextScanner scanner(*line);
    if (scanner.take("binary=")) {
      symbols.binary = printable(scanner.rest().substr(0, kMaxSymbolBytes));
      continue;
    }
    const auto address = scanner.take_hex();
    const std::string_view name = scanner.rest();
    if (!address || name.empty()) {
      return bad_line(lines, *line, "\"ADDRESS NAME\"");
    }
    if (symbols.names.size() >= limits.max_entries) {
      return fail(ErrorCode::kTooLarge, "the profile has over {} symbols", limits.max_entries);
    }
    symbols.names.emplace(*address, name.substr(0, kMaxSymbolBytes));
  }
  return symbols;
}

// "--- heap" and its like is a line of its own; "--- contention:" is the profile's first line itself.
std::string_view profile_behind(LineReader& lines) {
  const std::string_view rest = lines.rest();
  if (looks_like_legacy_contention(rest)) {
    return rest;
  }
  const auto title = lines.next();
  return title && title->starts_with(kEnd) ? lines.rest() : rest;
}

Result<ApplicationProfile> read_behind(std::string_view content, const Limits& limits) {
  if (looks_like_legacy_heap(content)) {
    return read_legacy_heap(content, limits, AddressKind::kPlaces);
  }
  if (looks_like_legacy_contention(content)) {
    return read_legacy_contention(content, limits, AddressKind::kPlaces);
  }
  if (looks_like_legacy_cpu(as_bytes(content))) {
    return read_legacy_cpu(as_bytes(content), limits, AddressKind::kPlaces);
  }
  return fail(ErrorCode::kCorrupt, "no heap, growth, contention or CPU profile follows its symbols");
}

class Naming {
 public:
  explicit Naming(ApplicationProfile& profile) : profile_(profile) {
    if (profile_.texts.empty()) {
      profile_.texts.emplace_back();
    }
  }

  // Innermost first; the text has the outermost first.
  void name(Location& location, std::string_view names) {
    location.first_frame = static_cast<uint32_t>(profile_.frames.size());
    while (!names.empty()) {
      const size_t at = names.rfind(kInlined);
      const std::string_view innermost =
          at == std::string_view::npos ? names : names.substr(at + kInlined.size());
      names = names.substr(0, at == std::string_view::npos ? 0 : at);
      if (!innermost.empty()) {
        profile_.frames.push_back({.function = function(innermost)});
        ++location.frame_count;
      }
    }
  }

 private:
  uint32_t function(std::string_view name) {
    const auto [entry, is_new] =
        functions_.try_emplace(name, static_cast<uint32_t>(profile_.functions.size()));
    if (is_new) {
      profile_.functions.push_back({.name = static_cast<uint32_t>(profile_.texts.size())});
      profile_.texts.push_back(printable(name));
    }
    return entry->second;
  }

  ApplicationProfile& profile_;
  boost::unordered_flat_map<std::string_view, uint32_t> functions_;
};

}  // namespace

bool looks_symbolized(std::string_view text) {
  return text.starts_with(kStart);
}

Result<ApplicationProfile> read_symbolized(Bytes content, const Limits& limits) {
  LineReader lines(as_text(content));
  const auto symbols = read_symbols(lines, limits);
  if (!symbols) {
    return propagate(symbols);
  }
  auto profile = read_behind(profile_behind(lines), limits);
  if (!profile) {
    return propagate(profile, "reading the profile behind its symbols");
  }
  Naming naming(*profile);
  for (Location& location : profile->locations) {
    if (const auto name = symbols->names.find(location.address); name != symbols->names.end()) {
      naming.name(location, name->second);
    }
  }
  if (profile->mappings.empty() && !symbols->binary.empty()) {
    profile->mappings.push_back({.path = symbols->binary});
  }
  return profile;
}

}  // namespace plimsoll::formats
