#include "query/export/export.h"

#include <algorithm>

namespace plimsoll::query {

Result<ExportRequest> parse_export(const Parameters& parameters, int64_t now_ns) {
  ExportRequest request;
  request.selection.hides_only_named = true;
  std::vector<Parameter> known = filter_parameters(now_ns, request.selection);
  known.push_back({"event", [&request](const std::string& text) -> Status {
                     if (std::ranges::find(request.events, text) != request.events.end()) {
                       return with_field(fail(ErrorCode::kInvalid, "event {} is listed twice", text),
                                         "event");
                     }
                     request.events.push_back(text);
                     return {};
                   }});
  if (auto read = read_parameters(parameters, known); !read) {
    return propagate(read);
  }
  if (auto checked = check_selection(request.selection); !checked) {
    return propagate(checked);
  }
  return request;
}

}  // namespace plimsoll::query
