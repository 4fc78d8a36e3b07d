#include "formats/legacy_java.h"

#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <charconv>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/printable.h"
#include "base/time.h"
#include "formats/event_meaning.h"
#include "formats/heap_text.h"
#include "formats/legacy_rows.h"
#include "formats/text_scanner.h"

namespace plimsoll::formats {
namespace {

constexpr std::string_view kJavaHeapStart = "--- heapz 1 ---";
constexpr std::string_view kJavaContentionStart = "--- contentionz 1 ---";
// No header tells it: programs in Java sample their heap at this distance, and pprof scales by it.
constexpr int64_t kJavaHeapPeriodBytes = 512 << 10;
constexpr size_t kMaxJavaNameBytes = 4000;
// Attributes, blank lines and comments that are searched for the format.
constexpr size_t kMaxJavaHeaderLines = 100;

struct JavaHeader {
  bool is_heap = false;
  std::string resolution;  // empty: not told
  int64_t sampling_period = 0;
  int64_t ms_since_reset = 0;
};

struct JavaAttribute {
  std::string_view key;
  std::string_view value;
};

// "KEY = VALUE". Names of functions may contain '=' too: those stand behind an address.
std::optional<JavaAttribute> attribute_in(std::string_view line) {
  const size_t at = line.find('=');
  if (at == std::string_view::npos || line.starts_with("0x") || line.substr(0, at).contains('@')) {
    return std::nullopt;
  }
  const std::string_view key = line.substr(0, at);
  TextScanner value(line.substr(at + 1));
  return JavaAttribute{key.substr(0, key.find_last_not_of(" \t") + 1), value.rest()};
}

bool take_natural(std::string_view text, int64_t& number) {
  TextScanner scanner(text);
  const auto value = scanner.take_integer();
  if (!value || *value < 0 || !scanner.rest().empty()) {
    return false;
  }
  number = *value;
  return true;
}

// Of another resolution the numbers would have no meaning here.
bool is_resolution(std::string_view unit, bool is_heap) {
  return is_heap ? unit == "bytes" : meaning_of({"delay", std::string(unit)}).unit == wire::NANOSECONDS;
}

bool take_java_attribute(const JavaAttribute& attribute, JavaHeader& header) {
  const auto [key, value] = attribute;
  if (key == "format") {
    return value == "java";
  }
  if (key == "resolution" && is_resolution(value, header.is_heap)) {
    header.resolution = value;
    return true;
  }
  if (!header.is_heap && key == "sampling period") {
    return take_natural(value, header.sampling_period);
  }
  return !header.is_heap && key == "ms since reset" && take_natural(value, header.ms_since_reset);
}

// `line` becomes the first line behind the header.
Result<JavaHeader> read_java_header(LineReader& lines, std::optional<std::string_view>& line) {
  JavaHeader header;
  header.is_heap = line.value_or(std::string_view()) == kJavaHeapStart;
  if (!header.is_heap && line.value_or(std::string_view()) != kJavaContentionStart) {
    return bad_line(lines, line.value_or(std::string_view()), "the first line of a Java profile");
  }
  for (line = lines.next(); line; line = lines.next()) {
    if (is_blank_or_comment(*line)) {
      continue;
    }
    const auto attribute = attribute_in(*line);
    if (!attribute) {
      break;
    }
    if (!take_java_attribute(*attribute, header)) {
      return bad_line(lines, *line, "a supported attribute of a Java profile");
    }
  }
  if (header.resolution.empty()) {
    return fail(ErrorCode::kCorrupt, "the header of the Java profile ends at line {} without a resolution",
                lines.number());
  }
  return header;
}

ApplicationProfile empty_java_profile(const JavaHeader& header) {
  ApplicationProfile profile;
  profile.texts.emplace_back();
  if (header.is_heap) {
    profile.types = heap_types(false);
    profile.period_type = {"space", "bytes"};
    profile.period = kJavaHeapPeriodBytes;
    return profile;
  }
  // pprof gives the resolution to the contentions too: they are a count all the same.
  profile.types = {{"contentions", "count"}, {"delay", header.resolution}};
  profile.period_type = {"contentions", "count"};
  profile.period = header.sampling_period;
  if (__builtin_mul_overflow(header.ms_since_reset, kNsPerMs, &profile.duration_ns)) {
    profile.duration_ns = 0;
  }
  return profile;
}

// What the numbers of a row stand for, in the order of the types.
Result<std::array<int64_t, 2>> java_values(int64_t count, int64_t amount, const JavaHeader& header) {
  if (header.is_heap) {
    const auto scaled = scaled_heap_values({count, amount}, kJavaHeapPeriodBytes);
    return scaled ? Result<std::array<int64_t, 2>>({scaled->objects, scaled->bytes}) : propagate(scaled);
  }
  const int64_t period = header.sampling_period == 0 ? 1 : header.sampling_period;  // 0: not sampled
  std::array<int64_t, 2> values{};
  if (__builtin_mul_overflow(count, period, &values[0]) ||
      __builtin_mul_overflow(amount, period, &values[1])) {
    return fail(ErrorCode::kCorrupt, "{} contentions of {} {} stand for too much", count, amount,
                header.resolution);
  }
  return values;
}

// Names begin with their address, and rows never do.
bool is_java_name(std::string_view line) {
  return line.starts_with("0x");
}

// Up to the names, or the end; `line` is the first of them, and then the one that ended them.
Status read_java_rows(LineReader& lines, std::optional<std::string_view>& line, const JavaHeader& header,
                      const Limits& limits, ApplicationProfile& profile) {
  LegacyRows rows(profile, limits, AddressKind::kPlaces);
  std::vector<uint64_t> addresses;
  for (; line && !is_java_name(*line); line = lines.next()) {
    if (is_blank_or_comment(*line)) {
      continue;
    }
    TextScanner scanner(*line);
    const auto amount = scanner.take_integer();
    const auto count = scanner.take_integer();
    const int64_t fewest = header.is_heap ? 1 : 0;  // bytes are in objects
    if (!amount || !count || *amount < 0 || *count < fewest || !take_addresses(scanner, addresses)) {
      return bad_line(lines, *line,
                      header.is_heap ? "\"BYTES OBJECTS @ ADDRESSES\"" : "\"DELAY CONTENTIONS @ ADDRESSES\"");
    }
    const auto values = java_values(*count, *amount, header);
    if (!values) {
      return propagate(values, "line {} of the profile", lines.number());
    }
    if (auto added = rows.add(addresses, *values); !added) {
      return added;
    }
  }
  return {};
}

struct JavaFrame {
  std::string_view function;
  std::string_view file;
  uint32_t line = 0;
};

// 0 where it is not known: Java writes -1 or -2 (native) then.
uint32_t java_line(std::string_view digits) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool fits = error == std::errc() && number > 0 && number <= std::numeric_limits<uint32_t>::max();
  return fits ? static_cast<uint32_t>(number) : 0;
}

bool is_java_line(std::string_view text) {
  if (text.starts_with('-')) {
    text.remove_prefix(1);
  }
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// The last space before a parenthesis; npos: none.
size_t space_before_place(std::string_view text) {
  size_t last = std::string_view::npos;
  for (const char* mark : {" (", "\t("}) {
    const size_t at = text.rfind(mark);
    if (at != std::string_view::npos && (last == std::string_view::npos || at > last)) {
      last = at;
    }
  }
  return last;
}

// "FUNCTION (FILE:LINE)", "FUNCTION (/path/of/library)", or a state of the machine such as "GC".
JavaFrame java_frame(std::string_view text) {
  const size_t open = text.ends_with(')') ? space_before_place(text) : std::string_view::npos;
  if (open == std::string_view::npos) {
    return {.function = text.contains("generated stub/JIT") ? "STUB" : text, .file = {}};
  }
  JavaFrame frame{.function = text.substr(0, text.find_last_not_of(" \t", open) + 1),
                  .file = text.substr(open + 2, text.size() - open - 3)};
  const size_t colon = frame.file.rfind(':');
  if (colon != std::string_view::npos && colon > 0 && is_java_line(frame.file.substr(colon + 1))) {
    frame.line = java_line(frame.file.substr(colon + 1));
    frame.file = frame.file.substr(0, colon);
  } else {
    frame.file.remove_prefix(frame.file.rfind('/') + 1);  // npos + 1 is 0
  }
  return frame;
}

// Puts frames into the locations that rows have. As many frames at most as there are locations.
class JavaNames {
 public:
  explicit JavaNames(ApplicationProfile& profile) : profile_(profile) {
    for (size_t i = 0; i < profile.locations.size(); ++i) {
      locations_.emplace(profile.locations[i].address, static_cast<uint32_t>(i));
    }
  }

  // Of an address that is named again the last name counts, as for pprof.
  void name(uint64_t address, std::string_view text) {
    const auto known = locations_.find(address);
    if (known == locations_.end() || text.empty()) {
      return;
    }
    Location& location = profile_.locations[known->second];
    const JavaFrame named = java_frame(text);
    const Frame frame{.function = function(named), .line = named.line};
    if (location.frame_count == 1) {
      profile_.frames[location.first_frame] = frame;
      return;
    }
    location.first_frame = static_cast<uint32_t>(profile_.frames.size());
    location.frame_count = 1;
    profile_.frames.push_back(frame);
    // The next text of the same program may number it otherwise: its name alone says what it is.
    location.address = 0;
  }

 private:
  uint32_t text_index(std::string_view text) {
    const auto [entry, is_new] = texts_.try_emplace(text.substr(0, kMaxJavaNameBytes), 0U);
    if (is_new && !text.empty()) {
      entry->second = static_cast<uint32_t>(profile_.texts.size());
      profile_.texts.push_back(printable(entry->first));
    }
    return entry->second;
  }

  uint32_t function(const JavaFrame& frame) {
    const uint32_t name = text_index(frame.function);
    const uint32_t file = text_index(frame.file);
    const auto next = static_cast<uint32_t>(profile_.functions.size());
    const auto [entry, is_new] = functions_.try_emplace(uint64_t{name} << 32U | file, next);
    if (is_new) {
      profile_.functions.push_back({.name = name, .file = file});
    }
    return entry->second;
  }

  ApplicationProfile& profile_;
  boost::unordered_flat_map<uint64_t, uint32_t> locations_;      // by address
  boost::unordered_flat_map<std::string_view, uint32_t> texts_;  // of the profile's text
  boost::unordered_flat_map<uint64_t, uint32_t> functions_;      // by name << 32 | file
};

Status read_java_names(LineReader& lines, std::optional<std::string_view> line, const Limits& limits,
                       ApplicationProfile& profile) {
  JavaNames names(profile);
  for (; line; line = lines.next()) {
    if (!is_java_name(*line)) {
      // Other lines say nothing about values; passing over a row would lose some.
      if (!is_blank_or_comment(*line) && line->contains('@')) {
        return bad_line(lines, *line, "a name: rows stand before all names");
      }
      continue;
    }
    TextScanner scanner(*line);
    TextScanner digits(scanner.take_word());
    const auto address = digits.take_hex();
    if (!address || !digits.rest().empty()) {
      return bad_line(lines, *line, "\"ADDRESS FUNCTION (FILE:LINE)\"");
    }
    names.name(*address, scanner.rest());
    if (profile.texts.size() > limits.max_entries || profile.functions.size() > limits.max_entries) {
      return fail(ErrorCode::kTooLarge, "the profile has over {} names of functions and files",
                  limits.max_entries);
    }
  }
  return {};
}

}  // namespace

bool looks_like_legacy_java(std::string_view text) {
  LineReader lines(text);
  const std::string_view first = lines.next().value_or(std::string_view());
  if (first != kJavaContentionStart) {
    return first == kJavaHeapStart;
  }
  auto line = lines.next();
  while (line && lines.number() < kMaxJavaHeaderLines) {
    const auto attribute = attribute_in(*line);
    if (attribute && (attribute->key == "format" || attribute->key == "resolution")) {
      return true;
    }
    if (!attribute && !is_blank_or_comment(*line)) {
      return false;
    }
    line = lines.next();
  }
  return false;
}

Result<ApplicationProfile> read_legacy_java(std::string_view text, const Limits& limits) {
  LineReader lines(text);
  auto line = lines.next();
  const auto header = read_java_header(lines, line);
  if (!header) {
    return propagate(header);
  }
  ApplicationProfile profile = empty_java_profile(*header);
  auto read = read_java_rows(lines, line, *header, limits, profile);
  if (read) {
    read = read_java_names(lines, line, limits, profile);
  }
  return read ? Result<ApplicationProfile>(std::move(profile)) : propagate(read);
}

}  // namespace plimsoll::formats
