// What ClickHouse answers when a statement fails, as an error of ours.
#pragma once

#include <string_view>

#include "base/result.h"
#include "http/message.h"

namespace plimsoll::store::clickhouse {

// ClickHouse's number for what went wrong ("Code: 252. DB::Exception: ..."); 0: the body names none.
int code_in(std::string_view body);

// Whether another replica may do what this one has refused: this one lacks Keeper or tables, takes no rows, lags behind, or is stopping.
bool may_another_host_answer(const http::Response& response);

// Of an answer that is not 200. kUnavailable where the same may work later: too many parts, a replica that is gone, a full disk. `what` begins
// the message; the code and the text of the server are in it.
Error server_error(const http::Response& response, std::string_view what);

}  // namespace plimsoll::store::clickhouse
