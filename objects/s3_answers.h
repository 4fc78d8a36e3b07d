// What an S3 server answers, in XML.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "http/message.h"
#include "objects/object_store.h"

namespace plimsoll::objects {

// Of an answer that is not ok: by its status and the code in its body.
Error s3_error(const http::Response& response);

struct ListedPage {
  std::vector<ObjectInfo> objects = {};  // whole keys
  std::string next_token = {};           // empty: that was all
};

// The answer to ListObjectsV2. kCorrupt where it is something else.
Result<ListedPage> parse_list(std::string_view xml);

}  // namespace plimsoll::objects
