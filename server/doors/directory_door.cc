#include "server/doors/directory_door.h"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/printable.h"
#include "base/time.h"
#include "proto/directory.pb.h"
#include "store/replica/copied_directory.h"

namespace plimsoll::server {
namespace {

using store::DirectoryCopies;
using store::DirectoryCopy;

constexpr std::string_view kDirectoryPath = "/api/v1/directory";
constexpr std::string_view kDirectoryFilesPath = "/api/v1/directory/";

wire::DirectoryCopy facts_of(const DirectoryCopy& copy) {
  wire::DirectoryCopy facts;
  facts.set_id(copy.id);
  facts.set_taken_ns(copy.taken_ns);
  facts.set_directory_format(copy.directory_format);
  facts.set_directory_id(copy.directory_id);
  facts.set_rows_address(copy.rows_address);
  facts.set_rows_insert_quorum(copy.rows_insert_quorum);
  for (const std::string& shard : copy.rows_shards) {
    facts.add_rows_shards(shard);
  }
  facts.set_format_version(store::copy_version_of(facts));
  for (const DirectoryCopy::File& file : copy.files) {
    wire::DirectoryCopy::File& described = *facts.add_files();
    described.set_name(file.name);
    described.set_size_bytes(file.bytes);
    described.set_content_hash(file.content_hash);
  }
  return facts;
}

bool wants_newest(const http::Request& request) {
  return std::ranges::find(request.query, std::pair<std::string, std::string>("newest", "yes")) !=
         request.query.end();
}

http::Response rows_are_here() {
  return http::error_response(
      with_hint(
          fail(ErrorCode::kUnsupported,
               "the rows of this server are in its data directory, where no other server can read them"),
          "move them to ClickHouse: plimsoll store copy --to clickhouse://HOST/DATABASE")
          .error());
}

http::Response describe_copy(DirectoryCopies& copies, const DirectoryDoorOptions& options,
                             const http::Request& request) {
  if (!options.has_rows_elsewhere) {
    return rows_are_here();
  }
  const auto found =
      copies.get(wants_newest(request) ? DirectoryCopies::Wanted::kNewest : DirectoryCopies::Wanted::kRecent,
                 options.check_room);
  if (!found) {
    return http::error_response(found.error());
  }
  const std::string tag = "\"" + found->copy->id + "\"";
  http::Response response;
  response.headers = {{"ETag", tag},
                      {"Age", std::to_string((found->age_ns + kNsPerSecond - 1) / kNsPerSecond)},
                      {"Cache-Control", "no-store"}};
  if (request.header("If-None-Match") == tag) {
    response.status = 304;
    response.content_type.clear();
    return response;
  }
  response.content_type = "application/x-protobuf";
  response.body = facts_of(*found->copy).SerializeAsString();
  return response;
}

http::Response file_of_copy(const DirectoryCopies& copies, const http::Request& request) {
  const std::string_view path = std::string_view(request.path).substr(kDirectoryFilesPath.size());
  const size_t slash = path.find('/');
  const std::string_view name = slash == std::string_view::npos ? "" : path.substr(slash + 1);
  const auto copy = copies.find(path.substr(0, slash));
  if (copy == nullptr) {
    return http::error_response(with_hint(fail(ErrorCode::kNotFound, "a newer copy has taken the place of {}",
                                               printable(path.substr(0, slash))),
                                          "ask for /api/v1/directory again")
                                    .error());
  }
  const auto file = std::ranges::find(copy->files, name, &DirectoryCopy::File::name);
  if (file == copy->files.end()) {
    return http::error_response(
        fail(ErrorCode::kNotFound, "the copy has no file {}", printable(name)).error());
  }
  http::Response response;
  response.content_type = "application/octet-stream";
  response.headers = {{"Cache-Control", "no-store"}};
  response.file = http::FilePart{.fd = file->fd, .offset = 0, .bytes = file->bytes};
  return response;
}

}  // namespace

std::vector<http::Route> directory_routes(DirectoryCopies& copies, DirectoryDoorOptions options) {
  http::Route newest;
  newest.method = "GET";
  newest.path = kDirectoryPath;
  newest.threads = http::Threads::kBackground;
  newest.right = http::Right::kCopyDirectory;
  newest.handle = [&copies, options = std::move(options)](const http::Request& request) {
    return describe_copy(copies, options, request);
  };
  http::Route files;
  files.method = "GET";
  files.path = kDirectoryFilesPath;
  files.is_prefix = true;
  files.right = http::Right::kCopyDirectory;
  files.handle = [&copies](const http::Request& request) { return file_of_copy(copies, request); };
  return {std::move(newest), std::move(files)};
}

}  // namespace plimsoll::server
