// The symbol tables that a data directory keeps: symtab/aa/IDENTITY-HEX.symtab, one for each build, immutable.
// The time of its last change is that of its last use: retention drops the others first (store/retention).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/durable_file.h"
#include "base/result.h"
#include "proto/profile.pb.h"
#include "symbolizer/process/table_process.h"

namespace plimsoll::symbolizer {

// Of a build, in a data directory.
std::string table_path(const std::string& data_dir, std::string_view identity);

// The build's table, whose header is checked. kNotFound where there is none. Any process.
Result<MappedTable> read_table(const std::string& data_dir, std::string_view identity);

// Which units of a build libdw has read for the table that a data directory keeps; nothing where there is
// none, or it is damaged. Reads its header; any process.
std::optional<SymtabReaders> readers_of_table(const std::string& data_dir, std::string_view identity);

// For the process that holds the directory's lock; one thread.
class TableFolder {
 public:
  // Creates the folders where they are missing, and removes what a crash left half written.
  static Result<TableFolder> open(const std::string& data_dir);

  // The build's table, verified: reads all of it. Nothing where there is none. One of another version is as good as none; a
  // damaged one is moved to quarantine/, which the log tells.
  std::optional<MappedTable> find(wire::IdentityKind kind, std::string_view identity);

  // Keeps a table, in place of any there was: durable, all or nothing (base/durable_file.h).
  Status keep(const MappedTable& table, const FileCalls& calls = FileCalls::system());

  // For files without a name (MakeOptions::folder).
  std::string folder() const { return data_dir_ + "/symtab"; }

 private:
  explicit TableFolder(std::string data_dir) : data_dir_(std::move(data_dir)) {}
  void set_aside(const std::string& path, const Error& why) const;

  std::string data_dir_;
};

}  // namespace plimsoll::symbolizer
