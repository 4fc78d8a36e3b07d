// Data directories as they were before blocks.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/durable_file.h"
#include "sqlite/database.h"

namespace plimsoll::testing {

// Lays a directory of one block out as format 6 had it: catalogue and segments in the directory itself, nothing about blocks in the
// catalogue. Nobody may have it open.
inline void make_format_6(const std::string& data_dir) {
  const std::string block = data_dir + "/blocks/000001";
  ASSERT_FALSE(std::filesystem::exists(data_dir + "/blocks/000002"));
  {
    auto catalogue = sqlite::Database::open(block + "/catalogue.db", sqlite::OpenMode::kReadWrite);
    ASSERT_TRUE(catalogue && catalogue->run("DROP TABLE block"));
  }
  std::filesystem::rename(block + "/catalogue.db", data_dir + "/catalogue.db");
  std::filesystem::rename(block + "/segments", data_dir + "/segments");
  std::filesystem::remove_all(data_dir + "/blocks");
  ASSERT_TRUE(write_file_durably(data_dir + "/FORMAT", as_bytes(std::string_view("6\n"))));
}

}  // namespace plimsoll::testing
