#include "sqlite/question/bounded_functions.h"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <string_view>
#include <unordered_set>

#include "sqlite/question/argument.h"
#include "sqlite/question/bounded_format.h"

namespace plimsoll::sqlite {
namespace {

bool is_blob(sqlite3_value* value) {
  return ::sqlite3_value_type(value) == SQLITE_BLOB;
}

bool is_null(sqlite3_value* value) {
  return ::sqlite3_value_type(value) == SQLITE_NULL;
}

std::string_view bytes_of(sqlite3_value* value) {
  const auto* bytes = static_cast<const char*>(::sqlite3_value_blob(value));
  return bytes == nullptr ? std::string_view("")
                          : std::string_view(bytes, static_cast<size_t>(::sqlite3_value_bytes(value)));
}

// memmem() takes linear time; std::string_view::find() does not.
size_t find(std::string_view text, std::string_view part) {
  const void* const found = ::memmem(text.data(), text.size(), part.data(), part.size());
  return found == nullptr ? std::string_view::npos
                          : static_cast<size_t>(static_cast<const char*>(found) - text.data());
}

bool continues_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80;
}

// As SQLite counts: any byte begins a character but those that continue one.
size_t characters_of(std::string_view text) {
  return static_cast<size_t>(
      std::ranges::count_if(text, [](char byte) { return !continues_character(byte); }));
}

void instr(sqlite3_context* context, int, sqlite3_value** arguments) {
  if (is_null(arguments[0]) || is_null(arguments[1])) {
    return;
  }
  const bool counts_bytes = is_blob(arguments[0]) && is_blob(arguments[1]);
  const auto read = counts_bytes ? bytes_of : text_of;
  const std::string_view part = read(arguments[1]);
  const std::string_view text = read(arguments[0]);
  const size_t at = find(text, part);
  if (at == std::string_view::npos) {
    return ::sqlite3_result_int64(context, 0);
  }
  const size_t before = counts_bytes ? at : characters_of(text.substr(0, at));
  ::sqlite3_result_int64(context, static_cast<sqlite3_int64>(before) + 1);
}

void replace(sqlite3_context* context, int, sqlite3_value** arguments) {
  if (is_null(arguments[0]) || is_null(arguments[1])) {
    return;
  }
  std::string_view rest = text_of(arguments[0]);
  const std::string_view part = text_of(arguments[1]);
  if (part.empty()) {
    return ::sqlite3_result_value(context, arguments[0]);
  }
  if (is_null(arguments[2])) {
    return;
  }
  const std::string_view by = text_of(arguments[2]);
  const auto max_bytes =
      static_cast<size_t>(::sqlite3_limit(::sqlite3_context_db_handle(context), SQLITE_LIMIT_LENGTH, -1));
  std::string replaced;
  for (size_t at = find(rest, part); at != std::string_view::npos; at = find(rest, part)) {
    replaced += rest.substr(0, at);
    replaced += by;
    rest.remove_prefix(at + part.size());
    if (replaced.size() > max_bytes) {
      return ::sqlite3_result_error_toobig(context);
    }
  }
  replaced += rest;
  ::sqlite3_result_text64(context, replaced.data(), replaced.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
}

// The character that a text begins with, of as many bytes as follow it.
size_t first_size(std::string_view text) {
  const auto end = std::find_if_not(text.begin() + 1, text.end(), continues_character);
  return static_cast<size_t>(end - text.begin());
}

// Where the last character begins.
size_t last_start(std::string_view text) {
  size_t at = text.size() - 1;
  while (at > 0 && continues_character(text[at])) {
    --at;
  }
  return at;
}

template <bool kFromLeft, bool kFromRight>
void trim(sqlite3_context* context, int, sqlite3_value** arguments) {
  if (is_null(arguments[0]) || is_null(arguments[1])) {
    return;
  }
  std::unordered_set<std::string_view> set;
  for (std::string_view rest = text_of(arguments[1]); !rest.empty(); rest.remove_prefix(first_size(rest))) {
    set.insert(rest.substr(0, first_size(rest)));
  }
  std::string_view text = text_of(arguments[0]);
  while (kFromLeft && !text.empty() && set.contains(text.substr(0, first_size(text)))) {
    text.remove_prefix(first_size(text));
  }
  while (kFromRight && !text.empty() && set.contains(text.substr(last_start(text)))) {
    text = text.substr(0, last_start(text));
  }
  ::sqlite3_result_text64(context, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
}

struct Function {
  const char* name;
  int arguments;
  void (*call)(sqlite3_context*, int, sqlite3_value**);
};
constexpr std::array<Function, 7> kFunctions{{{"printf", -1, bounded_format},
                                              {"format", -1, bounded_format},
                                              {"instr", 2, instr},
                                              {"replace", 3, replace},
                                              {"trim", 2, trim<true, true>},
                                              {"ltrim", 2, trim<true, false>},
                                              {"rtrim", 2, trim<false, true>}}};

}  // namespace

Status add_bounded_functions(sqlite3* connection) {
  for (const Function& function : kFunctions) {
    const int code = ::sqlite3_create_function_v2(connection, function.name, function.arguments,
                                                  SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS,
                                                  nullptr, function.call, nullptr, nullptr, nullptr);
    if (code != SQLITE_OK) {
      return fail(ErrorCode::kIo, "adding function {}: {}", function.name, ::sqlite3_errstr(code));
    }
  }
  return {};
}

}  // namespace plimsoll::sqlite
