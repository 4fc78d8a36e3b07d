// Types in C++ linkage names.
#include "symbolizer/names/characters.h"
#include "symbolizer/names/cpp_walk.h"

namespace plimsoll::symbolizer {
namespace {

constexpr std::string_view kBuiltinTypes = "vwbcahstijlmxynofdegz";

}  // namespace

// Each type but a builtin one and a substitution becomes a substitution after its parts.
// NOLINTNEXTLINE(misc-no-recursion)
bool CppWalk::type() {
  const Deeper deeper(*this);
  if (!deeper.is_bounded()) {
    return false;
  }
  if (is_one_of(cursor_.peek(), kBuiltinTypes)) {
    cursor_.next();
    return true;
  }
  switch (cursor_.peek()) {
    case 'D':
      return type_of_d();
    case 'S':
      return type_of_s();
    case 'T':
      return type_of_t();
    case 'u':
      cursor_.next();
      return source_name() && (cursor_.peek() != 'I' || template_args());
    default:
      return unqualified_type() && add_substitution();
  }
}

// NOLINTNEXTLINE(misc-no-recursion)
bool CppWalk::unqualified_type() {
  switch (cursor_.peek()) {
    case 'r':
    case 'V':
    case 'K':
      return is_function_type() ? function_type() : qualified_type();
    case 'U':
      return qualified_type();
    case 'F':
      return function_type();
    case 'A':
      return array_type();
    case 'M':
      cursor_.next();
      return type() && type();
    case 'P':
    case 'R':
    case 'O':
    case 'C':
    case 'G':
      cursor_.next();
      return type();
    default:
      return name();
  }
}

bool CppWalk::is_function_type() const {
  size_t ahead = 0;
  while (is_one_of(cursor_.peek(ahead), "rVK")) {
    ++ahead;
  }
  return cursor_.peek(ahead) == 'F' ||
         (cursor_.peek(ahead) == 'D' && is_one_of(cursor_.peek(ahead + 1), "oOwx"));
}

// NOLINTNEXTLINE(misc-no-recursion)
bool CppWalk::qualified_type() {
  while (cursor_.take('U')) {
    if (!source_name() || (cursor_.peek() == 'I' && !template_args())) {
      return false;
    }
  }
  qualifiers();
  return type();
}

// NOLINTNEXTLINE(misc-no-recursion)
bool CppWalk::type_of_d() {
  const char kind = cursor_.peek(1);
  if (is_one_of(kind, "oOwx")) {
    return function_type() && add_substitution();
  }
  if (is_one_of(kind, "kK")) {
    return constrained_auto();
  }
  move(cursor_.rest().size() < 2 ? 0 : 2);
  switch (kind) {
    case 'F':
      return integer() && (cursor_.take('_') || cursor_.take('b') || cursor_.take('x'));
    case 'B':
    case 'U':
      return (is_digit(cursor_.peek()) ? integer() : expression()) && cursor_.take('_');
    case 'p':
      return type() && add_substitution();
    case 't':
    case 'T':
      return expression() && cursor_.take('E') && add_substitution();
    case 'v':
      return vector_type() && add_substitution();
    default:
      return is_one_of(kind, "defhisuacn");
  }
}

// "std::integral auto": without the constraint.
// NOLINTNEXTLINE(misc-no-recursion)
bool CppWalk::constrained_auto() {
  const size_t from = cursor_.at();
  const char kind = cursor_.peek(1);
  move(2);
  return replace(from, &CppWalk::name, kind == 'k' ? "Da" : "Dc");
}

// NOLINTNEXTLINE(misc-no-recursion)
bool CppWalk::function_type() {
  qualifiers();
  if (cursor_.take("DO") && !(expression() && cursor_.take('E'))) {
    return false;
  }
  if (cursor_.take("Dw") && !each_to('E', &CppWalk::type)) {
    return false;
  }
  cursor_.take("Do");
  cursor_.take("Dx");
  if (!cursor_.take('F')) {
    return false;
  }
  cursor_.take('Y');
  while (!cursor_.take('E')) {
    if (cursor_.take("RE") || cursor_.take("OE")) {
      return true;
    }
    if (!type()) {
      return false;
    }
  }
  return true;
}

// NOLINTNEXTLINE(misc-no-recursion)
bool CppWalk::array_type() {
  cursor_.take('A');
  if (is_digit(cursor_.peek()) && !integer()) {
    return false;
  }
  return (cursor_.take('_') || (expression() && cursor_.take('_'))) && type();
}

// NOLINTNEXTLINE(misc-no-recursion)
bool CppWalk::vector_type() {
  if (is_digit(cursor_.peek())) {
    return integer() && cursor_.take('_') && (cursor_.take('p') || type());
  }
  return (cursor_.take('_') || (expression() && cursor_.take('_'))) && type();
}

// NOLINTNEXTLINE(misc-no-recursion)
bool CppWalk::type_of_s() {
  bool is_substitution = false;
  if (!unscoped_name(is_substitution)) {
    return false;
  }
  if (cursor_.peek() == 'I' && (!is_substitution || takes_template_args_)) {
    return (is_substitution || add_substitution()) && template_args() && add_substitution();
  }
  return is_substitution || add_substitution();
}

// NOLINTNEXTLINE(misc-no-recursion)
bool CppWalk::type_of_t() {
  if (is_one_of(cursor_.peek(1), "sue")) {
    move(2);
    return name() && add_substitution();
  }
  const size_t from = cursor_.at();
  if (!template_param()) {
    return false;
  }
  add_substitution(name_.substr(from, cursor_.at() - from));
  return cursor_.peek() != 'I' || !takes_template_args_ || (template_args() && add_substitution());
}

}  // namespace plimsoll::symbolizer
