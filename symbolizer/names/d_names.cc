#include "symbolizer/names/d_names.h"

#include <algorithm>
#include <array>
#include <utility>

#include "symbolizer/names/name_cursor.h"

namespace plimsoll::symbolizer {
namespace {

constexpr int kMaxDepth = 64;

// What looks like parameters is read a second time where it turns out to be the type of what was named: at each depth once more.
constexpr int kMaxSteps = 100'000;

// Characters that are copied are steps too: a back reference repeats thousands of them.
constexpr size_t kCharactersOfStep = 16;

// A back reference repeats an identifier: of a name of n bytes all of them together could make n * n / 8.
constexpr size_t kMaxExpansion = 4;

constexpr std::string_view kCallConventions = "FUWVRY";
constexpr std::string_view kBasicTypes = "vgahsitkljmopqrfdecbuwn";

// What the compiler makes of a type, by the last part of its name.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kData{
    {{"__init", "initializer for "},
     {"__vtbl", "vtable for "},
     {"__Class", "ClassInfo for "},
     {"__Interface", "Interface for "},
     {"__ModuleInfo", "ModuleInfo for "}}};

constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kMembers{
    {{"__ctor", "this"}, {"__dtor", "~this"}}};

// By recursive descent, as the grammar is. Each function returns false where the name does not follow it; what was read until then
// is of no use.
class Reader {
 public:
  explicit Reader(std::string_view name) : name_(name), cursor_(name) {}

  std::optional<std::string> read() {
    std::string text;
    if (!cursor_.take("_D") || !mangled(text) || !cursor_.is_at_end() ||
        text.size() > kMaxExpansion * name_.size()) {
      return std::nullopt;
    }
    return name_.ends_with('Z') ? with_kind_of_data(std::move(text)) : text;
  }

 private:
  class Deeper {
   public:
    explicit Deeper(Reader& reader) : reader_(reader) {
      ++reader_.depth_;
      ++reader_.steps_;
    }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;
    ~Deeper() { --reader_.depth_; }

    bool is_bounded() const { return reader_.depth_ <= kMaxDepth && reader_.steps_ <= kMaxSteps; }

   private:
    Reader& reader_;
  };

  static std::string with_kind_of_data(std::string text) {
    for (const auto& [part, kind] : kData) {
      const std::string last = "." + std::string(part);
      if (text.ends_with(last)) {
        text.resize(text.size() - last.size());
        return std::string(kind) + text;
      }
    }
    return text;
  }

  // Where the back reference at the cursor leads; nothing: there is none that leads back.
  std::optional<size_t> back_reference() {
    const size_t from = cursor_.at();
    if (!cursor_.take('Q')) {
      return std::nullopt;
    }
    // In base 26: capital letters, and a small one at the end.
    size_t distance = 0;
    for (char digit = cursor_.next(); distance <= from; digit = cursor_.next()) {
      if (digit >= 'a' && digit <= 'z') {
        distance = distance * 26 + static_cast<size_t>(digit - 'a');
        return distance == 0 || distance > from ? std::nullopt : std::optional(from - distance);
      }
      if (digit < 'A' || digit > 'Z') {
        return std::nullopt;
      }
      distance = distance * 26 + static_cast<size_t>(digit - 'A');
    }
    return std::nullopt;
  }

  // Q refers to an identifier or to a type.
  bool is_at_symbol() {
    if (cursor_.peek() == 'Q') {
      const size_t from = cursor_.at();
      const auto target = back_reference();
      cursor_.move_to(from);
      return target && is_digit(name_[*target]);
    }
    return is_digit(cursor_.peek()) || is_at_template();
  }
  bool is_at_template() const {
    return cursor_.rest().starts_with("__T") || cursor_.rest().starts_with("__U");
  }

  // What comes behind _D: a name, and its type or, of what the compiler makes, Z.
  // NOLINTNEXTLINE(misc-no-recursion): kMaxDepth bounds it, here and below.
  bool mangled(std::string& text) { return qualified(text) && (cursor_.take('Z') || type()); }

  // NOLINTNEXTLINE(misc-no-recursion)
  bool qualified(std::string& text) {
    const Deeper deeper(*this);
    if (!deeper.is_bounded() || !is_at_symbol()) {
      return false;
    }
    bool is_first = true;
    while (is_at_symbol()) {
      while (cursor_.take('0')) {  // a symbol without a name
      }
      text += is_first ? "" : ".";
      is_first = false;
      if (!symbol(text)) {
        return false;
      }
      skip_parameters();
    }
    return true;
  }

