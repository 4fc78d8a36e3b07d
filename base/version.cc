#include "base/version.h"

namespace plimsoll {

std::string_view version() {
  return PLIMSOLL_VERSION;
}

}  // namespace plimsoll
