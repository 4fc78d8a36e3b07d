#include "store/clickhouse/server_error.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

#include "base/printable.h"

namespace plimsoll::store::clickhouse {
namespace {

// The server's texts repeat the statement, which may be long.
constexpr size_t kMaxTextBytes = 400;

struct KnownCode {
  int code;
  ErrorCode meaning;
  std::string_view hint;
  bool is_of_host = false;  // another replica may answer
};

constexpr std::string_view kCredentialsHint =
    "check the user in the store's address, the password file, and what the user is granted";
constexpr std::string_view kLaterHint = "try again later";
constexpr std::string_view kKeeperHint = "ZooKeeper or Keeper is gone: check it";
constexpr std::string_view kQuestionHint = "narrow the time range or the filters";

// Of ClickHouse's error codes, by number: those of which the meaning decides what happens next.
constexpr std::array kKnownCodes{
    KnownCode{60, ErrorCode::kNotFound, "the table is missing: restart the server, which creates it", true},
    KnownCode{81, ErrorCode::kNotFound, "the database is missing: restart the server, which creates it",
              true},
    KnownCode{158, ErrorCode::kTooLarge, kQuestionHint},  // TOO_MANY_ROWS
    KnownCode{159, ErrorCode::kTooLarge, kQuestionHint},  // TIMEOUT_EXCEEDED
    KnownCode{160, ErrorCode::kTooLarge, kQuestionHint},  // TOO_SLOW
    KnownCode{164, ErrorCode::kDenied, "the user may only read: give it the right to write"},
    KnownCode{173, ErrorCode::kUnavailable, kLaterHint},   // CANNOT_ALLOCATE_MEMORY
    KnownCode{192, ErrorCode::kDenied, kCredentialsHint},  // UNKNOWN_USER
    KnownCode{193, ErrorCode::kDenied, kCredentialsHint},  // WRONG_PASSWORD
    KnownCode{194, ErrorCode::kDenied, kCredentialsHint},  // REQUIRED_PASSWORD
    KnownCode{201, ErrorCode::kUnavailable, "the user's quota is used up"},
    KnownCode{202, ErrorCode::kUnavailable, kLaterHint},  // TOO_MANY_SIMULTANEOUS_QUERIES
    KnownCode{209, ErrorCode::kUnavailable, kLaterHint},  // SOCKET_TIMEOUT
    KnownCode{210, ErrorCode::kUnavailable, kLaterHint},  // NETWORK_ERROR
    KnownCode{225, ErrorCode::kUnavailable, kKeeperHint, true},
    KnownCode{236, ErrorCode::kUnavailable, kLaterHint, true},  // ABORTED, as by a server that stops
    KnownCode{241, ErrorCode::kTooLarge, kQuestionHint},        // MEMORY_LIMIT_EXCEEDED
    KnownCode{242, ErrorCode::kUnavailable, "the replica takes no rows: check ZooKeeper or Keeper", true},
    KnownCode{243, ErrorCode::kUnavailable, "the server's disk is full: free space on it"},
    KnownCode{244, ErrorCode::kUnavailable, kKeeperHint, true},
    KnownCode{252, ErrorCode::kUnavailable,
              "the server merges parts too slowly: check its load and its disks"},
    KnownCode{
        253, ErrorCode::kUnavailable,
        "ZooKeeper or Keeper knows a replica of this name, which has lost its tables: give it another name "
        "in its macro replica",
        true},
    KnownCode{285, ErrorCode::kUnavailable, "a replica is gone: check the cluster"},
    // UNSATISFIED_QUORUM_FOR_PREVIOUS_WRITE
    KnownCode{286, ErrorCode::kUnavailable,
              "a replica has not fetched the rows before these: check the cluster"},
    KnownCode{289, ErrorCode::kUnavailable, "the replica lags behind: check the cluster", true},
    KnownCode{319, ErrorCode::kUnavailable, kLaterHint},  // UNKNOWN_STATUS_OF_INSERT
    KnownCode{359, ErrorCode::kTooLarge,
              "raise max_partition_size_to_drop and max_table_size_to_drop in ClickHouse's configuration"},
    KnownCode{396, ErrorCode::kTooLarge, kQuestionHint},   // TOO_MANY_ROWS_OR_BYTES
    KnownCode{425, ErrorCode::kUnavailable, kLaterHint},   // SYSTEM_ERROR
    KnownCode{439, ErrorCode::kUnavailable, kLaterHint},   // CANNOT_SCHEDULE_TASK
    KnownCode{497, ErrorCode::kDenied, kCredentialsHint},  // ACCESS_DENIED
    KnownCode{516, ErrorCode::kDenied, kCredentialsHint},  // AUTHENTICATION_FAILED
    KnownCode{999, ErrorCode::kUnavailable, kKeeperHint, true},
    KnownCode{1000, ErrorCode::kUnavailable,
              kLaterHint},  // POCO_EXCEPTION: mostly of its connections and files
};

// What stands between ClickHouse's number and the end of its text, of old releases and of new ones.
std::string text_in(std::string_view body) {
  constexpr std::string_view kBefore = "DB::Exception: ";
  if (const size_t begin = body.find(kBefore); begin != std::string_view::npos) {
    body.remove_prefix(begin + kBefore.size());
  }
  body = body.substr(0, body.rfind(", e.what() = "));
  while (body.ends_with('\n') || body.ends_with('.')) {
    body.remove_suffix(1);
  }
  return printable(body.substr(0, kMaxTextBytes));
}

// A replica that is not active refuses inserts by the number of a user that may only read.
const KnownCode* find_code(int code, std::string_view body) {
  constexpr int kReadOnly = 164;
  constexpr int kTableIsReadOnly = 242;
  if (code == kReadOnly && body.find("not active") != std::string_view::npos) {
    code = kTableIsReadOnly;
  }
  const auto* const known = std::ranges::find(kKnownCodes, code, &KnownCode::code);
  return known == kKnownCodes.end() ? nullptr : known;
}

ErrorCode meaning_of_status(unsigned status) {
  if (status == 401 || status == 403) {
    return ErrorCode::kDenied;
  }
  return status >= 500 || status == 408 || status == 429 ? ErrorCode::kUnavailable : ErrorCode::kInvalid;
}

}  // namespace

int code_in(std::string_view body) {
  constexpr std::string_view kBefore = "Code: ";
  const size_t begin = body.find(kBefore);
  int code = 0;
  if (begin != std::string_view::npos) {
    const std::string_view number = body.substr(begin + kBefore.size());
    std::from_chars(number.data(), number.data() + number.size(), code);
  }
  return code;
}

bool may_another_host_answer(const http::Response& response) {
  const int code = code_in(response.body);
  const KnownCode* const known = find_code(code, response.body);
  return code == 0 ? meaning_of_status(response.status) == ErrorCode::kUnavailable
                   : known != nullptr && known->is_of_host;
}

Error server_error(const http::Response& response, std::string_view what) {
  const int code = code_in(response.body);
  if (code == 0) {
    return {meaning_of_status(response.status),
            fmt::format("{}: status {}, and no answer of ClickHouse: {}", what, response.status,
                        text_in(response.body)),
            {},
            "check that the address is that of ClickHouse's HTTP interface, and what stands before it"};
  }
  const KnownCode* const known = find_code(code, response.body);
  const bool is_known = known != nullptr;
  return {is_known ? known->meaning : ErrorCode::kInvalid,
          fmt::format("{}: ClickHouse error {}: {}", what, code, text_in(response.body)),
          {},
          is_known ? std::string(known->hint) : ""};
}

}  // namespace plimsoll::store::clickhouse
