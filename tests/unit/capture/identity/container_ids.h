// Of a container and of a pod, as control groups name them.
#pragma once

#include <string>

namespace plimsoll::identity {

inline const std::string kId = "3f4e1c7a9b0d3f4e1c7a9b0d3f4e1c7a9b0d3f4e1c7a9b0d3f4e1c7a9b0d0001";
inline const std::string kPod = "b9a6c1f0-1234-4cde-8f00-0123456789ab";

}  // namespace plimsoll::identity
