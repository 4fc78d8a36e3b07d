// What a request and a response are, on either side of the wire, and the one form that an error has there.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/byte_reader.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "http/caller.h"

namespace plimsoll::http {

// Names and values, in the order in which they came; a name may come more than once.
using Fields = std::vector<std::pair<std::string, std::string>>;

// Takes the body of one request while it arrives (Route::begin_body). Deleted with the request, whether all of it came or not.
class BodySink {
 public:
  BodySink() = default;
  BodySink(const BodySink&) = delete;
  BodySink& operator=(const BodySink&) = delete;
  virtual ~BodySink() = default;

  // Called by the thread that serves the connection, and others: for what takes no longer than a write into the page cache. After an error,
  // which is the answer, nothing more comes.
  virtual Status take(Bytes piece) = 0;
};

// Gives the body of one request while it is sent (Client::send_stream).
class BodySource {
 public:
  BodySource() = default;
  BodySource(const BodySource&) = delete;
  BodySource& operator=(const BodySource&) = delete;
  virtual ~BodySource() = default;

  // How many bytes it has put into `room`; 0: that was all. An error ends the request.
  virtual Result<size_t> give(std::span<char> room) = 0;
};

struct Request {
  std::string method;  // HEAD arrives as GET
  std::string path;    // percent-decoded, not normalized: it may hold ".." and "//"
  Fields query = {};   // decoded; a key without '=' has an empty value
  Fields headers = {};
  std::string body = {};
  std::string peer = {};  // "127.0.0.1:40312"
  // Whether the client has closed its connection, or its half of it, or the listener gives up this question; a system call. For handlers
  // that work for seconds; empty outside of a listener.
  std::function<bool()> is_abandoned = {};
  // The name in the client's certificate, if the listener trusts it; else empty.
  std::string certified_name = {};
  Caller caller = {};  // as the listener's access_control says
  // What took the body, of a route with begin_body; null where there was no body.
  std::shared_ptr<BodySink> sink = {};

  // The first header of that name, whatever its case; empty where there is none.
  std::string_view header(std::string_view name) const;
};

// A part of a file, which is not to change while it is sent.
struct FilePart {
  std::shared_ptr<const UniqueFd> fd;
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

struct Response {
  unsigned status = 200;
  std::string content_type = "application/json";
  std::string body = {};
  Fields headers = {};                // without Content-Type and Content-Length
  std::optional<FilePart> file = {};  // sent in place of `body`, piece by piece

  bool ok() const { return status >= 200 && status < 300; }
  std::string_view header(std::string_view name) const;
};

// {"error": {"code", "message", "field", "hint"}} with the status that belongs to the error's code. Bytes
// that are not UTF-8 are replaced.
Response error_response(const Error& error);

// The inverse of error_response(), for any response that is not ok(): what it says where its body is ours,
// else what its status means. `what` begins the message, as in propagate().
Error error_of(const Response& response, std::string_view what);

// For how many seconds the answer asks not to be asked again ("Retry-After: 120"); 0 where it does not say, or says a date.
int64_t retry_after_s(const Response& response);

}  // namespace plimsoll::http
