#include "server/doors/binary_door.h"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/hex.h"
#include "base/printable.h"
#include "base/time.h"
#include "http/ignoring_case.h"
#include "query/operations/binaries.h"
#include "query/table/table.h"
#include "server/doors/binary_upload.h"
#include "server/doors/build_claims.h"
#include "server/doors/build_id_door.h"
#include "symbolizer/repository/repository_files.h"

namespace plimsoll::server {
namespace {

using elf::BinaryPart;
using symbolizer::BinaryKind;
using symbolizer::BinaryRepository;

constexpr std::string_view kUploadPath = "/api/v1/binaries/";

std::shared_ptr<UnfinishedUploads> unfinished_uploads(const BinaryDoorOptions& options) {
  return std::make_shared<UnfinishedUploads>(options.monotonic_ns,
                                             UnfinishedLimits{.max_bytes = options.max_unfinished_bytes});
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
  const auto place = upload_place(request);
  if (!place) {
    return propagate(place);
  }
  symbolizer::BinaryOrigin origin{
      .source = source_of_upload(request), .now_ns = now_ns, .content_hash = place->digest};
  for (const auto& [key, text] : request.query) {
    if (key == "name" || key == "digest" || key == "offset") {
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

Result<symbolizer::AddedBinary> add_upload(const http::Request& request, BinaryRepository& repository,
                                           uint64_t max_bytes, int64_t now_ns) {
  auto* const upload = dynamic_cast<BinaryUpload*>(request.sink.get());
  if (upload == nullptr) {
    return with_hint(fail(ErrorCode::kInvalid, "the request has no body"),
                     "send one ELF file, or an archive of sources: curl -T FILE");
  }
  upload->end();
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

http::Route upload_route(BinaryRepository& repository, const BinaryDoorOptions& options,
                         const std::shared_ptr<UnfinishedUploads>& unfinished) {
  http::Route route;
  route.method = "PUT";
  route.path = kUploadPath;
  route.is_prefix = true;
  route.max_body_bytes = options.max_file_bytes;
  route.threads = http::Threads::kBackground;
  route.right = http::Right::kAddBinary;
  route.begin_body = [&repository, check_room = options.check_room,
                      unfinished](const http::Request& request) -> Result<std::shared_ptr<http::BodySink>> {
    return BinaryUpload::resume(repository, check_room, request, unfinished);
  };
  route.handle = [&repository, max_bytes = options.max_file_bytes,
                  added = options.added](const http::Request& request) {
    const auto outcome = add_upload(request, repository, max_bytes, wall_now_ns());
    if (!outcome) {
      return http::error_response(outcome.error());
    }
    if (outcome->has_new_symbols() && added) {
      added();
    }
    return answer_to_upload(*outcome);
  };
  return route;
}

// Of uploads to that path.
http::Route offset_route(std::string_view path, http::Right right,
                         const std::shared_ptr<UnfinishedUploads>& unfinished) {
  http::Route route;
  route.method = "GET";
  route.path = path;
  route.is_prefix = true;
  route.right = right;
  route.handle = [unfinished](const http::Request& request) { return answer_offset(request, *unfinished); };
  return route;
}

constexpr std::string_view kMachineBinariesPath = "/fleet/v1/binaries/";
constexpr std::string_view kWantedPath = "/fleet/v1/binaries/wanted";
constexpr size_t kMaxAskedBuilds = 1000;
constexpr size_t kMaxAskedBytes = kMaxAskedBuilds * (2 * symbolizer::kMaxBuildIdBytes + 1);

// Of what daemons have: executables, or the parts of these that symbols are read from.
class MachineBinaries {
 public:
  MachineBinaries(BinaryRepository& repository, const WantedBuildSet& wanted,
                  const BinaryDoorOptions& options)
      : repository_(repository),
        wanted_(wanted),
        options_(options),
        unfinished_(unfinished_uploads(options)),
        claims_(std::make_shared<BuildClaims>(options.monotonic_ns)) {}

  const std::shared_ptr<UnfinishedUploads>& unfinished() const { return unfinished_; }

  http::Response answer_wanted(const http::Request& request) const {
    const std::string machine = upload_sender(request);
    const auto offered = content_of(request);
    if (!offered) {
      return http::error_response(offered.error());
    }
    const BinaryPart content = std::min(*offered, options_.machine_content);
    std::string wanted;
    std::string_view lines = request.body;
    for (size_t count = 0; !lines.empty(); ++count) {
      const size_t end = std::min(lines.find('\n'), lines.size());
      const std::string_view line = lines.substr(0, end);
      const auto build_id = symbolizer::parse_build_id(line);
      if (!build_id || count == kMaxAskedBuilds) {
        return http::error_response(
            {ErrorCode::kInvalid,
             fmt::format("the body must be a list of build IDs, one a line, at most {}", kMaxAskedBuilds),
             {},
             {}});
      }
      if (is_wanted(*build_id, content) && claims_->claim(*build_id, machine)) {
        wanted.append(fmt::format("{} {}\n", line, name_of(content)));
      }
      lines.remove_prefix(std::min(end + 1, lines.size()));
    }
    return {.content_type = "application/octet-stream", .body = std::move(wanted)};
  }

  // Before anything of the body is read.
  Result<std::shared_ptr<http::BodySink>> begin(const http::Request& request) const {
    const auto build_id = build_id_of(request);
    if (!build_id) {
      return propagate(build_id);
    }
    auto arrival = BuildClaims::begin_arrival(claims_, *build_id);
    if (arrival == nullptr) {
      return fail(ErrorCode::kConflict, "the executable of build ID {} is arriving from another machine",
                  to_hex(*build_id));
    }
    auto upload = BinaryUpload::resume(repository_, options_.check_room, request, unfinished_);
    if (!upload) {
      return propagate(upload);
    }
    (*upload)->hold(std::move(arrival));
    return *std::move(upload);
  }

  http::Response take(const http::Request& request) const {
    auto* const upload = dynamic_cast<BinaryUpload*>(request.sink.get());
    if (upload != nullptr) {
      upload->end();  // also where the file is not wanted any more
    }
    const auto build_id = build_id_of(request);
    const auto content = content_of(request);
    if (!build_id || !content || upload == nullptr) {
      return http::error_response(build_id ? Error{ErrorCode::kInvalid, "the request has no body", {}, {}}
                                           : build_id.error());
    }
    const bool is_part = *content != BinaryPart::kWholeFile;
    const auto place = upload_place(request);
    auto plain = place ? inflated(*upload, repository_, options_.max_file_bytes)
                       : Result<symbolizer::StagedBinary>(propagate(place));
    const auto added = plain ? repository_.add(*std::move(plain), {.source = text_of(request.caller),
                                                                   .now_ns = wall_now_ns(),
                                                                   .build_id = *build_id,
                                                                   .kind = is_part ? BinaryKind::kDebug
                                                                                   : BinaryKind::kExecutable,
                                                                   .must_be_part = is_part,
                                                                   .content_hash = place->digest})
                             : Result<symbolizer::AddedBinary>(propagate(plain));
    // Other machines have the same, and it would fare alike. A file of another build says nothing of theirs.
    if (added || symbolizer::is_of_same_build(added.error())) {
      claims_->note_arrived(*build_id, *content);
    }
    if (!added) {
      return http::error_response(added.error());
    }
    if (added->has_new_symbols() && options_.added) {
      options_.added();
    }
    return answer_to_upload(*added);
  }

 private:
  static Result<BinaryPart> content_of(const http::Request& request) {
    const std::string_view name = query_field(request, "content");
    const auto content = name.empty() ? BinaryPart::kWholeFile : elf::parse_binary_part(name);
    return content
               ? Result<BinaryPart>(*content)
               : with_field(fail(ErrorCode::kInvalid, "no such content of a binary: \"{}\"", printable(name)),
                            "content");
  }

  // A part is of no use beside all symbols, nor where as much has come before: how good a file is, only a machine that has it knows.
  bool is_wanted(std::string_view build_id, BinaryPart content) const {
    const auto record = repository_.find(build_id);
    const bool is_listed =
        wanted_.contains(build_id) || (content == BinaryPart::kWholeFile && wanted_.contains_code(build_id));
    if (!is_listed || content > options_.machine_content ||
        (record && record->file(BinaryKind::kExecutable) != nullptr)) {
      return false;
    }
    const symbolizer::KeptFile* const debug = record ? record->file(BinaryKind::kDebug) : nullptr;
    const bool has_all = debug != nullptr && debug->quality == store::SymbolQuality::kFull;
    return content == BinaryPart::kWholeFile || (!has_all && !claims_->has_arrived(build_id, content));
  }

  Result<std::string> build_id_of(const http::Request& request) const {
    auto build_id =
        symbolizer::parse_build_id(std::string_view(request.path).substr(kMachineBinariesPath.size()));
    if (!build_id) {
      return fail(ErrorCode::kInvalid, "the path does not end in a build ID");
    }
    const auto content = content_of(request);
    if (!content) {
      return propagate(content);
    }
    return is_wanted(*build_id, *content)
               ? Result<std::string>(*std::move(build_id))
               : fail(ErrorCode::kConflict, "the executable of build ID {} is not wanted ({})",
                      to_hex(*build_id), name_of(*content));
  }

  BinaryRepository& repository_;
  const WantedBuildSet& wanted_;
  const BinaryDoorOptions options_;
  const std::shared_ptr<UnfinishedUploads> unfinished_;
  const std::shared_ptr<BuildClaims> claims_;
};

}  // namespace

std::vector<http::Route> machine_binary_routes(BinaryRepository& repository, const WantedBuildSet& wanted,
                                               const BinaryDoorOptions& options) {
  const auto binaries = std::make_shared<const MachineBinaries>(repository, wanted, options);
  http::Route ask;
  ask.method = "POST";
  ask.path = kWantedPath;
  ask.max_body_bytes = kMaxAskedBytes;
  ask.right = http::Right::kMachine;
  ask.handle = [binaries](const http::Request& request) { return binaries->answer_wanted(request); };
  http::Route put;
  put.method = "PUT";
  put.path = kMachineBinariesPath;
  put.is_prefix = true;
  put.max_body_bytes = options.max_file_bytes;
  put.threads = http::Threads::kBackground;  // as upload_route(): profiles have the threads for long work
  put.right = http::Right::kMachine;
  put.begin_body = [binaries](const http::Request& request) { return binaries->begin(request); };
  put.handle = [binaries](const http::Request& request) { return binaries->take(request); };
  return {ask, put, offset_route(kMachineBinariesPath, http::Right::kMachine, binaries->unfinished())};
}

std::vector<http::Route> binary_routes(BinaryRepository& repository, const BinaryDoorOptions& options) {
  const auto unfinished = unfinished_uploads(options);
  return {upload_route(repository, options, unfinished), build_id_route(repository),
          offset_route(kUploadPath, http::Right::kAddBinary, unfinished)};
}

}  // namespace plimsoll::server
