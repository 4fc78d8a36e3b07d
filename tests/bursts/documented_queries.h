// The queries of the three stories, as docs/burst-search.md has them.
#pragma once

#include <fstream>
#include <string>
#include <vector>

#include "tests/places.h"

namespace plimsoll::testing {

// In the order of the document: an index block that is read again and again, properties that are fetched one
// by one, a lock that is held by a request that itself waits, and the waits for it.
inline std::vector<std::string> documented_stories() {
  std::ifstream document(source_file("docs/burst-search.md"));
  std::vector<std::string> queries;
  bool is_within = false;
  for (std::string line; std::getline(document, line);) {
    is_within = line == "## The three stories" || (is_within && line != "An answer:");
    if (is_within && line.starts_with("    ")) {
      queries.push_back(line.substr(4));
    }
  }
  return queries;
}

}  // namespace plimsoll::testing
