// SPDX-License-Identifier: Apache-2.0
#include "images/import/each_member.hpp"

namespace gpuhost::images {

namespace {

/// In bytes. For a smaller member, starting a thread takes longer than reading the member.
constexpr std::uint64_t worth_a_thread = 8U << 20U;

} // namespace

base::Result<void> each_member(BundleReader& bundle, unsigned readers,
                               const std::function<bool(const Member&)>& skips, const MemberWork& work) {
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
            tasks.add([&, one = *next, body = bundle.body()]() mutable {
                auto done = work(body, *one, tasks);
                body.forget_read();
                return done;
            });
        else if (auto done = work(bundle.body(), member, tasks); !done)
            tasks.fail(std::move(done).error());
    }
    return tasks.finish();
}

} // namespace gpuhost::images
