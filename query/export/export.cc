#include "query/export/export.h"

#include <algorithm>
#include <array>

namespace plimsoll::query {

Result<ExportRequest> parse_export(const Parameters& parameters, int64_t now_ns) {
  ExportRequest request;
  for (const auto& [name, text] : parameters) {
    if (name == "event") {
      if (std::ranges::find(request.events, text) != request.events.end()) {
        return with_field(fail(ErrorCode::kInvalid, "event {} is asked for twice", text), "event");
      }
      request.events.push_back(text);
      continue;
    }
    const auto taken = add_to_selection(name, text, now_ns, request.selection);
    if (!taken) {
      return propagate(taken);
    }
    if (!*taken) {
      constexpr std::array<std::string_view, 4> kKnown{"event", "where", "since", "until"};
      return unknown_parameter(name, kKnown);
    }
  }
  if (auto checked = check_selection(request.selection); !checked) {
    return propagate(checked);
  }
  return request;
}

}  // namespace plimsoll::query
