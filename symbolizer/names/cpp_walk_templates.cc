// Arguments and parameters of templates in C++ linkage names.
#include "symbolizer/names/characters.h"
#include "symbolizer/names/cpp_names.h"
#include "symbolizer/names/cpp_walk.h"

namespace plimsoll::symbolizer {

// NOLINTNEXTLINE(misc-no-recursion)
bool CppWalk::template_args() {
  cursor_.take('I');
  while (cursor_.peek() != 'E' && cursor_.peek() != 'Q') {
    if (!template_arg()) {
      return false;
    }
  }
  return constraint() && cursor_.take('E');
}

// NOLINTNEXTLINE(misc-no-recursion)
bool CppWalk::template_arg() {
  const Deeper deeper(*this);
  if (!deeper.is_bounded()) {
    return false;
  }
  switch (cursor_.peek()) {
    case 'X':
      cursor_.next();
      return expression() && cursor_.take('E');
    case 'J':
      cursor_.next();
      return each_to('E', &CppWalk::template_arg);
    case 'L':
      return literal();
    case 'T':
      return is_declaration() ? declared_arg() : type();
    default:
      return type();
  }
}

bool CppWalk::is_declaration() const {
  return cursor_.peek() == 'T' && is_one_of(cursor_.peek(1), "yptnk");
}

// What clang writes before an argument whose parameter the signature does not show. What it substitutes may be referred to later, so that
// all of it becomes a pack: kDeclarationMark, the declaration as a type or a name, the argument.
// NOLINTNEXTLINE(misc-no-recursion)
bool CppWalk::declared_arg() {
  const size_t from = cursor_.at();
  while (cursor_.take("Tp")) {
  }
  if (cursor_.take("Tn")) {
    edit(from, cursor_.at(), "J" + std::string(kDeclarationMark));
    if (!type() || !template_arg()) {
      return false;
    }
  } else if (cursor_.take("Tk")) {
    edit(from, cursor_.at(), "J" + std::string(kDeclarationMark) + "L_Z");
    if (!name()) {
      return false;
    }
    edit(cursor_.at(), cursor_.at(), "E");
    if (!template_arg()) {
      return false;
    }
  } else {
    return is_declaration() && replace(from, &CppWalk::declaration, "") && template_arg();
  }
  edit(cursor_.at(), cursor_.at(), "E");
  return true;
}

// Of a parameter of a lambda, or of a template parameter that is a template.
// NOLINTNEXTLINE(misc-no-recursion)
bool CppWalk::declaration() {
  const Deeper deeper(*this);
  const size_t from = cursor_.at();
  if (!deeper.is_bounded() || !is_declaration()) {
    return false;
  }
  cursor_.next();
  switch (cursor_.next()) {
    case 'y':
      return true;
    case 'k':
      return replace(from, &CppWalk::name, "Ty");
    case 'n':
      return type();
    case 'p':
      return declaration();
    default:
      while (is_declaration()) {
        if (!declaration()) {
          return false;
        }
      }
      return constraint() && cursor_.take('E');
  }
}

bool CppWalk::template_param() {
  if (!cursor_.take('T')) {
    return false;
  }
  if (cursor_.take('L') && !(integer() && cursor_.take('_'))) {
    return false;
  }
  return cursor_.take('_') || (integer() && cursor_.take('_'));
}

// A constraint, where there is one.
// NOLINTNEXTLINE(misc-no-recursion)
bool CppWalk::constraint() {
  const size_t from = cursor_.at();
  return !cursor_.take('Q') || replace(from, &CppWalk::expression, "");
}

}  // namespace plimsoll::symbolizer
