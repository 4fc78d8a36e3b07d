#include "sqlite/question/bounded_format.h"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sqlite/question/argument.h"

namespace plimsoll::sqlite {
namespace {

constexpr int64_t kMaxWidth = 1000;

struct FreeText {
  void operator()(sqlite3_str* text) const { ::sqlite3_free(::sqlite3_str_finish(text)); }
};

// "%-5.2f", without its l's.
struct Directive {
  std::string flags;
  int64_t width = 0;
  std::optional<int64_t> precision;
  char type = 0;
};

// Each directive goes to SQLite's own formatting of C, with the one argument of the type that it wants.
class Formatting {
 public:
  Formatting(sqlite3_context* context, std::span<sqlite3_value*> arguments)
      : context_(context),
        arguments_(arguments),
        text_(::sqlite3_str_new(::sqlite3_context_db_handle(context))) {}

  void run(std::string_view format) {
    rest_ = format;
    while (!rest_.empty() && ::sqlite3_str_errcode(text_.get()) == SQLITE_OK) {
      const size_t plain = std::min(rest_.find('%'), rest_.size());
      append_plain(rest_.substr(0, plain));
      rest_.remove_prefix(plain);
      if (!rest_.empty() && !format_next()) {
        break;
      }
    }
    answer();
  }

 private:
  // Nothing at all where it is empty: what had nothing appended to it is NULL, not an empty text.
  void append_plain(std::string_view text) {
    if (!text.empty()) {
      ::sqlite3_str_append(text_.get(), text.data(), static_cast<int>(text.size()));
    }
  }

  // False where nothing behind it is formatted: as SQLite, at a type that it does not know.
  bool format_next() {
    rest_.remove_prefix(1);
    if (rest_.empty()) {
      ::sqlite3_str_append(text_.get(), "%", 1);
      return false;
    }
    const auto directive = take_directive();
    if (!directive) {
      return false;
    }
    if (directive->width > kMaxWidth || directive->precision.value_or(0) > kMaxWidth) {
      is_too_wide_ = true;
      return false;
    }
    return append(*directive);
  }

  std::optional<Directive> take_directive() {
    Directive directive;
    while (!rest_.empty() && std::string_view("-+ #!0,").find(rest_.front()) != std::string_view::npos) {
      directive.flags.push_back(take());
    }
    directive.width = take_number().value_or(0);
    if (directive.width < 0) {
      directive.flags.push_back('-');
      directive.width = -directive.width;
    }
    if (!rest_.empty() && rest_.front() == '.') {
      take();
      const int64_t precision = take_number().value_or(0);
      directive.precision = precision < 0 ? -precision : precision;
    }
    while (!rest_.empty() && rest_.front() == 'l') {
      take();
    }
    if (rest_.empty()) {
      return std::nullopt;
    }
    directive.type = take();
    return directive;
  }

  char take() {
    const char taken = rest_.front();
    rest_.remove_prefix(1);
    return taken;
  }

  // Digits, or the next argument for "*". Far beyond kMaxWidth digits do not matter.
  std::optional<int64_t> take_number() {
    if (!rest_.empty() && rest_.front() == '*') {
      take();
      sqlite3_value* const value = next();
      return value == nullptr ? 0 : int64_t{::sqlite3_value_int(value)};
    }
    std::optional<int64_t> number;
    while (!rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9') {
      number = std::min(number.value_or(0) * 10 + (take() - '0'), kMaxWidth + 1);
    }
    return number;
  }

  sqlite3_value* next() {
    if (arguments_.empty()) {
      return nullptr;
    }
    sqlite3_value* const value = arguments_.front();
    arguments_ = arguments_.subspan(1);
    return value;
  }

  const char* next_text() {
    sqlite3_value* const value = next();
    return value == nullptr ? nullptr : reinterpret_cast<const char*>(::sqlite3_value_text(value));
  }

