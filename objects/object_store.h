// Where objects are kept: bytes under a key, on an S3 server or in a folder.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_reader.h"
#include "base/result.h"

namespace plimsoll::objects {

// Larger ones are neither put nor got: each is in memory as a whole.
inline constexpr uint64_t kMaxObjectBytes = uint64_t{64} << 20;

struct ObjectInfo {
  std::string key;
  uint64_t bytes = 0;
};

// Keys are relative: "files/FORMAT.3f0c" (is_object_key()). One thread at a time. Errors: kInvalid for what trying again does not help, kDenied
// for credentials, kUnavailable where it may help; an S3 store has tried a few times then. Requests end with the thread's stop scope
// (base/stop_scope.h).
class ObjectStore {
 public:
  ObjectStore() = default;
  ObjectStore(const ObjectStore&) = delete;
  ObjectStore& operator=(const ObjectStore&) = delete;
  virtual ~ObjectStore() = default;

  // There as a whole when it returns, in place of what had the key; after an error it may be there or not.
  virtual Status put(const std::string& key, Bytes content) = 0;

  // kNotFound where there is none, kTooLarge for one of more than `max_bytes`.
  virtual Result<std::string> get(const std::string& key, uint64_t max_bytes) = 0;

  // All whose keys begin so, in no order.
  virtual Result<std::vector<ObjectInfo>> list(const std::string& prefix) = 0;

  // No error where there is none.
  virtual Status remove(const std::string& key) = 0;
};

// Letters, digits and "-._/", without empty, "." and ".." parts: what is a path below a folder, and needs no escape in a URL or in XML.
bool is_object_key(std::string_view key);

// Where a store is, as configurations have it.
struct StoreAddress {
  std::string address = {};  // "s3://BUCKET[/PREFIX]" or "file:///FOLDER"; empty: none
  std::string endpoint =
      {};  // of s3://, "https://s3.example.com:9000"; buckets are the first part of the path there
  std::string region = "us-east-1";
  std::string credentials_file =
      {};               // of s3://: the ID of the key in the first line, its secret in the second
  std::string ca = {};  // PEM file of the endpoint's authority; empty: those that this machine trusts
};

// Reads the credentials, and contacts nobody. kInvalid for an address or a file that cannot be right.
Result<std::unique_ptr<ObjectStore>> open_object_store(const StoreAddress& address);

}  // namespace plimsoll::objects
