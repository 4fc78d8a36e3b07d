#include "server/doors/binary_door.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "base/hex.h"
#include "base/printable.h"
#include "base/time.h"
#include "elf/elf_file.h"
#include "formats/decompress.h"
#include "http/ignoring_case.h"
#include "query/operations/binaries.h"
#include "query/table/table.h"
#include "symbolizer/repository/repository_files.h"

namespace plimsoll::server {
namespace {

using symbolizer::BinaryKind;
using symbolizer::BinaryRecord;
using symbolizer::BinaryRepository;

constexpr std::string_view kUploadPath = "/api/v1/binaries/";
constexpr std::string_view kBuildIdPath = "/buildid/";
// Of each upload: all connections together write more.
constexpr uint64_t kBytesBetweenChecks = uint64_t{1} << 20;
constexpr uint64_t kMaxServedBytes = std::numeric_limits<int64_t>::max();

class BinaryUpload : public http::BodySink {
 public:
  using CheckRoom = std::function<Status(uint64_t bytes)>;

  static Result<std::shared_ptr<BinaryUpload>> begin(const BinaryRepository& repository,
                                                     const CheckRoom& check_room, uint64_t declared_bytes) {
    if (const Status room = check_room ? check_room(declared_bytes) : Status(); !room) {
      return propagate(room);
    }
    auto staged = repository.stage(declared_bytes);
    return staged ? Result<std::shared_ptr<BinaryUpload>>(
                        std::make_shared<BinaryUpload>(*std::move(staged), check_room))
                  : propagate(staged);
  }

  BinaryUpload(symbolizer::StagedBinary staged, CheckRoom check_room)
      : staged_(std::move(staged)), check_room_(std::move(check_room)) {}

  // Others fill the disk meanwhile.
  Status take(Bytes piece) override {
    if (check_room_ && staged_.bytes() >= checked_bytes_ + kBytesBetweenChecks) {
      checked_bytes_ = staged_.bytes();
      if (const Status room = check_room_(piece.size()); !room) {
        return room;
      }
    }
    return staged_.write(piece);
  }

  Result<MappedFile> map() const { return staged_.map(); }
  // Once; nothing more comes.
  symbolizer::StagedBinary release() { return std::move(staged_); }
  const CheckRoom& check_room() const { return check_room_; }

