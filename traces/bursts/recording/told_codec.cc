#include "traces/bursts/recording/told_codec.h"

#include <algorithm>
#include <string>

namespace plimsoll::traces {
namespace {

constexpr uint64_t kMinDetailBytes = 4;

}  // namespace

void write_told(const BurstRecording& recording, VarintWriter& out) {
  out.number(recording.lost_application_events);
  out.number(recording.texts.size());
  for (const std::string& text : recording.texts) {
    out.text(text);
  }
  out.number(recording.details.size());
  for (const ApplicationDetail& detail : recording.details) {
    out.number(detail.request);
    out.number(detail.call);
    out.number(detail.text);
    out.number(detail.peer);
  }
}

void read_told(uint64_t max_bytes, BurstRecording& recording, VarintReader& in) {
  recording.lost_application_events = in.number();
  recording.texts.resize(in.count(max_bytes / sizeof(std::string), 1));
  for (std::string& text : recording.texts) {
    text = in.text();
  }
  const uint64_t bytes_left = max_bytes - recording.texts.size() * sizeof(std::string);
  recording.details.resize(in.count(bytes_left / sizeof(ApplicationDetail), kMinDetailBytes));
  const uint64_t last_text = recording.texts.empty() ? 0 : recording.texts.size() - 1;
  for (ApplicationDetail& detail : recording.details) {
    detail.request = in.number();
    detail.call = in.number();
    detail.text = static_cast<uint32_t>(in.number_up_to(std::min<uint64_t>(last_text, UINT32_MAX)));
    detail.peer = static_cast<uint32_t>(in.number_up_to(std::min<uint64_t>(last_text, UINT32_MAX)));
  }
}

bool has_sound_details(const BurstRecording& recording) {
  return (recording.details.empty() || !recording.texts.empty()) &&
         std::ranges::all_of(recording.bursts, [&](const Burst& burst) {
           return std::ranges::all_of(burst.events, [&](const BurstEvent& event) {
             return !is_of_application(event.kind) || event.second < recording.details.size();
           });
         });
}

}  // namespace plimsoll::traces
