// The body of an upload of a binary while it arrives, and where it goes on.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "base/result.h"
#include "http/message.h"
#include "server/doors/unfinished_uploads.h"
#include "symbolizer/repository/repository.h"
#include "symbolizer/repository/staged_binary.h"

namespace plimsoll::server {

// What a request says of an upload that may go on later: digest=, content_hash() of the whole content in hexadecimal digits, and offset=, how many
// bytes of the body (as sent, compressed) the server has. A digest stands for the bytes of a body: those that are sent later follow on those
// that were sent before.
struct UploadPlace {
  std::string digest = {};  // bytes; empty: the upload begins, and ends, with this request
  uint64_t offset = 0;
};

// The first field of that name in the query of a request; empty where there is none.
std::string_view query_field(const http::Request& request, std::string_view key);

// kInvalid where they are no such numbers, or an offset has no digest.
Result<UploadPlace> upload_place(const http::Request& request);

// Who sends it, as uploads of one sender are told from those of others: the caller at its address, without the port.
std::string upload_sender(const http::Request& request);

// What has arrived when the request ends before the body does is kept in the uploads that it was begun with. One thread at a time.
class BinaryUpload : public http::BodySink {
 public:
  using CheckRoom = std::function<Status(uint64_t bytes)>;

  // Borrows the repository.
  static Result<std::shared_ptr<BinaryUpload>> begin(const symbolizer::BinaryRepository& repository,
                                                     const CheckRoom& check_room, uint64_t declared_bytes);
  // With a digest it goes on where the request says: kConflict where so many bytes are not in `unfinished`. An upload that begins, and has no room
  // otherwise, takes that of all which are there.
  static Result<std::shared_ptr<BinaryUpload>> resume(const symbolizer::BinaryRepository& repository,
                                                      const CheckRoom& check_room,
                                                      const http::Request& request,
                                                      const std::shared_ptr<UnfinishedUploads>& unfinished);

  BinaryUpload(symbolizer::StagedBinary staged, CheckRoom check_room)
      : staged_(std::move(staged)), check_room_(std::move(check_room)) {}
  ~BinaryUpload() override;

  Status take(Bytes piece) override;

  Result<MappedFile> map() const { return staged_.map(); }
  // Once; nothing more comes.
  symbolizer::StagedBinary release();
  // The whole body has come: it is not kept to go on with, whatever becomes of it.
  void end() { kept_in_ = nullptr; }
  const CheckRoom& check_room() const { return check_room_; }
  // Released with the upload, whatever becomes of it.
  void hold(std::shared_ptr<const void> arrival) { arrival_ = std::move(arrival); }

 private:
  symbolizer::StagedBinary staged_;
  const CheckRoom check_room_;
  std::shared_ptr<const void> arrival_;
  std::shared_ptr<UnfinishedUploads> kept_in_;  // null: it cannot go on later
  std::string sender_;
  std::string upload_;
  uint64_t checked_bytes_ = 0;
};

// The content of an upload that has come whole, decompressed by its first bytes, whatever its header says.
Result<symbolizer::StagedBinary> inflated(BinaryUpload& upload,
                                          const symbolizer::BinaryRepository& repository, uint64_t max_bytes);

// Answers with the offset at which the upload that the request names goes on: a number, as text.
http::Response answer_offset(const http::Request& request, UnfinishedUploads& unfinished);

}  // namespace plimsoll::server
