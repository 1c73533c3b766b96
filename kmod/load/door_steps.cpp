// SPDX-License-Identifier: Apache-2.0
// door.shut and door.open; each is the inverse of the other. args: {"modules": [names]}.
#include "kmod/load/door.hpp"
#include "kmod/step_kind.hpp"

namespace gpuhost::kmod {
namespace {

using core::StepContext;

base::Result<void> shut(StepContext& context, const base::Json& args) {
    return shut_door(context.root, base::strings_or_empty(args, "modules"));
}

base::Result<void> open(StepContext& context, const base::Json& /*args*/) {
    return open_door(context.root);
}

base::Result<void> expect(const StepContext& context, bool shut) {
    if (door_is_shut(context.root) == shut)
        return {};
    return base::fail(base::Errc::Failed, std::string(door_file) + (shut ? " is gone" : " is still there"));
}

} // namespace

core::StepKind door_shut_kind() {
    core::StepKind kind;
    kind.name = "door.shut";
    kind.sandbox = core::Sandbox::System;
    kind.ends_with_boot = true;
    kind.apply = [](StepContext& context, const base::Json& args) -> base::Result<base::Json> {
        GPUHOST_CHECK(shut(context, args));
        return base::Json::object();
    };
    kind.verify = [](StepContext& context, const base::Json&) { return expect(context, true); };
    kind.undo = open;
    return kind;
}

core::StepKind door_open_kind() {
    core::StepKind kind;
    kind.name = "door.open";
    kind.sandbox = core::Sandbox::System;
    kind.ends_with_boot = true;
    kind.apply = [](StepContext& context, const base::Json& args) -> base::Result<base::Json> {
        GPUHOST_CHECK(open(context, args));
        return base::Json::object();
    };
    kind.verify = [](StepContext& context, const base::Json&) { return expect(context, false); };
    kind.undo = shut;
    return kind;
}

} // namespace gpuhost::kmod
