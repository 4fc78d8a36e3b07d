// Whether a text is well-formed XML, as far as our documents go: elements, attributes, text and references to characters; no comments,
// sections or processing instructions.
#pragma once

#include <regex>
#include <string>
#include <vector>

namespace plimsoll::testing {

// Empty where it is; else what is wrong.
inline std::string xml_error(const std::string& text) {
  static const std::regex kTag(R"re(<(/?)([a-zA-Z][a-zA-Z0-9]*)((?:\s+[a-zA-Z:-]+="[^"<]*")*)\s*(/?)>)re");
  static const std::regex kReference("&(?!(lt|gt|amp|quot);)");
  if (std::smatch found; std::regex_search(text, found, kReference)) {
    return "a bare & before " + found.suffix().str().substr(0, 20);
  }
  std::vector<std::string> open;
  size_t roots = 0;
  size_t end = 0;
  const auto is_only_text = [&](size_t from, size_t to) {
    const std::string between = text.substr(from, to - from);
    return between.find_first_of("<>") == std::string::npos &&
           (!open.empty() || between.find_first_not_of(" \n") == std::string::npos);
  };
  for (std::sregex_iterator tag(text.begin(), text.end(), kTag), none; tag != none; ++tag) {
    const auto start = static_cast<size_t>(tag->position());
    if (!is_only_text(end, start)) {
      return "no tag: " + text.substr(end, start - end);
    }
    end = start + static_cast<size_t>(tag->length());
    const std::string name = (*tag)[2];
    if ((*tag)[1] == "/") {
      if (open.empty() || open.back() != name) {
        return "</" + name + "> closes " + (open.empty() ? "nothing" : open.back());
      }
      open.pop_back();
      continue;
    }
    roots += open.empty() ? 1 : 0;
    if ((*tag)[4] != "/") {
      open.push_back(name);
    }
  }
  if (!open.empty() || !is_only_text(end, text.size())) {
    return "not closed, or followed by more: " + (open.empty() ? text.substr(end) : open.back());
  }
  return roots == 1 ? "" : "not one root element";
}

}  // namespace plimsoll::testing