 private:
  symbolizer::StagedBinary staged_;
  const CheckRoom check_room_;
  uint64_t checked_bytes_ = 0;
};

// 0 where there is none.
uint64_t number_in(std::string_view text) {
  uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// Who sent it, from where, and what they call it.
std::string source_of_upload(const http::Request& request) {
  std::string name = request.path.substr(kUploadPath.size());
  for (const auto& [key, text] : request.query) {
    if (key == "name") {
      name = text;
    }
  }
  const std::string sender = text_of(request.caller);  // the audit log has its address
  return printable(name.empty() ? sender : fmt::format("{}: {}", sender, name));
}

Result<symbolizer::BinaryOrigin> origin_of(const http::Request& request, int64_t now_ns) {
  symbolizer::BinaryOrigin origin{.source = source_of_upload(request), .now_ns = now_ns};
  for (const auto& [key, text] : request.query) {
    if (key == "name") {
      continue;
    }
    if (key != "build_id") {
      if (const Status added = symbolizer::add_label(origin.labels, key, text); !added) {
        return propagate(added);
      }
      continue;
    }
    auto build_id = symbolizer::parse_build_id(text);
    if (!build_id) {
      return with_hint(
          with_field(fail(ErrorCode::kInvalid, "\"{}\" is no build ID", printable(text)), "build_id"),
          "write it as readelf -n does: 8 to 128 hexadecimal digits in lower case");
    }
    origin.build_id = *std::move(build_id);
  }
  return origin;
}

Status expect_plain_or_gzip(const http::Request& request) {
  const std::string_view encoding = request.header("Content-Encoding");
  const bool is_known = encoding.empty() || http::is_same_ignoring_case(encoding, "identity") ||
                        http::is_same_ignoring_case(encoding, "gzip");
  return is_known ? Status()
                  : with_hint(fail(ErrorCode::kUnsupported, "the body is encoded as \"{}\"", encoding),
                              "send it plain, or with gzip");
}

// By its first bytes, whatever its header says.
Result<symbolizer::StagedBinary> inflated(BinaryUpload& upload, const BinaryRepository& repository,
                                          uint64_t max_bytes) {
  const auto map = upload.map();
  if (!map) {
    return propagate(map);
  }
  const formats::Compression compression = formats::compression_of(
      map->bytes().first(std::min(map->bytes().size(), formats::kCompressionMagicBytes)));
  if (compression == formats::Compression::kNone) {
    return upload.release();
  }
  auto plain = BinaryUpload::begin(repository, upload.check_room(), 0);
  if (!plain) {
    return propagate(plain);
  }
  formats::DecompressionStream stream(
      compression, formats::pull_from(map->bytes()),
      std::min(max_bytes, formats::max_decompressed_bytes(map->bytes().size(), max_bytes)));
  while (true) {
    const auto piece = stream.next();
    if (!piece) {
      return propagate(piece, "decompressing the body");
    }
    if (piece->empty()) {
      return (*plain)->release();
    }
    if (const Status written = (*plain)->take(*piece); !written) {
      return propagate(written);
    }
  }
}

Result<symbolizer::AddedBinary> add_upload(const http::Request& request, BinaryRepository& repository,
                                           uint64_t max_bytes, int64_t now_ns) {
  auto* const upload = dynamic_cast<BinaryUpload*>(request.sink.get());
  if (upload == nullptr) {
    return with_hint(fail(ErrorCode::kInvalid, "the request has no body"), "send one ELF file: curl -T FILE");
  }
  const auto origin = origin_of(request, now_ns);
  if (!origin) {
    return propagate(origin);
  }
  if (const Status known = expect_plain_or_gzip(request); !known) {
    return propagate(known);
  }
  auto plain = inflated(*upload, repository, max_bytes);
  return plain ? repository.add(*std::move(plain), *origin)
               : Result<symbolizer::AddedBinary>(propagate(plain));
}

http::Response answer_to_upload(const symbolizer::AddedBinary& added) {
  http::Response response;
  response.status = added.is_new() ? 201 : 200;
  response.body = query::to_json(query::table_of_added(added));
  return response;
}

// What a debuginfod is asked for.
struct BuildIdRequest {
  std::string build_id = {};  // bytes
  std::string artifact = {};  // "debuginfo", "executable", "section"
  std::string section = {};
};

std::optional<BuildIdRequest> parse_build_id_path(std::string_view path) {
  path.remove_prefix(kBuildIdPath.size());
  const size_t slash = path.find('/');
  auto build_id = symbolizer::parse_build_id(path.substr(0, slash));
  if (!build_id || slash == std::string_view::npos) {
    return std::nullopt;
  }
  BuildIdRequest request{.build_id = *std::move(build_id), .artifact = std::string(path.substr(slash + 1))};
  constexpr std::string_view kSection = "section/";
  if (request.artifact.starts_with(kSection)) {
    request.section = request.artifact.substr(kSection.size());
    request.artifact = "section";
    return request.section.empty() ? std::nullopt : std::optional(std::move(request));
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
      return text_response(
          404,
          "no such path: ask for /buildid/HEX/debuginfo, /buildid/HEX/executable or "
          "/buildid/HEX/section/NAME, "
          "with a build ID of 8 to 128 hexadecimal digits in lower case; sources are not served\n");
    }
    const auto record = repository_.find(asked->build_id);
    auto found = record ? part_of(*record, *asked) : std::nullopt;
    if (!found) {
      return text_response(404, fmt::format("not found: {} of build ID {}\n",
                                            printable(artifact_name(*asked)), to_hex(asked->build_id)));
    }
    const uint64_t max_bytes = number_in(request.header("X-DEBUGINFOD-MAXSIZE"));
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
    return asked.section.empty() ? asked.artifact : fmt::format("section {}", asked.section);
  }

  // An executable that was never stripped is its own debug file.
  std::optional<FoundPart> part_of(const BinaryRecord& record, const BuildIdRequest& asked) const {
    if (asked.artifact == "executable") {
      return file_of(record, BinaryKind::kExecutable);
    }
    if (asked.artifact == "section") {
      auto in_debug = section_of(record, BinaryKind::kDebug, asked.section);
      return in_debug ? std::move(in_debug) : section_of(record, BinaryKind::kExecutable, asked.section);
    }
    if (record.file(BinaryKind::kDebug) != nullptr) {
      return file_of(record, BinaryKind::kDebug);
    }
    const symbolizer::KeptFile* const executable = record.file(BinaryKind::kExecutable);
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
    found.name = to_hex(record.build_id) + (kind == BinaryKind::kDebug ? ".debug" : "");
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
    found->part.offset = static_cast<uint64_t>(bytes.data() - map->bytes().data());
    found->part.bytes = bytes.size();
    return found;
  }

  const BinaryRepository& repository_;
};

http::Route upload_route(BinaryRepository& repository, const BinaryDoorOptions& options) {
  http::Route route;
  route.method = "PUT";
  route.path = kUploadPath;
  route.is_prefix = true;
  route.max_body_bytes = options.max_file_bytes;
  route.threads = http::Threads::kBackground;
  route.right = http::Right::kAddBinary;
  route.begin_body = [&repository, check_room = options.check_room](
                         const http::Request& request) -> Result<std::shared_ptr<http::BodySink>> {
    return BinaryUpload::begin(repository, check_room, number_in(request.header("Content-Length")));
  };
  route.handle = [&repository, max_bytes = options.max_file_bytes,
                  added = options.added](const http::Request& request) {
    const auto outcome = add_upload(request, repository, max_bytes, wall_now_ns());
    if (!outcome) {
      return http::error_response(outcome.error());
    }
    if (outcome->is_new() && added) {
      added();
    }
    return answer_to_upload(*outcome);
  };
  return route;
}

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

}  // namespace

std::vector<http::Route> binary_routes(BinaryRepository& repository, const BinaryDoorOptions& options) {
  return {upload_route(repository, options), build_id_route(repository)};
}

}  // namespace plimsoll::server
