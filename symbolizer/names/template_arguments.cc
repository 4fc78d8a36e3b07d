#include "symbolizer/names/template_arguments.h"

#include <algorithm>
#include <array>
#include <vector>

#include "symbolizer/names/characters.h"

namespace plimsoll::symbolizer {
namespace {

constexpr std::string_view kOperator = "operator";

// The operators that are no words, each before those that it begins with.
constexpr std::array<std::string_view, 39> kOperators{
    "<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "->", "()", "[]", "==", "!=",
    "&&",  "||",  "++",  "--",  "+=", "-=", "*=", "/=", "%=", "^=", "&=", "|=", "<",
    ">",   "+",   "-",   "*",   "/",  "%",  "^",  "&",  "|",  "~",  "!",  "=",  ","};

// What stands in angles right behind "::" and is a part of a path.
constexpr std::array<std::string_view, 3> kPathParts{"lambda(", "unnamed ", "impl "};

char closing(char opening) {
  switch (opening) {
    case '<':
      return '>';
    case '(':
      return ')';
    case '[':
      return ']';
    default:
      return '}';
  }
}

class Shortener {
 public:
  explicit Shortener(std::string_view name) : name_(name) {}

  // False where brackets do not match.
  bool run() {
    bool matches = true;
    while (matches && at_ < name_.size()) {
      matches = step();
    }
    return matches && open_.empty();
  }

  std::string& result() { return result_; }

 private:
  struct Bracket {
    char closing;
    bool is_left_out;  // with all that it encloses
  };

  bool step() {
    if (const size_t size = operator_size(); size != 0) {
      copy(size);
      behind_operator_ = at_;
      return true;
    }
    switch (name_[at_]) {
      case '<':
        open_angle();
        return true;
      case '[':
        open('[', is_list_of_go());
        return true;
      case '(':
      case '{':
        open(name_[at_], false);
        return true;
      case '>':
        return close_angle();
      case ')':
      case ']':
      case '}':
        return close();
      default:
        copy(rest().starts_with("->") ? 2 : 1);
        return true;
    }
  }

  std::string_view rest() const { return name_.substr(at_); }
  char before() const { return at_ == 0 ? ' ' : name_[at_ - 1]; }

  // Of "operator->" and its like, from here; 0: there is none.
  size_t operator_size() const {
    if (is_word_character(before()) || !rest().starts_with(kOperator)) {
      return 0;
    }
    const std::string_view symbol = rest().substr(kOperator.size());
    const auto* const found =
        std::ranges::find_if(kOperators, [&](std::string_view known) { return symbol.starts_with(known); });
    return found == kOperators.end() ? 0 : kOperator.size() + found->size();
  }

  void copy(size_t size) {
    if (lists_left_out_ == 0) {
      result_.append(name_, at_, size);
    }
    at_ += size;
  }

  void open(char opening, bool is_left_out) {
    if (is_left_out && lists_left_out_ == 0) {
      result_ += opening;
      result_ += "...";
      result_ += closing(opening);
    }
    lists_left_out_ += is_left_out ? 1 : 0;
    open_.push_back({closing(opening), is_left_out});
    copy(1);
  }

  void open_angle() {
    const char next = rest().size() > 1 ? name_[at_ + 1] : ' ';
    const bool compares = !is_behind_operator() && (before() == ')' || before() == '}' || next == '=');
    const bool is_arrow = next == '-' && !is_list();  // Go's <-chan
    if (compares) {
      copy(std::min(rest().find_first_not_of("<="), rest().size()));
    } else if (is_arrow || next == '>') {
      copy(2);
    } else {
      open('<', is_list());
    }
  }

  // "operator< <int>" has a space in between.
  bool is_behind_operator() const {
    return behind_operator_ != 0 &&
           (at_ == behind_operator_ || (at_ == behind_operator_ + 1 && before() == ' '));
  }

  bool is_list() const {
    if (is_behind_operator() || is_word_character(before()) || before() == ']') {
      return true;
    }
    const std::string_view inside = rest().substr(1);
    return before() == ':' &&
           std::ranges::none_of(kPathParts, [&](std::string_view part) { return inside.starts_with(part); });
  }

  bool is_list_of_go() const {
    return is_word_character(before()) && !rest().starts_with("[]") && !rest().starts_with("[abi:");
  }

  bool close_angle() {
    // Within parentheses it compares.
    if (!open_.empty() && open_.back().closing != '>') {
      copy(1);
      return true;
    }
    return close();
  }

  bool close() {
    if (open_.empty() || open_.back().closing != name_[at_]) {
      return false;
    }
    copy(1);
    lists_left_out_ -= open_.back().is_left_out ? 1 : 0;
    open_.pop_back();
    return true;
  }

  std::string_view name_;
  size_t at_ = 0;
  size_t behind_operator_ = 0;  // where the last operator's name ended
  size_t lists_left_out_ = 0;   // that are open
  std::vector<Bracket> open_;
  std::string result_;
};

}  // namespace

std::string shorten_template_arguments(std::string_view display_name) {
  Shortener shortener(display_name);
  return shortener.run() ? std::move(shortener.result()) : std::string(display_name);
}

}  // namespace plimsoll::symbolizer
