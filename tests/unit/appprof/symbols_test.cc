#include "appprof/symbols.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>

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
  std::filesystem::copy_file(path_of(reinterpret_cast<const void*>(&::dlopen)), folder / "new.so");
  std::filesystem::rename(folder / "new.so", path);
  EXPECT_EQ(names(), std::vector<std::string>{""});
  ::dlclose(library);
}

}  // namespace
}  // namespace plimsoll::appprof
