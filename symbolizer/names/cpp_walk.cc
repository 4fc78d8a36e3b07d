#include "symbolizer/names/cpp_walk.h"

#include "symbolizer/names/characters.h"

namespace plimsoll::symbolizer {
namespace {

constexpr int kMaxWalkDepth = 256;
constexpr size_t kSequenceBase = 36;

bool is_sequence_digit(char character) {
  return is_digit(character) || (character >= 'A' && character <= 'Z');
}

// Of substitution `number`: "S_" is the first, "S0_" the second.
std::string sequence_text(size_t number) {
  constexpr std::string_view kDigits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  std::string digits;
  if (number > 0) {
    size_t rest = number - 1;
    do {
      digits.insert(digits.begin(), kDigits[rest % kSequenceBase]);
      rest /= kSequenceBase;
    } while (rest > 0);
  }
  return "S" + digits + "_";
}

}  // namespace

bool CppWalk::Deeper::is_bounded() const {
  return walk_.depth_ <= kMaxWalkDepth;
}

std::string CppWalk::edited() const {
  std::string text;
  size_t at = 0;
  for (const Edit& edit : edits_) {
    text.append(name_.substr(at, edit.from - at)).append(edit.text);
    at = edit.to;
  }
  return text.append(name_.substr(at));
}

bool CppWalk::replace(size_t from, Part part, std::string text) {
  ++omitting_;
  const bool is_there = (this->*part)();
  --omitting_;
  edit(from, cursor_.at(), std::move(text));
  return is_there;
}

bool CppWalk::mangled_name() {
  return cursor_.take("_Z") && encoding() && (cursor_.is_at_end() || cursor_.peek() == '.');
}

// NOLINTNEXTLINE(misc-no-recursion): bounded by Deeper, as all of these are.
bool CppWalk::encoding() {
  const Deeper deeper(*this);
  if (!deeper.is_bounded()) {
    return false;
  }
  const bool is_special = cursor_.peek() == 'T' || cursor_.peek() == 'G';
  return is_special ? special_name() : name() && signature();
}

// NOLINTNEXTLINE(misc-no-recursion)
bool CppWalk::signature() {
  while (!cursor_.is_at_end() && !is_one_of(cursor_.peek(), "E._Q")) {
    if (!type()) {
      return false;
    }
  }
  return constraint();
}

// NOLINTNEXTLINE(misc-no-recursion)
bool CppWalk::special_name() {
  const char group = cursor_.next();
  const char kind = cursor_.peek();
  if (group == 'T' && is_one_of(kind, "hv")) {
    return call_offset() && encoding();
  }
  cursor_.next();
  if (group == 'T') {
    switch (kind) {
      case 'V':
      case 'T':
      case 'I':
      case 'S':
        return type();
      case 'c':
        return call_offset() && call_offset() && encoding();
      case 'C':
        return type() && integer() && cursor_.take('_') && type();
      case 'W':
      case 'H':
        return name();
      case 'A':
        return template_arg();
      default:
        return false;
    }
  }
  if (kind == 'R') {
    const bool is_name = name();
    while (is_sequence_digit(cursor_.peek())) {
      cursor_.next();
    }
    cursor_.take('_');
    return is_name;
  }
  return kind == 'V' ? name() : kind == 'A' && encoding();
}

bool CppWalk::call_offset() {
  const char kind = cursor_.next();
  return is_one_of(kind, "hv") && integer() && cursor_.take('_') &&
         (kind == 'h' || (integer() && cursor_.take('_')));
}

bool CppWalk::integer() {
  cursor_.take('n');
  const size_t from = cursor_.at();
  while (is_digit(cursor_.peek())) {
    cursor_.next();
  }
  return cursor_.at() > from;
}

bool CppWalk::source_name() {
  const auto size = cursor_.number();
  return size && *size > 0 && cursor_.text(*size);
}

// NOLINTNEXTLINE(misc-no-recursion)
bool CppWalk::name() {
  const Deeper deeper(*this);
  if (!deeper.is_bounded()) {
    return false;
  }
  if (cursor_.peek() == 'N') {
    return nested_name();
  }
  if (cursor_.peek() == 'Z') {
    return local_name();
  }
  bool is_substitution = false;
  if (!unscoped_name(is_substitution)) {
    return false;
  }
  if (cursor_.peek() != 'I') {
    return !is_substitution;
  }
  return (is_substitution || add_substitution()) && template_args();
}

// NOLINTNEXTLINE(misc-no-recursion)
bool CppWalk::unscoped_name(bool& is_substitution) {
  if (cursor_.take("St")) {
    return unqualified_name(true);
  }
  is_substitution = cursor_.peek() == 'S';
  return is_substitution ? substitution() : unqualified_name(false);
}

bool CppWalk::substitution() {
  const size_t from = cursor_.at();
  if (!cursor_.take('S')) {
    return false;
  }
  if (is_one_of(cursor_.peek(), "absiod")) {
    cursor_.next();
    const bool has_tags = cursor_.peek() == 'B';
    while (cursor_.take('B')) {
      if (!source_name()) {
        return false;
      }
    }
    return !has_tags || add_substitution();
  }
  size_t number = 0;
  for (; is_sequence_digit(cursor_.peek()); cursor_.next()) {
    const char digit = cursor_.peek();
    number = number * kSequenceBase + static_cast<size_t>(is_digit(digit) ? digit - '0' : digit - 'A' + 10);
    if (number > name_.size()) {
      return false;
    }
  }
  number += cursor_.at() - from > 1 ? 1 : 0;
  return cursor_.take('_') && refer_to(number, from);
}

// What is left out, and named first there, is written where it is referred to, if it is a parameter of a template, as it mostly is. Another type
// would bring substitutions of its own: it becomes "auto".
bool CppWalk::refer_to(size_t number, size_t from) {
  if (number >= substitutions_.size() || omitting_ > 0) {
    return omitting_ > 0;
  }
  Substitution& substitution = substitutions_[number];
  if (!substitution.edited_number && substitution.template_param.empty()) {
    edit(from, cursor_.at(), "Da");
    return true;
  }
  if (!substitution.edited_number) {
    substitution.edited_number = edited_substitutions_++;
    edit(from, cursor_.at(), std::string(substitution.template_param));
    return true;
  }
  if (*substitution.edited_number != number) {
    edit(from, cursor_.at(), sequence_text(*substitution.edited_number));
  }
  return true;
}

// NOLINTNEXTLINE(misc-no-recursion)
bool CppWalk::nested_name() {
  cursor_.take('N');
  if (cursor_.peek() == 'H') {
    edit(cursor_.at(), cursor_.at() + 1, "");
    cursor_.next();
  }
  qualifiers();
  if (!cursor_.take('R')) {
    cursor_.take('O');
  }
  const size_t first = substitutions_.size();
  for (bool has_scope = false; !cursor_.take('E'); has_scope = true) {
    if (!prefix_part(has_scope)) {
      return false;
    }
  }
  // The name as a whole is none: of a type its caller adds it.
  if (substitutions_.size() == first) {
    return false;
  }
  drop_substitution();
  return true;
}

// NOLINTNEXTLINE(misc-no-recursion)
bool CppWalk::prefix_part(bool has_scope) {
  if (cursor_.take("St")) {
    return !has_scope;
  }
  const size_t from = cursor_.at();
  bool is_there = false;
  switch (cursor_.peek()) {
    case 'S':
      return !has_scope && substitution();
    case 'T':
      return !has_scope && template_param() && add_substitution(name_.substr(from, cursor_.at() - from));
    case 'I':
      is_there = has_scope && template_args();
      break;
    case 'D':
      if (is_one_of(cursor_.peek(1), "tT")) {
        move(2);
        is_there = !has_scope && expression() && cursor_.take('E');
        break;
      }
      [[fallthrough]];
    default:
      is_there = unqualified_name(has_scope);
  }
  cursor_.take('M');
  return is_there && add_substitution();
}

// NOLINTNEXTLINE(misc-no-recursion)
bool CppWalk::local_name() {
  cursor_.take('Z');
  if (!encoding() || !cursor_.take('E')) {
    return false;
  }
  if (cursor_.take('s')) {
    return discriminator();
  }
  if (cursor_.take('d')) {
    if (cursor_.peek() != '_' && !integer()) {
      return false;
    }
    return cursor_.take('_') && name();
  }
  return name() && discriminator();
}

bool CppWalk::discriminator() {
  if (cursor_.take("__")) {
    return integer() && cursor_.take('_');
  }
  return !cursor_.take('_') || is_digit(cursor_.next());
}

// NOLINTNEXTLINE(misc-no-recursion)
bool CppWalk::unqualified_name(bool has_scope) {
  while (cursor_.take('W')) {
    cursor_.take('P');
    if (!source_name()) {
      return false;
    }
    add_substitution();
  }
  if (has_scope && cursor_.peek() == 'F') {
    edit(cursor_.at(), cursor_.at() + 1, "");
    cursor_.next();
  }
  cursor_.take('L');
  bool is_there = false;
  if (is_digit(cursor_.peek())) {
    is_there = source_name();
  } else if (cursor_.take("DC")) {
    is_there = each_to('E', &CppWalk::source_name);
  } else if (cursor_.peek() == 'U') {
    is_there = unnamed_type();
  } else {
    is_there = is_one_of(cursor_.peek(), "CD") ? constructor() : operator_name();
  }
  while (is_there && cursor_.take('B')) {
    is_there = source_name();
  }
  return is_there;
}

// NOLINTNEXTLINE(misc-no-recursion)
bool CppWalk::constructor() {
  const bool is_constructor = cursor_.next() == 'C';
  const bool is_inherited = is_constructor && cursor_.take('I');
  return is_digit(cursor_.next()) && (!is_inherited || name());
}

// NOLINTNEXTLINE(misc-no-recursion)
bool CppWalk::operator_name() {
  if (cursor_.take("cv")) {
    const bool took_template_args = std::exchange(takes_template_args_, false);
    const bool is_there = type();
    takes_template_args_ = took_template_args;
    return is_there;
  }
  if (cursor_.take("li")) {
    return source_name();
  }
  if (cursor_.peek() == 'v' && is_digit(cursor_.peek(1))) {
    move(2);
    return source_name();
  }
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  return is_letter(cursor_.next()) && is_letter(cursor_.next());
}

// NOLINTNEXTLINE(misc-no-recursion)
bool CppWalk::unnamed_type() {
  cursor_.take('U');
  const char kind = cursor_.next();
  if (kind == 'l' && !lambda()) {
    return false;
  }
  if (is_digit(cursor_.peek()) && !integer()) {
    return false;
  }
  return is_one_of(kind, "tlb") && cursor_.take('_');
}

// NOLINTNEXTLINE(misc-no-recursion)
bool CppWalk::lambda() {
  while (is_declaration()) {
    if (!declaration()) {
      return false;
    }
  }
  if (!constraint()) {
    return false;
  }
  while (cursor_.peek() != 'E' && cursor_.peek() != 'Q') {
    if (!type()) {
      return false;
    }
  }
  return constraint() && cursor_.take('E');
}

}  // namespace plimsoll::symbolizer
