#include "appprof/symbols.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>

#include "tests/temporary_directory.h"

namespace plimsoll::appprof {
namespace {

std::string path_of(const void* function) {
  Dl_info info{};
  return ::dladdr(function, &info) == 0 ? "" : std::filesystem::canonical(info.dli_fname).string();
}

TEST(AppprofSymbols, AFileThatReplacedTheLoadedOneNamesNothing) {
  const testing::TemporaryDirectory folder;
  const std::string path = folder / "loaded.so";
  std::filesystem::copy_file(path_of(reinterpret_cast<const void*>(&::deflate)), path);
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << ::dlerror();
  const auto names = [library] {
    const std::vector<uintptr_t> addresses{reinterpret_cast<uintptr_t>(::dlsym(library, "deflate"))};
    return names_of(CodeMap::read(), addresses);
  };
  EXPECT_EQ(names(), std::vector<std::string>{"deflate"});
  // The same but for its build ID: a name would be found.
  std::string content = read_file(path.c_str());
  const size_t build_id = content.find(std::string("\x03\0\0\0GNU\0", 8));
  ASSERT_NE(build_id, std::string::npos);
  content[build_id + 8] = static_cast<char>(content[build_id + 8] + 1);
  std::ofstream(folder / "new.so", std::ios::binary) << content;
  std::filesystem::rename(folder / "new.so", path);
  EXPECT_EQ(names(), std::vector<std::string>{""});
  ::dlclose(library);
}

}  // namespace
}  // namespace plimsoll::appprof
