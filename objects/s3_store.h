// Objects in a bucket of an S3 server.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "http/client.h"
#include "objects/object_store.h"

namespace plimsoll::objects {

struct S3Options {
  std::string endpoint = {};  // "https://s3.example.com:9000"
  std::string bucket = {};
  std::string prefix = {};  // before each key, without the '/' between; may be empty
  std::string region = "us-east-1";
  std::string access_key_id = {};
  std::string secret_access_key = {};
  std::string ca = {};
  int64_t connect_timeout_ms = 5000;
  int64_t timeout_ms = 120'000;  // of a request
  // Each pause is twice the last one, half of it at random.
  int max_attempts = 4;
  int64_t first_pause_ns = 200'000'000;
  // Of a list: a server may go on for ever. As objects of 16 MiB these are 128 TiB.
  int max_list_pages = 100'000;
  size_t max_listed_objects = 8'000'000;
};

// Requests are such as libcurl 7.88 and later versions sign alike: the bucket in the path, the query sorted and encoded, the hash of the body
// given. Each may be sent again: it leads to the same objects.
class S3Store : public ObjectStore {
 public:
  explicit S3Store(S3Options options);

  Status put(const std::string& key, Bytes content) override;
  Result<std::string> get(const std::string& key, uint64_t max_bytes) override;
  Result<std::vector<ObjectInfo>> list(const std::string& prefix) override;
  Status remove(const std::string& key) override;

 private:
  std::string full_key(std::string_view key) const;
  Result<std::string> path_of(const std::string& key) const;
  Result<http::Response> send_again_and_again(std::string_view method, const std::string& path_and_query,
                                              std::string_view body);
  Result<http::Response> send(std::string_view method, const std::string& path_and_query,
                              std::string_view body);

  S3Options options_;
  http::Client client_;
  std::mt19937_64 random_;
};

}  // namespace plimsoll::objects
