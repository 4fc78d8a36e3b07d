#include "server/doors/symbolizer_door.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "base/hex.h"
#include "base/printable.h"
#include "proto/symbolizer.pb.h"
#include "symbolizer/repository/repository_files.h"

namespace plimsoll::server {
namespace {

using symbolizer::BinaryKind;
using symbolizer::Lease;
using symbolizer::LeaseAnswer;
using symbolizer::LeaseClaim;
using symbolizer::TableExchange;

constexpr std::string_view kMessageType = "application/x-protobuf";
constexpr std::string_view kFilesPath = "/api/v1/symbolizer/files/";
constexpr std::string_view kTablesPath = "/api/v1/symbolizer/tables/";
constexpr size_t kMaxMessageBytes = size_t{64} << 10;
constexpr uint32_t kMaxBuildsOfRequest = 32;
// More than a worker can have. Each costs a pass over the book.
constexpr int kMaxRenewed = 256;
constexpr uint64_t kBytesBetweenRoomChecks = uint64_t{1} << 20;
// With nothing to do. Builds become pending with each batch of rows, seconds apart.
constexpr uint32_t kAskAgainMs = 2000;

http::Response message_response(const google::protobuf::MessageLite& message) {
  return {.content_type = std::string(kMessageType), .body = message.SerializeAsString()};
}

// The worker by name and token, so that no token answers for the leases of another.
Result<std::string> worker_of(const http::Request& request, std::string_view name) {
  if (name.empty() || name.size() > symbolizer::kMaxWorkerBytes || printable(name) != name) {
    return with_field(fail(ErrorCode::kInvalid, "the worker's name must have 1 to {} printable bytes",
                           symbolizer::kMaxWorkerBytes),
                      "worker");
  }
  return fmt::format("{} ({})", name, printable(text_of(request.caller)));
}

std::string_view parameter(const http::Request& request, std::string_view name) {
  const auto found = std::ranges::find(request.query, name, [](const auto& field) { return field.first; });
  return found == request.query.end() ? std::string_view() : std::string_view(found->second);
}

std::string short_reason(std::string_view reason) {
  return printable(reason.substr(0, symbolizer::kMaxReasonBytes));
}

Status no_lease(LeaseAnswer answer, std::string_view build_id) {
  return answer == LeaseAnswer::kNotNeeded
             ? fail(ErrorCode::kConflict, "build {} needs no table any more", to_hex(build_id))
             : fail(ErrorCode::kConflict, "the worker has no such lease of build {}", to_hex(build_id));
}

// What a request about one build names. Owns its texts.
struct NamedLease {
  std::string worker;
  std::string id;
  std::string build_id;
  std::string rest;  // of the path

  LeaseClaim claim() const { return {.worker = worker, .id = id, .build_id = build_id}; }
};

Result<NamedLease> lease_in_path(const http::Request& request, std::string_view prefix) {
  std::string_view path = std::string_view(request.path).substr(prefix.size());
  const size_t end = std::min(path.find('/'), path.size());
  auto build_id = symbolizer::parse_build_id(path.substr(0, end));
  if (!build_id) {
    return fail(ErrorCode::kNotFound, "the path must have a build ID of 8 to 128 hexadecimal digits");
  }
  auto worker = worker_of(request, parameter(request, "worker"));
  if (!worker) {
    return propagate(worker);
  }
  path.remove_prefix(end);
  return NamedLease{.worker = *std::move(worker),
                    .id = std::string(parameter(request, "lease")),
                    .build_id = *std::move(build_id),
                    .rest = std::string(path)};
}

// Into a file without a name, which is gone if the table does not come whole.
class TableUpload : public http::BodySink {
 public:
  TableUpload(UniqueFd file, std::function<Status(uint64_t)> check_room,
              std::shared_ptr<std::atomic<size_t>> arriving)
      : file_(std::move(file)), check_room_(std::move(check_room)), arriving_(std::move(arriving)) {
    ++*arriving_;
  }
  ~TableUpload() override { --*arriving_; }

  Status take(Bytes piece) override {
    if (check_room_ && bytes_ >= next_check_) {
      next_check_ = bytes_ + kBytesBetweenRoomChecks;
      if (const Status room = check_room_(kBytesBetweenRoomChecks); !room) {
        return room;
      }
    }
    while (!piece.empty()) {
      const ssize_t written = ::write(file_.get(), piece.data(), piece.size());
      if (written < 0 && errno == EINTR) {
        continue;
      }
      if (written < 0) {
        return fail_errno(errno, "storing the symbol table");
      }
      bytes_ += static_cast<uint64_t>(written);
      piece = piece.subspan(static_cast<size_t>(written));
    }
    return {};
  }

  const UniqueFd& file() const { return file_; }

