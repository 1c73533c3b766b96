// SPDX-License-Identifier: Apache-2.0
// Steps autoload.block and autoload.unblock (autoload_block.hpp). The undo of each does what the other does.
// args of both: {"modules": [names]}.
#include "kmod/load/autoload_block.hpp"
#include "kmod/step_code.hpp"

namespace gpuhost::kmod {
namespace {

using core::StepContext;

base::Result<void> block(StepContext& context, const base::Json& args) {
    return block_autoload(context.root, base::strings_or_empty(args, "modules"));
}

base::Result<void> unblock(StepContext& context, const base::Json& /*args*/) {
    return unblock_autoload(context.root);
}

base::Result<void> expect(const StepContext& context, bool blocked) {
    if (autoload_blocked(context.root) == blocked)
        return {};
    return base::fail(base::Errc::Failed,
                      std::string(autoload_block_file) + (blocked ? ": not found" : ": still exists"));
}

} // namespace

core::StepCode autoload_block_code() {
    core::StepCode code;
    code.name = "autoload.block";
    code.apply = [](StepContext& context, const base::Json& args) -> base::Result<base::Json> {
        GPUHOST_CHECK(block(context, args));
        return base::Json::object();
    };
    code.verify = [](StepContext& context, const base::Json&) { return expect(context, true); };
    code.undo = unblock;
    return code;
}

core::StepCode autoload_unblock_code() {
    core::StepCode code;
    code.name = "autoload.unblock";
    code.apply = [](StepContext& context, const base::Json& args) -> base::Result<base::Json> {
        GPUHOST_CHECK(unblock(context, args));
        return base::Json::object();
    };
    code.verify = [](StepContext& context, const base::Json&) { return expect(context, false); };
    code.undo = block;
    return code;
}

} // namespace gpuhost::kmod
