#include "server/doors/build_id_door.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <charconv>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "base/hex.h"
#include "base/printable.h"
#include "elf/elf_file.h"
#include "symbolizer/repository/repository_files.h"
#include "symbolizer/repository/source_archive.h"

namespace plimsoll::server {
namespace {

using symbolizer::BinaryKind;
using symbolizer::BinaryRecord;
using symbolizer::BinaryRepository;

constexpr std::string_view kBuildIdPath = "/buildid/";
constexpr uint64_t kMaxServedBytes = std::numeric_limits<int64_t>::max();

// 0 where there is none.
uint64_t max_bytes_of(const http::Request& request) {
  const std::string_view text = request.header("X-DEBUGINFOD-MAXSIZE");
  uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// What a debuginfod is asked for.
struct BuildIdRequest {
  std::string build_id = {};  // bytes
  std::string artifact = {};  // "debuginfo", "executable", "section", "source"
  std::string name = {};      // of the section, or the path of the source file
};

std::optional<BuildIdRequest> parse_build_id_path(std::string_view path) {
  path.remove_prefix(kBuildIdPath.size());
  const size_t slash = path.find('/');
  auto build_id = symbolizer::parse_build_id(path.substr(0, slash));
  if (!build_id || slash == std::string_view::npos) {
    return std::nullopt;
  }
  BuildIdRequest request{.build_id = *std::move(build_id), .artifact = std::string(path.substr(slash + 1))};
  for (const std::string_view named : {"section", "source"}) {
    if (request.artifact.starts_with(fmt::format("{}/", named))) {
      request.name = request.artifact.substr(named.size() + 1);
      request.artifact = named;
      return request.name.empty() ? std::nullopt : std::optional(std::move(request));
    }
  }
  const bool is_file = request.artifact == "debuginfo" || request.artifact == "executable";
  return is_file ? std::optional(std::move(request)) : std::nullopt;
}

// Plain text, as the tools that ask print it.
http::Response text_response(unsigned status, std::string text) {
  return {.status = status, .content_type = "text/plain; charset=utf-8", .body = std::move(text)};
}

class BuildIdDoor {
 public:
  explicit BuildIdDoor(const BinaryRepository& repository) : repository_(repository) {}

  http::Response answer(const http::Request& request) const {
    const auto asked = parse_build_id_path(request.path);
    if (!asked) {
      return text_response(404,
                           "no such path: ask for /buildid/HEX/debuginfo, /buildid/HEX/executable, "
                           "/buildid/HEX/section/NAME or /buildid/HEX/source/PATH, "
                           "with a build ID of 8 to 128 hexadecimal digits in lower case\n");
    }
    const auto record = repository_.find(asked->build_id);
    auto found = record ? part_of(*record, *asked) : std::nullopt;
    if (!found) {
      return text_response(404, fmt::format("not found: {} of build ID {}\n",
                                            printable(artifact_name(*asked)), to_hex(asked->build_id)));
    }
    const uint64_t max_bytes = max_bytes_of(request);
    if (max_bytes != 0 && found->part.bytes > max_bytes) {
      return text_response(406,
                           fmt::format("{} bytes, over the limit of {}\n", found->part.bytes, max_bytes));
    }
    http::Response response;
    response.content_type = "application/octet-stream";
    response.headers = {{"X-DEBUGINFOD-SIZE", std::to_string(found->part.bytes)},
                        {"X-DEBUGINFOD-FILE", found->name},
                        {"X-Content-Type-Options", "nosniff"}};
    response.file = std::move(found->part);
    return response;
  }

 private:
  struct FoundPart {
    http::FilePart part;
    std::string name;
  };

  static std::string artifact_name(const BuildIdRequest& asked) {
    return asked.name.empty() ? asked.artifact : fmt::format("{} {}", asked.artifact, asked.name);
  }

  // An executable that was never stripped is its own debug file.
  std::optional<FoundPart> part_of(const BinaryRecord& record, const BuildIdRequest& asked) const {
    if (asked.artifact == "executable") {
      return file_of(record, BinaryKind::kExecutable);
    }
    if (asked.artifact == "section") {
      auto in_debug = section_of(record, BinaryKind::kDebug, asked.name);
      return in_debug ? std::move(in_debug) : section_of(record, BinaryKind::kExecutable, asked.name);
    }
    if (asked.artifact == "source") {
      return source_of(record, asked.name);
    }
    const symbolizer::KeptFile* const debug = record.file(BinaryKind::kDebug);
    const symbolizer::KeptFile* const executable = record.file(BinaryKind::kExecutable);
    // A part has nothing that the file lacks which it was made of.
    const bool is_less =
        debug != nullptr && executable != nullptr && debug->is_part && debug->quality <= executable->quality;
    if (debug != nullptr && !is_less) {
      return file_of(record, BinaryKind::kDebug);
    }
    return executable != nullptr && executable->quality > store::SymbolQuality::kDynsym
               ? file_of(record, BinaryKind::kExecutable)
               : std::nullopt;
  }

  std::optional<FoundPart> file_of(const BinaryRecord& record, BinaryKind kind) const {
    const std::string path = kept_path(repository_.data_dir(), record.build_id, kind);
    UniqueFd fd(record.file(kind) == nullptr ? -1 : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat info{};
    if (!fd.valid() || ::fstat(fd.get(), &info) != 0) {
      return std::nullopt;
    }
    FoundPart found;
    found.part.fd = std::make_shared<UniqueFd>(std::move(fd));
    found.part.bytes = static_cast<uint64_t>(info.st_size);
    found.name = to_hex(record.build_id).append(symbolizer::ending_of(kind));
    return found;
  }

  // Its bytes as they are in the file, compressed or not.
  std::optional<FoundPart> section_of(const BinaryRecord& record, BinaryKind kind,
                                      std::string_view name) const {
    auto found = file_of(record, kind);
    if (!found) {
      return std::nullopt;
    }
    const auto map = MappedFile::map(*found->part.fd, found->name, kMaxServedBytes);
    const auto file = map ? elf::ElfFile::parse(map->bytes()) : Result<elf::ElfFile>(propagate(map));
    const Bytes bytes = file ? file->section_bytes(name) : Bytes();
    if (bytes.empty()) {
      return std::nullopt;
    }
    narrow_to(bytes, *map, found->part);
    return found;
  }

  // What its build was given as sources, and nothing else.
  std::optional<FoundPart> source_of(const BinaryRecord& record, std::string_view path) const {
    auto found = file_of(record, BinaryKind::kSources);
    if (!found) {
      return std::nullopt;
    }
    const auto map = MappedFile::map(*found->part.fd, found->name, kMaxServedBytes);
    const auto sources = map ? symbolizer::SourceArchive::parse(map->bytes())
                             : Result<symbolizer::SourceArchive>(propagate(map));
    const auto content = sources ? sources->find(path) : std::nullopt;
    if (!content) {
      return std::nullopt;
    }
    narrow_to(*content, *map, found->part);
    found->name = printable(path);
    return found;
  }

  // `bytes`: of the mapping, or none.
  static void narrow_to(Bytes bytes, const MappedFile& map, http::FilePart& part) {
    part.offset = bytes.empty() ? 0 : static_cast<uint64_t>(bytes.data() - map.bytes().data());
    part.bytes = bytes.size();
  }

  const BinaryRepository& repository_;
};

}  // namespace

http::Route build_id_route(const BinaryRepository& repository) {
  http::Route route;
  route.method = "GET";
  route.path = kBuildIdPath;
  route.is_prefix = true;
  route.threads = http::Threads::kLong;
  route.is_question = true;
  route.right = http::Right::kRead;
  route.handle = [door = BuildIdDoor(repository)](const http::Request& request) {
    return door.answer(request);
  };
  return route;
}

}  // namespace plimsoll::server
