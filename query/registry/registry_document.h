// The registry of views as the web page reads it.
#pragma once

#include <string>

namespace plimsoll::query {

// JSON: {"version", "views": [{"name", "command", "taken_by", "summary", "details", "audience", "answer", "is_question", "parameters":
// [{"name", "kind", "flag", "placeholder", "help", "default", "repeatable", "positional", "choices"}], "columns": [{"name", "unit",
// "meaning"}], "examples": [{"command", "meaning"}]}], "dimensions": [{"name", "meaning", "source"}]}. More than OpenAPI can say: which
// parameters are events, filters or times, so that the page knows what to propose. Orders are not in it.
std::string registry_document();

}  // namespace plimsoll::query
