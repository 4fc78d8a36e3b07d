#include "capture/identity/environment.h"

#include <algorithm>

#include "base/printable.h"

namespace plimsoll::identity {
namespace {

constexpr size_t kMaxValueBytes = 256;

}  // namespace

Environment select_variables(std::string_view environ_text, std::span<const std::string> names) {
  Environment selected;
  while (selected.size() < names.size()) {
    const size_t end = environ_text.find('\0');
    if (end == std::string_view::npos) {
      break;  // the last one, if it was cut short, would have another value
    }
    const std::string_view entry = environ_text.substr(0, end);
    environ_text.remove_prefix(end + 1);
    const size_t equals = entry.find('=');
    if (equals == std::string_view::npos ||
        !std::ranges::binary_search(names, entry.substr(0, equals), std::less<>())) {
      continue;
    }
    if (variable(selected, entry.substr(0, equals)).empty()) {
      selected.emplace_back(entry.substr(0, equals), printable(entry.substr(equals + 1, kMaxValueBytes)));
    }
  }
  std::ranges::sort(selected);
  return selected;
}

std::string_view variable(const Environment& environment, std::string_view name) {
  const auto found = std::ranges::find(environment, name, &Environment::value_type::first);
  return found == environment.end() ? std::string_view() : std::string_view(found->second);
}

}  // namespace plimsoll::identity
