#include "symbolizer/names/cpp_names.h"

#include <unordered_set>
#include <vector>

#include "symbolizer/names/component_size.h"
#include "symbolizer/names/cpp_walk.h"

namespace plimsoll::symbolizer {
namespace {

constexpr std::string_view kMarkedNumber = "4242";

bool is_mark(const demangle_component* argument) {
  if (argument == nullptr || argument->type != DEMANGLE_COMPONENT_LITERAL) {
    return false;
  }
  const demangle_component* const value = argument->u.s_binary.right;
  return value != nullptr && value->type == DEMANGLE_COMPONENT_NAME && value->u.s_name.len >= 0 &&
         std::string_view(value->u.s_name.s, static_cast<size_t>(value->u.s_name.len)) == kMarkedNumber;
}

const demangle_component* rest_of(const demangle_component* list) {
  return list == nullptr || list->type != DEMANGLE_COMPONENT_TEMPLATE_ARGLIST ? nullptr
                                                                              : list->u.s_binary.right;
}

// The argument of a pack of a mark, a declaration and an argument; null: it is another pack.
demangle_component* argument_of(const demangle_component* pack) {
  if (pack == nullptr || pack->type != DEMANGLE_COMPONENT_TEMPLATE_ARGLIST ||
      !is_mark(pack->u.s_binary.left)) {
    return nullptr;
  }
  const demangle_component* const last = rest_of(rest_of(pack));
  return last == nullptr ? nullptr : last->u.s_binary.left;
}

}  // namespace

std::optional<std::string> in_older_mangling(std::string_view linkage_name) {
  CppWalk walk(linkage_name);
  return walk.mangled_name() && walk.has_edits() ? std::optional(walk.edited()) : std::nullopt;
}

void without_declarations(demangle_component& tree) {
  std::unordered_set<const demangle_component*> seen{&tree};
  std::vector<demangle_component*> left{&tree};
  while (!left.empty()) {
    demangle_component& component = *left.back();
    left.pop_back();
    if (component.type == DEMANGLE_COMPONENT_TEMPLATE_ARGLIST) {
      demangle_component* const argument = argument_of(component.u.s_binary.left);
      component.u.s_binary.left = argument == nullptr ? component.u.s_binary.left : argument;
    }
    for (const demangle_component* const child : children_of(component)) {
      if (child != nullptr && seen.insert(child).second) {
        left.push_back(const_cast<demangle_component*>(
            child));  // NOLINT(cppcoreguidelines-pro-type-const-cast): the tree is the caller's
      }
    }
  }
}

}  // namespace plimsoll::symbolizer
