// The messages of Perfetto's traces that are written here, by the numbers of their fields: protos/perfetto/trace/ of
// github.com/google/perfetto (trace.proto, trace_packet.proto, clock_snapshot.proto, track_event/*.proto, interned_data/interned_data.proto,
// profiling/profile_common.proto, profiling/profile_packet.proto, ftrace/ftrace_event.proto, ftrace/ftrace_event_bundle.proto,
// ftrace/sched.proto).
#pragma once

#include <cstdint>

namespace plimsoll::formats::perfetto::field {

inline constexpr uint32_t kTracePacket = 1;
inline constexpr uint32_t kPacketFtraceEvents = 1;
inline constexpr uint32_t kPacketClockSnapshot = 6;
inline constexpr uint32_t kPacketTimestamp = 8;
inline constexpr uint32_t kPacketSequence = 10;
inline constexpr uint32_t kPacketTrackEvent = 11;
inline constexpr uint32_t kPacketInternedData = 12;
inline constexpr uint32_t kPacketSequenceFlags = 13;
inline constexpr uint32_t kPacketTrackDescriptor = 60;
inline constexpr uint32_t kPacketPerfSample = 66;
inline constexpr uint32_t kSnapshotClocks = 1;
inline constexpr uint32_t kSnapshotPrimary = 2;
inline constexpr uint32_t kClockId = 1;
inline constexpr uint32_t kClockTimestamp = 2;
inline constexpr uint32_t kInternedCategories = 1;
inline constexpr uint32_t kInternedNames = 2;
inline constexpr uint32_t kInternedFunctions = 5;
inline constexpr uint32_t kInternedFrames = 6;
inline constexpr uint32_t kInternedCallstacks = 7;
inline constexpr uint32_t kInternedBuildIds = 16;
inline constexpr uint32_t kInternedMappingPaths = 17;
inline constexpr uint32_t kInternedMappings = 19;
inline constexpr uint32_t kMappingBuildId = 2;
inline constexpr uint32_t kMappingPath = 7;
inline constexpr uint32_t kFrameFunction = 2;
inline constexpr uint32_t kFrameMapping = 3;
inline constexpr uint32_t kFrameRelativePc = 4;
inline constexpr uint32_t kCallstackFrame = 2;
inline constexpr uint32_t kSampleCpu = 1;
inline constexpr uint32_t kSamplePid = 2;
inline constexpr uint32_t kSampleTid = 3;
inline constexpr uint32_t kSampleCallstack = 4;
inline constexpr uint32_t kInternedId = 1;
inline constexpr uint32_t kInternedName = 2;
inline constexpr uint32_t kDescriptorUuid = 1;
inline constexpr uint32_t kDescriptorName = 2;
inline constexpr uint32_t kDescriptorProcess = 3;
inline constexpr uint32_t kDescriptorThread = 4;
inline constexpr uint32_t kDescriptorParent = 5;
inline constexpr uint32_t kProcessPid = 1;
inline constexpr uint32_t kProcessName = 6;
inline constexpr uint32_t kThreadPid = 1;
inline constexpr uint32_t kThreadTid = 2;
inline constexpr uint32_t kThreadName = 5;
inline constexpr uint32_t kEventCategoryIds = 3;
inline constexpr uint32_t kEventAnnotations = 4;
inline constexpr uint32_t kEventType = 9;
inline constexpr uint32_t kEventNameId = 10;
inline constexpr uint32_t kEventTrack = 11;
inline constexpr uint32_t kAnnotationText = 6;
inline constexpr uint32_t kAnnotationName = 10;
inline constexpr uint32_t kBundleCpu = 1;
inline constexpr uint32_t kBundleEvent = 2;
inline constexpr uint32_t kFtraceTimestamp = 1;
inline constexpr uint32_t kFtracePid = 2;
inline constexpr uint32_t kFtraceSwitch = 4;
inline constexpr uint32_t kFtraceWaking = 20;
inline constexpr uint32_t kSwitchPrevComm = 1;
inline constexpr uint32_t kSwitchPrevPid = 2;
inline constexpr uint32_t kSwitchPrevPriority = 3;
inline constexpr uint32_t kSwitchPrevState = 4;
inline constexpr uint32_t kSwitchNextComm = 5;
inline constexpr uint32_t kSwitchNextPid = 6;
inline constexpr uint32_t kSwitchNextPriority = 7;
inline constexpr uint32_t kWakingComm = 1;
inline constexpr uint32_t kWakingPid = 2;
inline constexpr uint32_t kWakingPriority = 3;
inline constexpr uint32_t kWakingSuccess = 4;
inline constexpr uint32_t kWakingCpu = 5;
}  // namespace plimsoll::formats::perfetto::field
