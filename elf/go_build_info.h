// What the Go toolchain writes into its programs of their making.
#pragma once

#include <optional>
#include <string>

#include "elf/loaded_image.h"

namespace plimsoll::elf {

struct GoBuildInfo {
  std::string version;  // "go1.19.8"
  std::string
      module_info;  // lines of path, main module, dependencies and build settings; empty: built without modules
};

// From `.go.buildinfo`, or the start of a data segment of a Go program whose section headers are gone; nothing where there is none, or
// it is damaged. Both its forms: addresses of two strings (before Go 1.18), and the strings themselves. The format is that
// of Go's debug/buildinfo.
std::optional<GoBuildInfo> read_go_build_info(const LoadedImage& image);

}  // namespace plimsoll::elf
