// Archives of source files.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/tar_reader.h"
#include "formats/tar_writer.h"

namespace plimsoll::symbolizer {

// By name and content, in this order; names as they are.
inline std::string source_archive_of(const std::vector<std::pair<std::string, std::string>>& files) {
  std::string archive;
  for (const auto& [name, content] : files) {
    archive += formats::tar_head(name, content.size()).value_or("") + content;
    archive.resize((archive.size() + formats::kTarBlockBytes - 1) / formats::kTarBlockBytes *
                   formats::kTarBlockBytes);
  }
  return archive + formats::tar_end();
}

}  // namespace plimsoll::symbolizer
