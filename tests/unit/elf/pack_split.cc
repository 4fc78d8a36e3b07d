// Packs the files of split DWARF 5 of a program in this folder, with the arguments of other tools: pack_split -e NAME -o NAME.dwp
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "tests/unit/elf/package_of.h"

namespace {

plimsoll::Result<std::string> package_of(const std::string& name) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(".")) {
    const std::string file = entry.path().filename().string();
    if (file.starts_with(name + "-") && file.ends_with(".dwo")) {
      paths.push_back(file);
    }
  }
  std::ranges::sort(paths);
  plimsoll::testing::SplitPackageWriter package;
  for (const std::string& path : paths) {
    const auto bytes = plimsoll::read_file(path, uint64_t{1} << 30U);
    const plimsoll::Status added =
        bytes ? package.add(plimsoll::as_bytes(*bytes)) : plimsoll::propagate(bytes);
    if (!added) {
      return plimsoll::propagate(added, "{}", path);
    }
  }
  if (paths.empty()) {
    return plimsoll::fail(plimsoll::ErrorCode::kNotFound, "no files {}-*.dwo", name);
  }
  return package.bytes();
}

}  // namespace

int main(int argc, char** argv) {
  const std::span<char*> arguments(argv, static_cast<size_t>(argc));
  if (arguments.size() != 5 || std::string_view(arguments[1]) != "-e" ||
      std::string_view(arguments[3]) != "-o") {
    std::fprintf(stderr, "usage: pack_split -e NAME -o NAME.dwp\n");
    return 2;
  }
  const auto package = package_of(arguments[2]);
  if (!package) {
    std::fprintf(stderr, "error: %s\n", package.error().text().c_str());
    return 1;
  }
  std::ofstream file(arguments[4], std::ios::binary);
  file << *package;
  file.close();
  return file.good() ? 0 : 1;
}