  bool append(const Directive& directive) {
    switch (directive.type) {
      case '%':
        ::sqlite3_str_append(text_.get(), "%", 1);
        return true;
      case 'n':
        return true;
      case 'c':
        append_character(directive);
        return true;
      case 'd':
      case 'i':
      case 'u':
      case 'x':
      case 'X':
      case 'o':
      case 'r':
      case 'p': {
        sqlite3_value* const value = next();
        const std::string type = std::string("ll") + (directive.type == 'p' ? 'X' : directive.type);
        const sqlite3_int64 number = value == nullptr ? 0 : ::sqlite3_value_int64(value);
        ::sqlite3_str_appendf(text_.get(), specification(directive, type).c_str(), number);
        return true;
      }
      case 'f':
      case 'e':
      case 'E':
      case 'g':
      case 'G': {
        sqlite3_value* const value = next();
        const double number = value == nullptr ? 0 : ::sqlite3_value_double(value);
        ::sqlite3_str_appendf(text_.get(), specification(directive, {directive.type}).c_str(), number);
        return true;
      }
      case 's':
      case 'z':
      case 'q':
      case 'Q':
      case 'w': {
        const char type = directive.type == 'z' ? 's' : directive.type;  // z would free the text
        ::sqlite3_str_appendf(text_.get(), specification(directive, {type}).c_str(), next_text());
        return true;
      }
      default:
        return false;
    }
  }

  static constexpr std::array<char, 1> kZero{};

  static std::string specification(const Directive& directive, const std::string& type) {
    return "%" + directive.flags + (directive.width == 0 ? "" : std::to_string(directive.width)) +
           (directive.precision ? "." + std::to_string(*directive.precision) : "") + type;
  }

  // The first character of a text, as often as the precision says.
  void append_character(const Directive& directive) {
    const char* const text = next_text();
    const std::string_view character =
        text == nullptr ? std::string_view(kZero.data(), kZero.size()) : first_character(text);
    const int64_t times = std::max<int64_t>(1, directive.precision.value_or(1));
    const auto padding = static_cast<int>(std::max<int64_t>(0, directive.width - times));
    const bool is_left = directive.flags.find('-') != std::string::npos;
    ::sqlite3_str_appendchar(text_.get(), is_left ? 0 : padding, ' ');
    for (int64_t i = 0; i < times; ++i) {
      ::sqlite3_str_append(text_.get(), character.data(), static_cast<int>(character.size()));
    }
    ::sqlite3_str_appendchar(text_.get(), is_left ? padding : 0, ' ');
  }

  // Of UTF-8. Of an empty text its zero, as SQLite has it.
  static std::string_view first_character(const char* text) {
    size_t size = 1;
    const auto is = [](char byte, unsigned bits) {
      return (static_cast<unsigned char>(byte) & 0xC0U) == bits;
    };
    while (is(text[0], 0xC0) && size < 4 && is(text[size], 0x80)) {
      ++size;
    }
    return {text, size};
  }

  void answer() {
    if (is_too_wide_) {
      return ::sqlite3_result_error(context_, "a width or precision in printf() is over 1000", -1);
    }
    const int code = ::sqlite3_str_errcode(text_.get());
    if (code == SQLITE_TOOBIG) {
      return ::sqlite3_result_error_toobig(context_);
    }
    if (code != SQLITE_OK) {
      return ::sqlite3_result_error_nomem(context_);
    }
    const int bytes = ::sqlite3_str_length(text_.get());
    ::sqlite3_result_text(context_, ::sqlite3_str_finish(text_.release()), bytes, ::sqlite3_free);
  }

  sqlite3_context* const context_;
  std::span<sqlite3_value*> arguments_;
  std::unique_ptr<sqlite3_str, FreeText> text_;
  std::string_view rest_;
  bool is_too_wide_ = false;
};

}  // namespace

void bounded_format(sqlite3_context* context, int count, sqlite3_value** arguments) {
  const std::span<sqlite3_value*> all(arguments, static_cast<size_t>(count));
  const char* const format =
      all.empty() ? nullptr : reinterpret_cast<const char*>(::sqlite3_value_text(all.front()));
  if (format != nullptr) {
    Formatting(context, all.subspan(1)).run(format);
  }
}

}  // namespace plimsoll::sqlite