 private:
  const UniqueFd file_;
  const std::function<Status(uint64_t)> check_room_;
  const std::shared_ptr<std::atomic<size_t>> arriving_;
  uint64_t bytes_ = 0;
  uint64_t next_check_ = 0;
};

class SymbolizerDoor {
 public:
  SymbolizerDoor(TableExchange& exchange, const SymbolizerDoorOptions& options)
      : exchange_(exchange), options_(options) {}

  http::Response lease(const http::Request& request) const {
    wire::LeaseRequest asked;
    if (!asked.ParseFromString(request.body)) {
      return malformed();
    }
    const auto worker = worker_of(request, asked.worker());
    if (!worker) {
      return http::error_response(worker.error());
    }
    const bool is_first = !exchange_.has_workers();
    const auto leases = exchange_.lease(*worker, std::min(asked.max_builds(), kMaxBuildsOfRequest));
    if (!leases) {
      return http::error_response(leases.error());
    }
    if (options_.asked && is_first) {
      options_.asked();
    }
    return message_response(reply_of(*leases));
  }

  http::Response renew(const http::Request& request) const {
    wire::RenewRequest asked;
    if (!asked.ParseFromString(request.body)) {
      return malformed();
    }
    const auto worker = worker_of(request, asked.worker());
    if (!worker) {
      return http::error_response(worker.error());
    }
    if (asked.leases_size() > kMaxRenewed) {
      return http::error_response(
          {ErrorCode::kInvalid,
           fmt::format("{} leases in one request, at most {} are renewed", asked.leases_size(), kMaxRenewed),
           "leases",
           {}});
    }
    wire::RenewReply reply;
    for (const wire::LeaseName& lease : asked.leases()) {
      if (!exchange_.renew({.worker = *worker, .id = lease.lease(), .build_id = lease.build_id()})) {
        reply.add_ended(lease.lease());
      }
    }
    return message_response(reply);
  }

  http::Response failed(const http::Request& request) const {
    wire::FailedRequest said;
    if (!said.ParseFromString(request.body)) {
      return malformed();
    }
    const auto worker = worker_of(request, said.worker());
    if (!worker) {
      return http::error_response(worker.error());
    }
    const LeaseClaim claim{
        .worker = *worker, .id = said.lease().lease(), .build_id = said.lease().build_id()};
    const LeaseAnswer answer =
        said.gives_back()
            ? exchange_.give_back(claim)
            : exchange_.fail_lease(claim,
                                   fmt::format("{}: {}", to_hex(claim.build_id), short_reason(said.reason())),
                                   said.is_final());
    wire::LeaseOutcome outcome;
    outcome.set_was_needed(answer == LeaseAnswer::kWanted);
    return message_response(outcome);
  }

  http::Response file(const http::Request& request) const {
    const auto named = lease_in_path(request, kFilesPath);
    if (!named) {
      return http::error_response(named.error());
    }
    if (const LeaseAnswer answer = exchange_.check(named->claim()); answer != LeaseAnswer::kWanted) {
      return http::error_response(no_lease(answer, named->build_id).error());
    }
    auto part = part_of(*named, parameter(request, "offset"));
    if (!part) {
      return http::error_response(part.error());
    }
    http::Response response;
    response.content_type = "application/octet-stream";
    response.file = *std::move(part);
    return response;
  }

  Result<std::shared_ptr<http::BodySink>> begin_table(const http::Request& request) const {
    const auto named = lease_in_path(request, kTablesPath);
    if (!named) {
      return propagate(named);
    }
    if (const LeaseAnswer answer = exchange_.check(named->claim()); answer != LeaseAnswer::kWanted) {
      return propagate(no_lease(answer, named->build_id));
    }
    if (const Status room = exchange_.expect_room(); !room) {
      return propagate(room);
    }
    if (*arriving_ >= options_.max_arriving) {
      return fail(ErrorCode::kUnavailable, "{} symbol tables arrive at once, the limit",
                  options_.max_arriving);
    }
    auto file = unnamed_file(exchange_.repository().data_dir() + "/symtab");
    return file ? Result<std::shared_ptr<http::BodySink>>(
                      std::make_shared<TableUpload>(*std::move(file), options_.check_room, arriving_))
                : propagate(file);
  }

  http::Response table(const http::Request& request) const {
    const auto named = lease_in_path(request, kTablesPath);
    if (!named) {
      return http::error_response(named.error());
    }
    const auto* const upload = dynamic_cast<const TableUpload*>(request.sink.get());
    if (upload == nullptr) {
      return http::error_response({ErrorCode::kInvalid, "the request has no body", {}, "send one table"});
    }
    const auto answer = exchange_.deliver(named->claim(), upload->file());
    if (!answer) {
      return http::error_response(answer.error());
    }
    if (*answer == LeaseAnswer::kNotLeased) {
      return http::error_response(no_lease(*answer, named->build_id).error());
    }
    wire::LeaseOutcome outcome;
    outcome.set_was_needed(*answer == LeaseAnswer::kWanted);
    return message_response(outcome);
  }

