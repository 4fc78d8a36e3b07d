// An application's profile as text, for tests to compare.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "formats/application_profile.h"

namespace plimsoll::formats {

// A line for each row: "VALUE VALUE: LOCATION LOCATION", leaf first. A location is its address, and its file's name where
// there is one, or its functions, innermost first: "0x401135@server", "inner@a.cc:3>outer@a.cc:7".
inline std::string text_of(const ApplicationProfile& profile) {
  const auto location_text = [&](const Location& location) {
    std::string text;
    for (uint32_t i = 0; i < location.frame_count; ++i) {
      const Frame& frame = profile.frames[location.first_frame + i];
      const Function& function = profile.functions[frame.function];
      text += fmt::format("{}{}@{}:{}", text.empty() ? "" : ">", profile.texts[function.name],
                          profile.texts[function.file], frame.line);
    }
    if (text.empty()) {
      text = fmt::format("{:#x}", location.address);
      if (location.mapping_plus_1 != 0) {
        text += "@" + profile.mappings[location.mapping_plus_1 - 1].path;
      }
    }
    return text;
  };
  std::string text;
  for (size_t i = 0; i < profile.samples.size(); ++i) {
    text += fmt::format("{}:", fmt::join(profile.samples.values(i), " "));
    for (const uint32_t location : profile.samples.stack(i)) {
      text += " " + location_text(profile.locations[location]);
    }
    text += "\n";
  }
  return text;
}

inline std::string text_of(const Result<ApplicationProfile>& profile) {
  return profile ? text_of(*profile) : "error: " + profile.error().text();
}

inline std::string types_of(const Result<ApplicationProfile>& profile) {
  std::string text;
  for (const ValueType& type : profile ? profile->types : std::vector<ValueType>()) {
    text += (text.empty() ? "" : " ") + type.type + "/" + type.unit;
  }
  return text;
}

}  // namespace plimsoll::formats
