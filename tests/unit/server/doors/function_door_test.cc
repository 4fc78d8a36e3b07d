#include "server/doors/function_door.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hex.h"
#include "proto/profile.pb.h"
#include "symbolizer/symtab/symtab_writer.h"
#include "symbolizer/worker/function_names.h"
#include "symbolizer/worker/table_folder.h"
#include "tests/temporary_directory.h"

namespace plimsoll::server {
namespace {

using symbolizer::CodePlace;

// `inner` is inlined into `work(int)`.
std::string table_of_work(std::string_view build_id) {
  symbolizer::SymtabWriter writer;
  const uint32_t unit = writer.unit("", 0);
  const uint32_t work = writer.scope({.function = writer.function({.name = "_Z4worki", .unit = unit})});
  const uint32_t inner =
      writer.scope({.function = writer.function({.name = "inner", .unit = unit}), .parent = work});
  writer.row({.from = 0x1000, .scope = work});
  writer.row({.from = 0x1010, .scope = inner});
  writer.end(0x1040);
  return std::move(writer).finish({.kind = wire::GNU_BUILD_ID, .bytes = build_id},
                                  symbolizer::SymtabQuality::kFull);
}

class FunctionDoorTest : public ::testing::Test {
 protected:
  FunctionDoorTest() {
    const std::string path = symbolizer::table_path(folder_.path(), kBuild);
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << table_of_work(kBuild);
  }

  http::Response get(const std::string& build_id, const std::string& at) const {
    const auto routes = function_routes(folder_.path());
    EXPECT_EQ(routes.front().right, http::Right::kRead);
    http::Request request;
    request.path = routes.front().path + build_id;
    request.query = {{"at", at}};
    return routes.front().handle(request);
  }

  static constexpr std::string_view kBuild = "a build";
  const testing::TemporaryDirectory folder_;
};

TEST_F(FunctionDoorTest, NamesTheFunctionWhoseCodeItIs) {
  const http::Response answer = get(to_hex(kBuild), "e1000,e1010,e2000,f1000");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "work(int)\nwork(int)\n\n\n") << "offsets are unknown without the binary";
}

TEST_F(FunctionDoorTest, RefusesOtherQuestions) {
  EXPECT_EQ(get(to_hex("another"), "e1000").status, 404);
  EXPECT_EQ(get("x", "e1000").status, 400);
  EXPECT_EQ(get("", "e1000").status, 400);
  EXPECT_EQ(get(to_hex(std::string(65, 'a')), "e1000").status, 400);
  for (const char* at : {"", "1000", "e", "e1000,", "eg", "e-1", "e11112222333344445"}) {
    EXPECT_EQ(get(to_hex(kBuild), at).status, 400) << at;
  }
}

TEST(CodePlaces, ComeBackFromTheirText) {
  const std::vector<CodePlace> places{{0, false}, {UINT64_MAX, true}, {0x1136, false}};
  const std::string text = symbolizer::text_of_places(places);
  EXPECT_EQ(text, "e0,fffffffffffffffff,e1136");
  EXPECT_EQ(*symbolizer::parse_places(text), places);
  const std::vector<CodePlace> many(symbolizer::kMaxPlacesOfText);
  EXPECT_TRUE(symbolizer::parse_places(symbolizer::text_of_places(many)));
  EXPECT_FALSE(symbolizer::parse_places(symbolizer::text_of_places(many) + ",e1"));
}

}  // namespace
}  // namespace plimsoll::server