  // Of the function that was just named, if it is one: what is declared in it may follow, or the type that it returns.
  // NOLINTNEXTLINE(misc-no-recursion)
  void skip_parameters() {
    const size_t from = cursor_.at();
    const bool is_member = cursor_.take('M');
    if (is_member) {
      modifiers();
    }
    if (!kCallConventions.contains(cursor_.peek()) || !function() || cursor_.is_at_end()) {
      cursor_.move_to(from);
    }
  }

  // NOLINTNEXTLINE(misc-no-recursion)
  bool symbol(std::string& text) {
    const Deeper deeper(*this);
    if (!deeper.is_bounded()) {
      return false;
    }
    if (cursor_.peek() == 'Q') {
      return identifier_before(text);
    }
    if (is_at_template()) {
      return template_instance(text);
    }
    const auto size = cursor_.number();
    if (!size || *size == 0) {
      return false;
    }
    const size_t from = cursor_.at();
    if (!is_at_template()) {
      return identifier(*size, text);
    }
    // Whose length is known: what is in it need not be understood.
    cursor_.move_to(from + 3);
    const bool is_named = symbol(text) && cursor_.at() <= from + *size && from + *size <= name_.size();
    text += "!(...)";
    cursor_.move_to(std::min(from + *size, name_.size()));
    return is_named;
  }

  bool identifier(size_t size, std::string& text) {
    const auto name = cursor_.text(size);
    if (!name) {
      return false;
    }
    steps_ += static_cast<int>(size / kCharactersOfStep);
    if (steps_ > kMaxSteps) {
      return false;
    }
    const auto* const member =
        std::ranges::find(kMembers, *name, &std::pair<std::string_view, std::string_view>::first);
    text += member == kMembers.end() ? *name : member->second;
    return std::ranges::all_of(*name, is_word_character) && text.size() <= kMaxExpansion * name_.size();
  }

  bool identifier_before(std::string& text) {
    const auto target = back_reference();
    if (!target) {
      return false;
    }
    const size_t behind = cursor_.at();
    cursor_.move_to(*target);
    const auto size = cursor_.number();
    const bool is_identifier = size && *size != 0 && identifier(*size, text);
    cursor_.move_to(behind);
    return is_identifier;
  }

  // NOLINTNEXTLINE(misc-no-recursion)
  bool template_instance(std::string& text) {
    const Deeper deeper(*this);
    cursor_.move_to(cursor_.at() + 3);
    if (!deeper.is_bounded() || !symbol(text)) {
      return false;
    }
    text += "!(...)";
    while (!cursor_.take('Z')) {
      if (!template_argument()) {
        return false;
      }
    }
    return true;
  }

  // NOLINTNEXTLINE(misc-no-recursion)
  bool template_argument() {
    cursor_.take('H');  // matched a specialization
    std::string ignored;
    switch (cursor_.next()) {
      case 'T':
        return type();
      case 'S':
        return cursor_.take("_D") ? mangled(ignored) : qualified(ignored);
      case 'V':
        return typed_value();
      case 'X': {
        const auto size = cursor_.number();
        return size && cursor_.text(*size);
      }
      default:
        return false;
    }
  }

  // NOLINTNEXTLINE(misc-no-recursion)
  bool typed_value() {
    size_t from = cursor_.at();
    if (const auto target = back_reference()) {
      from = *target;
      return value(name_[from]);
    }
    return type() && value(name_[from]);
  }

  // `of`: the first letter of its type.
  // NOLINTNEXTLINE(misc-no-recursion)
  bool value(char of) {
    const Deeper deeper(*this);
    if (!deeper.is_bounded()) {
      return false;
    }
    std::string ignored;
    switch (const char kind = cursor_.peek()) {
      case 'n':
        return cursor_.take('n');
      case 'i':
      case 'N':
        cursor_.next();
        return digits();
      case 'e':
      case 'c':
        cursor_.next();
        return real() && (kind == 'e' || (cursor_.take('c') && real()));
      case 'a':
      case 'w':
      case 'd':
        return characters();
      case 'A':
      case 'S': {
        cursor_.next();
        const auto count = cursor_.number();
        const size_t values = count.value_or(0) * (kind == 'A' && of == 'H' ? 2 : 1);
        bool are_values = count.has_value();
        for (size_t i = 0; are_values && i < values; ++i) {
          are_values = value('\0');
        }
        return are_values;
      }
      case 'f':
        cursor_.next();
        return cursor_.take("_D") && mangled(ignored);
      default:
        return digits();
    }
  }

