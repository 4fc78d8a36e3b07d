#include "store/data_directory.h"

#include <charconv>
#include <filesystem>

#include "base/durable_file.h"
#include "base/file.h"
#include "base/lock_file.h"

namespace plimsoll::store {
namespace {

constexpr int kFormat = 2;

}  // namespace

Result<DataDirectory> DataDirectory::open_for_writing(const std::string& path) {
  DataDirectory directory(path);
  std::error_code error;
  std::filesystem::create_directories(directory.segments_path(), error);
  if (error) {
    return with_hint(fail_errno(error.value(), "creating the data directory {}", path),
                     "name a writable place with --data");
  }
  if (auto locked = directory.take_lock(); !locked) {
    return propagate(locked);
  }
  if (!std::filesystem::exists(path + "/FORMAT", error)) {
    const std::string text = fmt::format("{}\n", kFormat);
    if (auto written = write_file_durably(path + "/FORMAT", as_bytes(text)); !written) {
      return propagate(written);
    }
  }
  if (auto checked = directory.check_format(); !checked) {
    return propagate(checked);
  }
  return directory;
}

Result<DataDirectory> DataDirectory::open_for_reading(const std::string& path) {
  DataDirectory directory(path);
  if (auto checked = directory.check_format(); !checked) {
    return propagate(checked);
  }
  return directory;
}

Status DataDirectory::check_format() const {
  const auto text = read_file(path_ + "/FORMAT", 64);
  if (!text) {
    return with_hint(propagate(text, "{} is not a data directory of Plimsoll", path_),
                     "name one with --data; \"plimsoll import\" and \"plimsoll server\" create it");
  }
  int format = 0;
  const auto parsed = std::from_chars(text->data(), text->data() + text->size(), format);
  if (parsed.ec != std::errc()) {
    return with_field(fail(ErrorCode::kCorrupt, "{}/FORMAT holds no number", path_), "FORMAT");
  }
  if (format != kFormat) {
    return with_field(fail(ErrorCode::kUnsupported, "{} has format {}; this program reads and writes {}",
                           path_, format, kFormat),
                      "FORMAT");
  }
  return {};
}

Status DataDirectory::take_lock() {
  auto lock = take_lock_file(path_ + "/lock", path_ + " is being written by",
                             "stop that process, or ask it with --server");
  if (!lock) {
    return propagate(lock);
  }
  lock_ = std::move(*lock);
  return {};
}

}  // namespace plimsoll::store
