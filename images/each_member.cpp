// SPDX-License-Identifier: Apache-2.0
#include "images/each_member.hpp"

namespace gpuhost::images {

namespace {

constexpr std::uint64_t worth_a_thread = 4U << 20U; ///< what is less is done before one has begun

} // namespace

base::Result<void> each_member(BundleReader& bundle, const std::function<bool(const Member&)>& skips,
                               const MemberWork& work) {
    const unsigned readers = bundle.input().readers();
    Tasks tasks(readers);
    while (!tasks.failed()) {
        const auto next = bundle.next();
        if (!next)
            tasks.fail(next.error());
        if (!next || *next == nullptr)
            break;
        const Member& member = **next;
        if (skips(member))
            continue;
        if (readers > 1 && member.size >= worth_a_thread)
            tasks.add([&, one = *next, body = bundle.body()]() mutable { return work(body, *one, tasks); });
        else if (auto done = work(bundle.body(), member, tasks); !done)
            tasks.fail(std::move(done).error());
    }
    return tasks.finish();
}

} // namespace gpuhost::images
