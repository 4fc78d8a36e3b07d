// Expressions in C++ linkage names.
#include <array>
#include <utility>

#include "symbolizer/names/characters.h"
#include "symbolizer/names/cpp_walk.h"

namespace plimsoll::symbolizer {
namespace {

// Operators by the number of their operands.
constexpr std::string_view kUnary = " ad ng nt co de ps aw nx sz te az sp tw dl da pp mm ";
constexpr std::string_view kBinary =
    " aN aS aa an dV dv dS ds dt pt eO eo eq ge gt lS le ls lt mI mi ml mL ne oR oo or pL pl pm rM rS rm rs "
    "ss cm ix ";
constexpr std::string_view kOfType = " st at ti ";
constexpr std::string_view kCasts = " cc dc rc sc ";

bool has_code(std::string_view codes, std::string_view code) {
  const std::array<char, 4> spaced{' ', code[0], code[1], ' '};
  return codes.find(std::string_view(spaced.data(), spaced.size())) != std::string_view::npos;
}

}  // namespace

// NOLINTNEXTLINE(misc-no-recursion)
bool CppWalk::expression() {
  const Deeper deeper(*this);
  if (!deeper.is_bounded()) {
    return false;
  }
  cursor_.take("gs");
  const std::string_view code = cursor_.rest().substr(0, 2);
  if (is_digit(cursor_.peek()) || code == "sr" || code == "on" || code == "dn") {
    return unresolved_name();
  }
  switch (cursor_.peek()) {
    case 'L':
      return literal();
    case 'T':
      return template_param();
    case 'f': {
      const bool is_param = cursor_.peek(1) == 'p' || (cursor_.peek(1) == 'L' && is_digit(cursor_.peek(2)));
      return is_param ? function_param() : fold();
    }
    case 'u':
      return vendor_expression();
    default:
      break;
  }
  if (code.size() < 2) {
    return false;
  }
  move(2);
  return operator_expression(code);
}

// NOLINTNEXTLINE(misc-no-recursion)
bool CppWalk::operator_expression(std::string_view code) {
  if (has_code(kUnary, code)) {
    // "pp_": before its operand.
    if (code == "pp" || code == "mm") {
      cursor_.take('_');
    }
    return expression();
  }
  if (has_code(kBinary, code)) {
    return expression() && expression();
  }
  if (has_code(kOfType, code)) {
    return type();
  }
  if (has_code(kCasts, code)) {
    return type() && expression();
  }
  return other_expression(code);
}

// NOLINTNEXTLINE(misc-no-recursion)
bool CppWalk::other_expression(std::string_view code) {
  if (code == "qu") {
    return expression() && expression() && expression();
  }
  if (code == "cl" || code == "cp") {
    return each_to('E', &CppWalk::expression);
  }
  if (code == "cv") {
    return conversion();
  }
  if (code == "nw" || code == "na") {
    return new_expression();
  }
  if (code == "tl") {
    return type() && each_to('E', &CppWalk::braced_expression);
  }
  if (code == "il") {
    return each_to('E', &CppWalk::braced_expression);
  }
  if (code == "sZ") {
    return cursor_.peek() == 'T' ? template_param() : function_param();
  }
  if (code == "sP") {
    return each_to('E', &CppWalk::template_arg);
  }
  if (code == "rq" || code == "rQ") {
    return (code == "rq" || each_to('_', &CppWalk::type)) && requires_expression();
  }
  return code == "tr";
}

// NOLINTNEXTLINE(misc-no-recursion)
bool CppWalk::literal() {
  if (!cursor_.take('L')) {
    return false;
  }
  if (cursor_.take("_Z") || cursor_.take('Z')) {
    return encoding() && cursor_.take('E');
  }
  if (cursor_.peek() == 'U' ? !unnamed_type() : !type()) {
    return false;
  }
  while (!cursor_.is_at_end() && cursor_.peek() != 'E') {
    cursor_.next();
  }
  return cursor_.take('E');
}

bool CppWalk::function_param() {
  if (cursor_.take("fpT")) {
    return true;
  }
  if (cursor_.take("fL")) {
    if (!integer()) {
      return false;
    }
  } else if (!cursor_.take('f')) {
    return false;
  }
  if (!cursor_.take('p')) {
    return false;
  }
  qualifiers();
  return cursor_.take('_') || (integer() && cursor_.take('_'));
}

// NOLINTNEXTLINE(misc-no-recursion)
bool CppWalk::fold() {
  cursor_.take('f');
  const char kind = cursor_.next();
  const bool is_binary = kind == 'L' || kind == 'R';
  if ((!is_binary && kind != 'l' && kind != 'r') || cursor_.rest().size() < 2) {
    return false;
  }
  move(2);
  return expression() && (!is_binary || expression());
}

// NOLINTNEXTLINE(misc-no-recursion)
bool CppWalk::conversion() {
  const bool took_template_args = std::exchange(takes_template_args_, false);
  const bool is_type = type();
  takes_template_args_ = took_template_args;
  return is_type && (cursor_.take('_') ? each_to('E', &CppWalk::expression) : expression());
}

// NOLINTNEXTLINE(misc-no-recursion)
bool CppWalk::new_expression() {
  if (!each_to('_', &CppWalk::expression) || !type()) {
    return false;
  }
  return cursor_.take("pi") ? each_to('E', &CppWalk::expression) : cursor_.take('E');
}

// NOLINTNEXTLINE(misc-no-recursion)
bool CppWalk::requires_expression() {
  return each_to('E', &CppWalk::requirement);
}

// NOLINTNEXTLINE(misc-no-recursion)
bool CppWalk::requirement() {
  switch (cursor_.next()) {
    case 'X':
      if (!expression()) {
        return false;
      }
      cursor_.take('N');
      return !cursor_.take('R') || name();
    case 'T':
      return type();
    case 'Q':
      return expression();
    default:
      return false;
  }
}

// NOLINTNEXTLINE(misc-no-recursion)
bool CppWalk::braced_expression() {
  const Deeper deeper(*this);
  if (!deeper.is_bounded()) {
    return false;
  }
  if (cursor_.take("di")) {
    return source_name() && braced_expression();
  }
  if (cursor_.take("dx")) {
    return expression() && braced_expression();
  }
  if (cursor_.take("dX")) {
    return expression() && expression() && braced_expression();
  }
  return expression();
}

// NOLINTNEXTLINE(misc-no-recursion)
bool CppWalk::unresolved_name() {
  if (cursor_.take("srN")) {
    if (!unresolved_type()) {
      return false;
    }
    if (cursor_.peek() == 'I') {
      if (!template_args()) {
        return false;
      }
      count_edited_substitution();
    }
    return each_to('E', &CppWalk::qualifier_level) && base_unresolved_name();
  }
  if (!cursor_.take("sr")) {
    return base_unresolved_name();
  }
  if (is_digit(cursor_.peek())) {
    // "sr1AE1x", which old versions of g++ wrote "sr1A1x": which of both it reads, cplus_demangle_v3_components() takes from memory that it does
    // not initialize. "srN1AE1x" has one meaning.
    edit(cursor_.at(), cursor_.at(), "N");
    return each_to('E', &CppWalk::qualifier_level) && base_unresolved_name();
  }
  return unresolved_type() && (cursor_.peek() != 'I' || template_args()) && base_unresolved_name();
}

// No substitution by the ABI; libiberty makes one of each part between "srN" and "E".
// NOLINTNEXTLINE(misc-no-recursion)
bool CppWalk::qualifier_level() {
  if (!source_name()) {
    return false;
  }
  count_edited_substitution();
  if (cursor_.peek() != 'I') {
    return true;
  }
  const bool has_args = template_args();
  count_edited_substitution();
  return has_args;
}

// NOLINTNEXTLINE(misc-no-recursion)
bool CppWalk::unresolved_type() {
  const size_t from = cursor_.at();
  if (cursor_.peek() == 'T') {
    return template_param() && add_substitution(name_.substr(from, cursor_.at() - from));
  }
  if (cursor_.take("Dt") || cursor_.take("DT")) {
    return expression() && cursor_.take('E') && add_substitution();
  }
  if (cursor_.take("St")) {
    return unqualified_name(true) && add_substitution();
  }
  return substitution();
}

// NOLINTNEXTLINE(misc-no-recursion)
bool CppWalk::simple_id() {
  return source_name() && (cursor_.peek() != 'I' || template_args());
}

// NOLINTNEXTLINE(misc-no-recursion)
bool CppWalk::base_unresolved_name() {
  if (is_digit(cursor_.peek())) {
    return simple_id();
  }
  if (cursor_.take("dn")) {
    return is_digit(cursor_.peek()) ? simple_id() : unresolved_type();
  }
  cursor_.take("on");
  return operator_name() && (cursor_.peek() != 'I' || template_args());
}

// NOLINTNEXTLINE(misc-no-recursion)
bool CppWalk::vendor_expression() {
  cursor_.take('u');
  return source_name() && each_to('E', &CppWalk::template_arg);
}

}  // namespace plimsoll::symbolizer
