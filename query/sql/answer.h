// The answer to a statement of SQL, and its three forms.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "query/table/table.h"

namespace plimsoll::query {

struct SqlAnswer {
  std::vector<std::string> notes;  // what a reader should know; not part of the text and the CSV
  std::vector<std::string> columns;
  std::vector<std::vector<Value>> rows;
};

// For people: aligned, in the order of the statement, NULL as "-"; every column stays, however narrow the terminal.
std::string to_text(const SqlAnswer& answer, const TextStyle& style = {});
// RFC 4180, with a header line; values unrounded.
std::string to_csv(const SqlAnswer& answer);
// {"notes": [], "columns": [name], "rows": [[value]]}
std::string to_json(const SqlAnswer& answer);
std::string to_form(const SqlAnswer& answer, TableForm form, const TextStyle& style = {});

// The inverse of to_json(); for answers of a server.
Result<SqlAnswer> sql_answer_from_json(std::string_view text);

}  // namespace plimsoll::query
