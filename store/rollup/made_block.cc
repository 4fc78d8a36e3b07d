#include "store/rollup/made_block.h"

#include <filesystem>
#include <system_error>

#include "base/durable_file.h"
#include "base/log.h"
#include "store/packed/block_packs.h"

namespace plimsoll::store {

Status begin_block(const BlockFolder& made) {
  std::error_code error;
  std::filesystem::remove_all(made.path, error);
  std::filesystem::create_directories(made.segments_path(), error);
  return error ? Status(fail_errno(error.value(), "creating {}", made.segments_path())) : Status();
}

Status complete_block(const BlockFolder& made) {
  if (const Status packed = pack_block(made); !packed) {
    log_warning("packing the entries of block {}: {}", made.number, packed.error().text());
  }
  const Status synced = sync_folder(made.segments_path());
  return synced ? sync_folder(made.path) : synced;
}

void discard_block(const BlockFolder& made) {
  std::error_code ignored;
  std::filesystem::remove_all(made.path, ignored);
}

}  // namespace plimsoll::store
