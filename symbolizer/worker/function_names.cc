#include "symbolizer/worker/function_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "symbolizer/names/demangle.h"

namespace plimsoll::symbolizer {
namespace {

constexpr char kElfPlace = 'e';
constexpr char kOffsetPlace = 'f';

std::optional<CodePlace> parse_place(std::string_view text) {
  if (text.empty() || (text.front() != kElfPlace && text.front() != kOffsetPlace)) {
    return std::nullopt;
  }
  CodePlace place{.address = 0, .is_file_offset = text.front() == kOffsetPlace};
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data() + 1, end, place.address, 16);
  return parsed.ec == std::errc() && parsed.ptr == end ? std::optional(place) : std::nullopt;
}

}  // namespace

std::vector<std::string> functions_at(const Symtab& table, std::span<const CodePlace> places) {
  std::vector<std::string> functions;
  functions.reserve(places.size());
  std::vector<SymtabFrame> frames;
  for (const CodePlace& place : places) {
    const auto address =
        place.is_file_offset ? table.address_of(place.address) : std::optional(place.address);
    frames.clear();
    if (address) {
      table.look_up(*address, frames);
    }
    std::string& function = functions.emplace_back();
    if (!frames.empty()) {
      const SymtabFrame& outermost = frames.back();
      function = display_name(outermost.known_as.empty() ? outermost.function : outermost.known_as);
    }
  }
  return functions;
}

std::string text_of_places(std::span<const CodePlace> places) {
  std::string text;
  for (const CodePlace& place : places) {
    text += fmt::format("{}{}{:x}", text.empty() ? "" : ",", place.is_file_offset ? kOffsetPlace : kElfPlace,
                        place.address);
  }
  return text;
}

Result<std::vector<CodePlace>> parse_places(std::string_view text) {
  std::vector<CodePlace> places;
  for (bool is_last = false; !is_last;) {
    const size_t comma = std::min(text.find(','), text.size());
    const auto place = parse_place(text.substr(0, comma));
    if (!place || places.size() == kMaxPlacesOfText) {
      return fail(ErrorCode::kInvalid, "places in code are up to {} such as e1136,f40", kMaxPlacesOfText);
    }
    places.push_back(*place);
    is_last = comma == text.size();
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return places;
}

}  // namespace plimsoll::symbolizer