 private:
  static http::Response malformed() {
    return http::error_response(
        {ErrorCode::kInvalid, "the body is no message of proto/symbolizer.proto", {}, {}});
  }

  wire::LeaseReply reply_of(const std::vector<Lease>& leases) const {
    wire::LeaseReply reply;
    reply.set_lease_ms(static_cast<uint32_t>(exchange_.lease_ns() / 1'000'000));
    reply.set_ask_again_ms(kAskAgainMs);
    reply.set_max_table_bytes(exchange_.max_table_bytes());
    for (const Lease& lease : leases) {
      wire::LeasedBinary& binary = *reply.add_binaries();
      binary.set_lease(lease.id);
      binary.set_build_id(lease.build_id);
      for (const symbolizer::LeasedFile& leased : lease.files) {
        auto& file = *binary.add_files();
        file.set_is_debug(leased.kind == BinaryKind::kDebug);
        file.set_size_bytes(leased.size_bytes);
        file.set_content_hash(leased.content_hash);
      }
    }
    return reply;
  }

  Result<http::FilePart> part_of(const NamedLease& named, std::string_view offset) const {
    const bool is_debug = named.rest == "/debuginfo";
    if (!is_debug && named.rest != "/executable") {
      return fail(ErrorCode::kNotFound, "the path must end in /executable or /debuginfo");
    }
    const std::string path = symbolizer::kept_path(exchange_.repository().data_dir(), named.build_id,
                                                   is_debug ? BinaryKind::kDebug : BinaryKind::kExecutable);
    http::FilePart part;
    if (!offset.empty()) {
      const auto [end, error] = std::from_chars(offset.data(), offset.data() + offset.size(), part.offset);
      if (error != std::errc() || end != offset.data() + offset.size()) {
        return with_field(fail(ErrorCode::kInvalid, "\"{}\" is no number of bytes", printable(offset)),
                          "offset");
      }
    }
    UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat info{};
    if (!fd.valid() || ::fstat(fd.get(), &info) != 0) {
      return fail(ErrorCode::kNotFound, "the repository has no such file of build {}",
                  to_hex(named.build_id));
    }
    const auto size = static_cast<uint64_t>(info.st_size);
    if (part.offset > size) {
      return with_field(fail(ErrorCode::kInvalid, "the file has {} bytes", size), "offset");
    }
    part.bytes = size - part.offset;
    part.fd = std::make_shared<UniqueFd>(std::move(fd));
    return part;
  }

  TableExchange& exchange_;
  const SymbolizerDoorOptions options_;
  const std::shared_ptr<std::atomic<size_t>> arriving_ = std::make_shared<std::atomic<size_t>>(0);
};

http::Route message_route(std::string path, std::function<http::Response(const http::Request&)> handle) {
  return {.method = "POST",
          .path = std::move(path),
          .max_body_bytes = kMaxMessageBytes,
          .handle = std::move(handle),
          .right = http::Right::kSymbolize};
}

}  // namespace

std::vector<http::Route> symbolizer_routes(TableExchange& exchange, const SymbolizerDoorOptions& options) {
  const auto door = std::make_shared<const SymbolizerDoor>(exchange, options);
  std::vector<http::Route> routes;
  routes.push_back(message_route("/api/v1/symbolizer/lease",
                                 [door](const http::Request& request) { return door->lease(request); }));
  routes.push_back(message_route("/api/v1/symbolizer/renew",
                                 [door](const http::Request& request) { return door->renew(request); }));
  routes.push_back(message_route("/api/v1/symbolizer/failed",
                                 [door](const http::Request& request) { return door->failed(request); }));
  http::Route files{.method = "GET",
                    .path = std::string(kFilesPath),
                    .is_prefix = true,
                    .handle = [door](const http::Request& request) { return door->file(request); },
                    .threads = http::Threads::kBackground,
                    .is_question = true,
                    .right = http::Right::kSymbolize};
  routes.push_back(std::move(files));
  http::Route tables{
      .method = "PUT",
      .path = std::string(kTablesPath),
      .is_prefix = true,
      .max_body_bytes = exchange.max_table_bytes(),
      .handle = [door](const http::Request& request) { return door->table(request); },
      .threads = http::Threads::kBackground,
      .right = http::Right::kSymbolize,
      .begin_body = [door](const http::Request& request) { return door->begin_table(request); }};
  routes.push_back(std::move(tables));
  return routes;
}

}  // namespace plimsoll::server
