#include "tests/places.h"

namespace plimsoll {
namespace {

std::string below(std::string_view folder, std::string_view path) {
  std::string text(folder);
  if (!path.empty()) {
    text.append("/").append(path);
  }
  return text;
}

}  // namespace

std::string built_file(std::string_view name) {
  return below(PLIMSOLL_BIN, name);
}

std::string source_file(std::string_view path) {
  return below(PLIMSOLL_SOURCE_DIR, path);
}

}  // namespace plimsoll
