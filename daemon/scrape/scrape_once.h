// `plimsolld --scrape URL --output FILE`: one profile of an application, into a file.
#pragma once

#include <string>

#include "base/result.h"
#include "daemon/machine/machine.h"

namespace plimsoll::scrape {

struct ScrapeOnceOptions {
  std::string url;
  std::string output;
  bool beyond_loopback = false;
  identity::MachineSettings machine;
};

// What the application has counted since its start or a reset is taken as it is. Prints what it did.
Status scrape_once(const ScrapeOnceOptions& options);

}  // namespace plimsoll::scrape
