#include "server/doors/binary_upload.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/hex.h"
#include "base/printable.h"
#include "formats/decompress.h"

namespace plimsoll::server {
namespace {

using symbolizer::BinaryRepository;

// Of each upload: all connections together write more.
constexpr uint64_t kBytesBetweenChecks = uint64_t{1} << 20;
constexpr size_t kDigestBytes = 16;

// Nothing for other text.
std::optional<uint64_t> number_in(std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

// Among those of its sender: what is sent, and to which path, does not change on the way.
std::string upload_name(const http::Request& request, const UploadPlace& place) {
  return fmt::format("{} {} {} {}", request.path, query_field(request, "build_id"),
                     query_field(request, "content"), to_hex(place.digest));
}

}  // namespace

std::string_view query_field(const http::Request& request, std::string_view key) {
  const auto found =
      std::ranges::find_if(request.query, [key](const auto& field) { return field.first == key; });
  return found == request.query.end() ? std::string_view() : std::string_view(found->second);
}

Result<UploadPlace> upload_place(const http::Request& request) {
  const std::string_view digest = query_field(request, "digest");
  const std::string_view offset = query_field(request, "offset");
  const auto bytes = from_hex(digest);
  const auto number = offset.empty() ? std::optional<uint64_t>(0) : number_in(offset);
  if (!bytes || (!bytes->empty() && bytes->size() != kDigestBytes)) {
    return with_hint(
        with_field(fail(ErrorCode::kInvalid, "\"{}\" is no digest", printable(digest)), "digest"),
        "write XXH3 (128 bits) of the content, in 32 hexadecimal digits, as xxhsum -H2 does");
  }
  if (!number || (*number > 0 && bytes->empty())) {
    return with_hint(
        with_field(fail(ErrorCode::kInvalid, "\"{}\" is no offset of an upload", printable(offset)),
                   "offset"),
        "give the digest too, and the offset that GET of the same path answers with");
  }
  return UploadPlace{.digest = *bytes, .offset = *number};
}

std::string upload_sender(const http::Request& request) {
  return fmt::format("{} {}", text_of(request.caller), request.peer.substr(0, request.peer.rfind(':')));
}

Result<std::shared_ptr<BinaryUpload>> BinaryUpload::begin(const BinaryRepository& repository,
                                                          const CheckRoom& check_room,
                                                          uint64_t declared_bytes) {
  if (const Status room = check_room ? check_room(declared_bytes) : Status(); !room) {
    return propagate(room);
  }
  auto staged = repository.stage(declared_bytes);
  return staged ? Result<std::shared_ptr<BinaryUpload>>(
                      std::make_shared<BinaryUpload>(*std::move(staged), check_room))
                : propagate(staged);
}

Result<std::shared_ptr<BinaryUpload>> BinaryUpload::resume(
    const BinaryRepository& repository, const CheckRoom& check_room, const http::Request& request,
    const std::shared_ptr<UnfinishedUploads>& unfinished) {
  const auto place = upload_place(request);
  if (!place) {
    return propagate(place);
  }
  const uint64_t declared_bytes = number_in(request.header("Content-Length")).value_or(0);
  if (place->digest.empty()) {
    return begin(repository, check_room, declared_bytes);
  }
  const std::string sender = upload_sender(request);
  const std::string upload = upload_name(request, *place);
  auto here = unfinished->take(sender, upload);
  const uint64_t here_bytes = here == nullptr ? 0 : here->bytes();
  if (place->offset != 0 && place->offset != here_bytes) {
    if (here != nullptr) {
      unfinished->keep(sender, upload, std::move(*here));
    }
    return with_hint(with_field(fail(ErrorCode::kConflict, "{} bytes of this upload are here, not {}",
                                     here_bytes, place->offset),
                                "offset"),
                     "ask where it goes on: GET of the same path, with the same digest");
  }
  Result<std::shared_ptr<BinaryUpload>> begun;
  if (place->offset == 0) {
    here = nullptr;  // its room is free again
    begun = begin(repository, check_room, declared_bytes);
    if (!begun && begun.error().code == ErrorCode::kUnavailable) {
      unfinished->drop_all();
      begun = begin(repository, check_room, declared_bytes);
    }
  } else {
    begun = std::make_shared<BinaryUpload>(std::move(*here), check_room);
  }
  if (begun) {
    (*begun)->kept_in_ = unfinished;
    (*begun)->sender_ = sender;
    (*begun)->upload_ = upload;
  }
  return begun;
}

BinaryUpload::~BinaryUpload() {
  if (kept_in_ != nullptr) {
    kept_in_->keep(sender_, upload_, std::move(staged_));
  }
}

// Others fill the disk meanwhile.
Status BinaryUpload::take(Bytes piece) {
  Status written;
  if (check_room_ && staged_.bytes() >= checked_bytes_ + kBytesBetweenChecks) {
    checked_bytes_ = staged_.bytes();
    written = check_room_(piece.size());
  }
  written = written ? staged_.write(piece) : written;
  if (!written) {
    end();  // part of the piece may be there, and the room is wanted
  }
  return written;
}

symbolizer::StagedBinary BinaryUpload::release() {
  end();
  return std::move(staged_);
}

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

http::Response answer_offset(const http::Request& request, UnfinishedUploads& unfinished) {
  const auto place = upload_place(request);
  if (!place) {
    return http::error_response(place.error());
  }
  const uint64_t bytes =
      place->digest.empty() ? 0 : unfinished.bytes(upload_sender(request), upload_name(request, *place));
  return {.content_type = "text/plain", .body = fmt::format("{}\n", bytes)};
}

}  // namespace plimsoll::server
