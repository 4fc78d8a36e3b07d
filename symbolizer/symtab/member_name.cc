#include "symbolizer/symtab/member_name.h"

#include <algorithm>

namespace plimsoll::symbolizer {

bool is_same_member(std::string_view complete, std::string_view base) {
  if (complete.size() != base.size() || !complete.starts_with("_Z")) {
    return false;
  }
  const auto [at, other] = std::ranges::mismatch(complete, base);
  return at != complete.end() && *at == '1' && *other == '2' && (*(at - 1) == 'C' || *(at - 1) == 'D') &&
         std::equal(at + 1, complete.end(), other + 1);
}

}  // namespace plimsoll::symbolizer
