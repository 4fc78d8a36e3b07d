#include "store/care/symbol_check.h"

#include <filesystem>
#include <system_error>

#include "base/file.h"
#include "symbolizer/symtab/symtab.h"
#include "symbolizer/worker/table_folder.h"

namespace plimsoll::store {
namespace {

constexpr uint64_t kMaxTableBytes = uint64_t{8} << 30;
constexpr std::string_view kRemedy =
    "delete the file: the table is made again from the binary when the server next looks for it";

Status check_table(CheckLog& log, const std::string& path) {
  const auto file = MappedFile::open(path, kMaxTableBytes);
  if (!file) {
    // Replaced or moved to quarantine/ meanwhile.
    return file.error().code == ErrorCode::kNotFound ? Status() : propagate(file);
  }
  log.start(path);
  ++log.report().symbol_tables;
  const auto table = symbolizer::Symtab::open(file->bytes());
  if (!table) {
    // One of another version is as good as none.
    return table.error().code == ErrorCode::kUnsupported ? Status() : propagate(table);
  }
  if (const Status verified = table->verify(); !verified) {
    return verified;
  }
  if (symbolizer::table_path(log.data_dir(), table->identity()) != path) {
    return fail(ErrorCode::kCorrupt, "it is the table of another binary than its name says");
  }
  log.add_bytes(file->bytes().size());
  return {};
}

}  // namespace

void check_symbol_tables(CheckLog& log) {
  const std::string folder = log.data_dir() + "/symtab";
  std::error_code error;
  if (!std::filesystem::exists(folder, error)) {
    return;
  }
  for (std::filesystem::recursive_directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string path = entry->path().string();
    std::error_code ignored;
    if (entry->path().extension() != ".symtab" || !entry->is_regular_file(ignored)) {
      continue;
    }
    if (const Status checked = check_table(log, path); !checked) {
      log.add(path, checked.error(), kRemedy);
    }
  }
  if (error) {
    log.add(folder, fmt::format("it cannot be listed: {}", error.message()), "make it readable");
  }
}

}  // namespace plimsoll::store