  // A number of any size.
  bool digits() {
    const size_t from = cursor_.at();
    while (is_digit(cursor_.peek())) {
      cursor_.next();
    }
    return cursor_.at() != from;
  }

  // Hexadecimal digits, P and the exponent; or one of three words.
  bool real() {
    for (const std::string_view word : {"NAN", "INF", "NINF"}) {
      if (cursor_.take(word)) {
        return true;
      }
    }
    cursor_.take('N');
    const size_t from = cursor_.at();
    while (is_hexadecimal(cursor_.peek())) {
      cursor_.next();
    }
    if (cursor_.at() == from || !cursor_.take('P')) {
      return false;
    }
    cursor_.take('N');
    return digits();
  }

  bool characters() {
    cursor_.next();
    const auto count = cursor_.number();
    if (!count || !cursor_.take('_')) {
      return false;
    }
    const auto digits = cursor_.text(std::min(*count, name_.size()) * 2);
    return digits && std::ranges::all_of(*digits, is_hexadecimal);
  }

  static bool is_hexadecimal(char character) {
    return is_digit(character) || (character >= 'a' && character <= 'f') ||
           (character >= 'A' && character <= 'F');
  }

  // const, immutable, shared, inout.
  void modifiers() {
    while (cursor_.take('x') || cursor_.take('y') || cursor_.take('O') || cursor_.take("Ng")) {
    }
  }

  // NOLINTNEXTLINE(misc-no-recursion)
  bool type() {
    const Deeper deeper(*this);
    if (!deeper.is_bounded()) {
      return false;
    }
    modifiers();
    std::string ignored;
    const char kind = cursor_.peek();
    if (kind == 'Q') {
      return back_reference().has_value();
    }
    if (kCallConventions.contains(kind)) {
      return function() && type();
    }
    cursor_.next();
    switch (kind) {
      case 'A':
      case 'P':
        return type();
      case 'G':
        return digits() && type();
      case 'H':
        return type() && type();
      case 'I':
      case 'C':
      case 'S':
      case 'E':
      case 'T':
        return qualified(ignored);
      case 'D':
        modifiers();
        return cursor_.peek() == 'Q' ? back_reference().has_value() : function() && type();
      case 'N':
        return cursor_.take('n') || (cursor_.take('h') && type());
      case 'B':
        return tuple();
      case 'z':
        return cursor_.take('i') || cursor_.take('k');
      default:
        return kind != '\0' && kBasicTypes.contains(kind);
    }
  }

  // NOLINTNEXTLINE(misc-no-recursion)
  bool tuple() {
    if (const auto count = cursor_.number()) {
      bool are_types = true;
      for (size_t i = 0; are_types && i < *count; ++i) {
        are_types = type();
      }
      return are_types;
    }
    return parameters();
  }

  // Without the type that it returns.
  // NOLINTNEXTLINE(misc-no-recursion)
  bool function() {
    if (!kCallConventions.contains(cursor_.next())) {
      return false;
    }
    // Attributes: pure, nothrow, @safe and so on. Ng, Nh, Nk and Nn begin a parameter.
    while (cursor_.peek() == 'N' && std::string_view("abcdefijlm").contains(cursor_.peek(1))) {
      cursor_.move_to(cursor_.at() + 2);
    }
    return parameters();
  }

  // NOLINTNEXTLINE(misc-no-recursion)
  bool parameters() {
    while (!cursor_.take('X') && !cursor_.take('Y') && !cursor_.take('Z')) {
      // scope, return; then in, out, ref or lazy.
      while (cursor_.take('M') || cursor_.take("Nk")) {
      }
      static_cast<void>(cursor_.take("IK") || cursor_.take('I') || cursor_.take('J') || cursor_.take('K') ||
                        cursor_.take('L'));
      if (!type()) {
        return false;
      }
    }
    return true;
  }

  const std::string_view name_;
  NameCursor cursor_;
  int depth_ = 0;
  int steps_ = 0;
};

}  // namespace

std::optional<std::string> d_name(std::string_view linkage_name) {
  if (linkage_name == "_Dmain") {
    return "D main";
  }
  return Reader(linkage_name).read();
}

}  // namespace plimsoll::symbolizer
