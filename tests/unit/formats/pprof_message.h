// Profiles in pprof's messages, for tests; and gzip.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "proto/pprof.pb.h"
#include "tests/unit/formats/compressed.h"

namespace plimsoll::formats {

// Index of a text in the profile's table.
inline int64_t text(pprof::Profile& profile, const std::string& content) {
  for (int i = 0; i < profile.string_table_size(); ++i) {
    if (profile.string_table(i) == content) {
      return i;
    }
  }
  profile.add_string_table(content);
  return profile.string_table_size() - 1;
}

// Heap in use: 3 objects of 300 bytes at an address in /srv/server, called from main(); 1 of 50 in parse(), which is
// inlined into main(). IDs are large and in no order, as they may be.
inline pprof::Profile pprof_heap() {
  pprof::Profile profile;
  profile.add_string_table("");
  for (const auto& [type, unit] : {std::pair("inuse_objects", "count"), std::pair("inuse_space", "bytes")}) {
    pprof::ValueType& value_type = *profile.add_sample_type();
    value_type.set_type(text(profile, type));
    value_type.set_unit(text(profile, unit));
  }
  pprof::Mapping& mapping = *profile.add_mapping();
  mapping.set_id(70);
  mapping.set_memory_start(0x400000);
  mapping.set_memory_limit(0x500000);
  mapping.set_file_offset(0x1000);
  mapping.set_filename(text(profile, "/srv/server"));
  mapping.set_build_id(text(profile, "3f4e1c7a9b0d3f4e"));
  const auto add_function = [&profile](uint64_t id, const char* name, const char* file) {
    pprof::Function& function = *profile.add_function();
    function.set_id(id);
    function.set_name(text(profile, name));
    function.set_filename(text(profile, file));
  };
  add_function(9'000'000'000, "main", "main.cc");
  add_function(5, "parse", "parse.cc");
  const auto add_location = [&profile](uint64_t id, uint64_t address) {
    pprof::Location& location = *profile.add_location();
    location.set_id(id);
    location.set_mapping_id(70);
    location.set_address(address);
    return &location;
  };
  const auto add_line = [](pprof::Location& location, uint64_t function, int64_t line) {
    location.add_line()->set_function_id(function);
    location.mutable_line(location.line_size() - 1)->set_line(line);
  };
  add_location(1'000'000'000'000, 0x401234);
  add_line(*add_location(3, 0x402000), 9'000'000'000, 12);
  pprof::Location& inlined = *add_location(2, 0x403000);
  add_line(inlined, 5, 7);
  add_line(inlined, 9'000'000'000, 20);
  const auto add_sample = [&profile](std::initializer_list<uint64_t> stack, int64_t objects, int64_t bytes) {
    pprof::Sample& sample = *profile.add_sample();
    for (const uint64_t location : stack) {
      sample.add_location_id(location);
    }
    sample.add_value(objects);
    sample.add_value(bytes);
  };
  add_sample({1'000'000'000'000, 3}, 3, 300);
  add_sample({2}, 1, 50);
  profile.set_time_nanos(1'700'000'000'000'000'000);
  profile.set_duration_nanos(5'000'000'000);
  profile.mutable_period_type()->set_type(text(profile, "space"));
  profile.mutable_period_type()->set_unit(text(profile, "bytes"));
  profile.set_period(524288);
  return profile;
}

using testing::gzipped;

}  // namespace plimsoll::formats
