// The library that CMake builds from tests/data/symbol_fixture.cc: on disk, and as the dynamic loader sees it, so that
// a test learns addresses from somebody else than the code it tests.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>

#include <cstdint>
#include <string_view>

#include "tests/places.h"

namespace plimsoll::symbolizer {

inline const std::string kFixturePath = built_file("symbol_fixture.so");
inline constexpr std::string_view kFixtureBuildId = "plimsoll-fixture";

class LoadedFixture {
 public:
  LoadedFixture() : handle_(::dlopen(kFixturePath.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) {
      ADD_FAILURE() << ::dlerror();
      return;
    }
    link_map* map = nullptr;
    EXPECT_EQ(::dlinfo(handle_, RTLD_DI_LINKMAP, static_cast<void*>(&map)), 0);
    base_ = map->l_addr;
  }
  LoadedFixture(const LoadedFixture&) = delete;
  LoadedFixture& operator=(const LoadedFixture&) = delete;
  ~LoadedFixture() {
    if (handle_ != nullptr) {
      ::dlclose(handle_);
    }
  }

  // ELF virtual address of an exported function.
  uint64_t address_of(const char* linkage_name) const {
    void* const address = ::dlsym(handle_, linkage_name);
    EXPECT_NE(address, nullptr) << linkage_name;
    return reinterpret_cast<uint64_t>(address) - base_;
  }

  // ELF virtual address of the function that is not exported.
  uint64_t address_of_local() const {
    using Function = const void* (*)();
    const auto address_of_local_function =
        reinterpret_cast<Function>(::dlsym(handle_, "address_of_local_function"));
    return reinterpret_cast<uint64_t>(address_of_local_function()) - base_;
  }

  // Where its first byte is in the file, by the loader's program headers.
  uint64_t file_offset_of(const char* linkage_name) const {
    Query query{base_, address_of(linkage_name), 0};
    ::dl_iterate_phdr(&LoadedFixture::look_up, &query);
    return query.file_offset;
  }

 private:
  struct Query {
    uint64_t base;
    uint64_t address;
    uint64_t file_offset;
  };

  static int look_up(dl_phdr_info* info, size_t /*size*/, void* data) {
    auto& query = *static_cast<Query*>(data);
    for (int i = 0; info->dlpi_addr == query.base && i < info->dlpi_phnum; ++i) {
      const ElfW(Phdr)& header = info->dlpi_phdr[i];
      if (header.p_type == PT_LOAD && query.address - header.p_vaddr < header.p_filesz) {
        query.file_offset = header.p_offset + (query.address - header.p_vaddr);
      }
    }
    return 0;
  }

  void* handle_;
  uint64_t base_ = 0;
};

}  // namespace plimsoll::symbolizer
