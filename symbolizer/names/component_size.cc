#include "symbolizer/names/component_size.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace plimsoll::symbolizer {
namespace {

constexpr uint64_t kMaxExpandedSize = 100'000;

// The printer lays out on the stack, for each reference to a template's parameter, a copy of every template: 16 bytes,
// and up to four times as many where substitutions repeat both.
constexpr uint64_t kMaxTemplateCopies = 16'384;

}  // namespace

ComponentChildren children_of(const demangle_component& component) {
  switch (component.type) {
    case DEMANGLE_COMPONENT_NAME:
    case DEMANGLE_COMPONENT_TEMPLATE_PARAM:
    case DEMANGLE_COMPONENT_FUNCTION_PARAM:
    case DEMANGLE_COMPONENT_UNNAMED_TYPE:
    case DEMANGLE_COMPONENT_SUB_STD:
    case DEMANGLE_COMPONENT_BUILTIN_TYPE:
    case DEMANGLE_COMPONENT_EXTENDED_BUILTIN_TYPE:
    case DEMANGLE_COMPONENT_OPERATOR:
    case DEMANGLE_COMPONENT_CHARACTER:
    case DEMANGLE_COMPONENT_NUMBER:
      return {};
    case DEMANGLE_COMPONENT_EXTENDED_OPERATOR:
      return {component.u.s_extended_operator.name, nullptr};
    case DEMANGLE_COMPONENT_FIXED_TYPE:
      return {component.u.s_fixed.length, nullptr};
    case DEMANGLE_COMPONENT_CTOR:
      return {component.u.s_ctor.name, nullptr};
    case DEMANGLE_COMPONENT_DTOR:
      return {component.u.s_dtor.name, nullptr};
    case DEMANGLE_COMPONENT_LAMBDA:
    case DEMANGLE_COMPONENT_DEFAULT_ARG:
      return {component.u.s_unary_num.sub, nullptr};
    default:
      return {component.u.s_binary.left, component.u.s_binary.right};
  }
}

namespace {

bool is_parameter_reference(const demangle_component& component) {
  const bool is_reference =
      component.type == DEMANGLE_COMPONENT_REFERENCE || component.type == DEMANGLE_COMPONENT_RVALUE_REFERENCE;
  const demangle_component* const referred = is_reference ? component.u.s_binary.left : nullptr;
  return referred != nullptr && referred->type == DEMANGLE_COMPONENT_TEMPLATE_PARAM;
}

class ComponentWalk {
 public:
  // Saturates. Deep as the name is long, which its caller bounds.
  // NOLINTNEXTLINE(misc-no-recursion)
  uint64_t expanded_size(const demangle_component& component) {
    // Until its size is known it is too large: then one that contains itself is refused.
    const auto [known, is_new] = sizes_.try_emplace(&component, kMaxExpandedSize + 1);
    if (!is_new) {
      return known->second;
    }
    templates_ += component.type == DEMANGLE_COMPONENT_TEMPLATE ? 1 : 0;
    references_ += is_parameter_reference(component) ? 1 : 0;
    uint64_t size = 1;
    for (const demangle_component* const child : children_of(component)) {
      size += child == nullptr ? 0 : expanded_size(*child);
    }
    return sizes_[&component] = std::min(size, kMaxExpandedSize + 1);
  }

  uint64_t template_copies() const { return templates_ * references_; }

 private:
  std::unordered_map<const demangle_component*, uint64_t> sizes_;
  uint64_t templates_ = 0;
  uint64_t references_ = 0;
};

}  // namespace

bool is_printable(const demangle_component& tree) {
  ComponentWalk walk;
  return walk.expanded_size(tree) <= kMaxExpandedSize && walk.template_copies() <= kMaxTemplateCopies;
}

}  // namespace plimsoll::symbolizer
