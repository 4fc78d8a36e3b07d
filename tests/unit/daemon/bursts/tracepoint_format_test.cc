#include "daemon/bursts/tracepoint_format.h"

#include <gtest/gtest.h>

namespace plimsoll::bursts {
namespace {

constexpr std::string_view kSysEnter = R"format(name: sys_enter
ID: 410
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:long id;	offset:8;	size:8;	signed:1;
	field:unsigned long args[6];	offset:16;	size:48;	signed:0;

print fmt: "NR %ld (%lx)", REC->id, REC->args[0]
)format";

TEST(TracepointFormat, IsReadFromItsText) {
  const auto format = parse_tracepoint_format(kSysEnter);
  ASSERT_TRUE(format);
  EXPECT_EQ(format->id, 410U);
  const auto arguments = format->field("args", 16);
  ASSERT_TRUE(arguments);
  EXPECT_EQ(arguments->offset, 16U);
  EXPECT_EQ(arguments->size, 48U);
  EXPECT_EQ(format->field("common_pid", 4)->offset, 4U);
}

TEST(TracepointFormat, SaysWhatItLacks) {
  const auto format = parse_tracepoint_format(kSysEnter);
  ASSERT_TRUE(format);
  EXPECT_EQ(format->field("arguments", 1).error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(format->field("id", 16).error().code, ErrorCode::kUnsupported);
  for (const char* text :
       {"", "ID: 1\n", "field:int a; offset:0; size:4;\n", "ID: x\nfield:int a; offset:0; size:4;\n",
        "ID: 1\nfield:int a; offset:99999999; size:4;\n", "ID: 1\nfield:; offset; size\n"}) {
    EXPECT_FALSE(parse_tracepoint_format(text)) << text;
  }
}

TEST(TracepointFormat, FieldsOutsideOfTheDataAreZero) {
  const std::string raw("\1\0\0\0ab\0x", 8);
  EXPECT_EQ(unsigned_at(as_bytes(raw), {.name = "a", .offset = 0, .size = 4}), 1U);
  EXPECT_EQ(unsigned_at(as_bytes(raw), {.name = "a", .offset = 6, .size = 4}), 0U);
  EXPECT_EQ(unsigned_at(as_bytes(raw), {.name = "a", .offset = 1, .size = 8}), 0U);
  EXPECT_EQ(text_at(as_bytes(raw), {.name = "a", .offset = 4, .size = 4}), "ab");
  EXPECT_EQ(text_at(as_bytes(raw), {.name = "a", .offset = 6, .size = 4}), "");
}

}  // namespace
}  // namespace plimsoll::bursts
