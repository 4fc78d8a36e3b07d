#include "base/host_name.h"

#include <sys/utsname.h>

#include "base/printable.h"

namespace plimsoll {

std::string host_name() {
  utsname machine{};
  const std::string name = ::uname(&machine) == 0 ? printable(machine.nodename) : std::string();
  return name.empty() ? "?" : name;
}

}  // namespace plimsoll
