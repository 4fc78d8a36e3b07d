// A strict S3 server for tests: objects in memory, requests signed by AWS Signature Version 4 or refused, failures by turn.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/result.h"
#include "http/listener.h"
#include "http/message.h"

namespace plimsoll::testing {

enum class S3Fault {
  kNone,
  kRefused,     // 503, and nothing is done
  kLostAnswer,  // it is done, and the answer is 503
};

// Has one bucket and one key. Checks the signature by itself, from the request: the canonical request, the headers that must be signed, the
// hash of the body.
class S3Server {
 public:
  static constexpr const char* kBucket = "profiles";
  static constexpr const char* kKeyId = "AKIDEXAMPLE";
  static constexpr const char* kSecret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
  static constexpr const char* kRegion = "eu-test-1";

  S3Server();
  S3Server(const S3Server&) = delete;
  S3Server& operator=(const S3Server&) = delete;

  std::string endpoint() const { return "http://" + listener_->address(); }

  // Asked about each signed request, which are numbered from 0.
  void fail_by(std::function<S3Fault(uint64_t number)> fault);
  uint64_t requests() const;

  std::map<std::string, std::string> objects() const;
  void change(const std::function<void(std::map<std::string, std::string>& objects)>& work);

  // Of a page of a list.
  void set_page_objects(size_t objects);

  // Writes a file of credentials.
  static Status write_credentials(const std::string& path);

 private:
  http::Response answer(const http::Request& request);
  http::Response serve(const http::Request& request);
  http::Response list(const http::Request& request) const;

  mutable std::mutex mutex_;
  std::map<std::string, std::string> objects_;  // protected by mutex_, as all below
  std::function<S3Fault(uint64_t number)> fault_;
  uint64_t requests_ = 0;
  size_t page_objects_ = 1000;
  std::unique_ptr<http::Listener> listener_;  // last: it uses all else
};

}  // namespace plimsoll::testing
