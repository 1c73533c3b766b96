// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/kubelet/codec.hpp"

#include <limits>

#include <google/protobuf/message_lite.h>
#include <google/protobuf/stubs/common.h>
#if GOOGLE_PROTOBUF_VERSION < 4022000
#include <google/protobuf/stubs/logging.h>
#endif

namespace gpuhost::rpc {

namespace {

/// Stops the library from writing to stderr about bytes from outside; later versions do not.
bool silence() {
#if GOOGLE_PROTOBUF_VERSION < 4022000
    (void)google::protobuf::SetLogHandler(nullptr);
#endif
    return true;
}

} // namespace

bool parse_into(google::protobuf::MessageLite& message, std::string_view bytes) {
    static const bool silenced = silence();
    return silenced && bytes.size() <= std::numeric_limits<int>::max() &&
           message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

} // namespace gpuhost::rpc
