// SPDX-License-Identifier: Apache-2.0
#include "images/receive.hpp"

#include "daemon/base/page_buffer.hpp"
#include "images/blob_store.hpp"
#include "images/each_member.hpp"

#include <algorithm>
#include <mutex>
#include <span>

namespace gpuhost::images {

using base::Errc;
using base::Result;
using base::Root;

namespace {

constexpr std::size_t block_bytes = 1U << 20U; ///< read, hashed and written at once: fits a core's cache

/// False where another blob's failure ends it, which is what the caller is told.
Result<bool> write_rest(BundleInput& input, BlobWriter& writer, std::uint64_t size, const Tasks& tasks,
                        const OnBytes& on_bytes) {
    const base::PageBuffer buffer(
        static_cast<std::size_t>(std::min<std::uint64_t>(block_bytes, size - writer.written())));
    while (writer.written() < size) {
        if (tasks.failed())
            return false;
        const auto block = buffer.span().first(
            static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), size - writer.written())));
        GPUHOST_CHECK(input.read(block));
        GPUHOST_CHECK(writer.write(block));
        on_bytes(block.size());
    }
    return true;
}

/// Goes on with what an interrupted import left of it. A power cut may have damaged that: then a file is read once
/// more, and of a pipe, which can't be, only what is whole is kept.
Result<void> receive_blob(BundleInput& input, const Incoming& incoming, const Member& member,
                          const Tasks& tasks, const OnBytes& on_bytes) {
    GPUHOST_TRY(writer, incoming.write(member.hex, member.size));
    const std::uint64_t there = writer.written();
    if (there == member.size && writer.finish()) {
        on_bytes(there);
        return input.skip(there);
    }
    const bool goes_on = there < member.size && (there == 0 || input.seekable());
    if (goes_on) {
        const BundleInput start = input;
        on_bytes(there);
        GPUHOST_CHECK(input.skip(there));
        GPUHOST_TRY(is_all, write_rest(input, writer, member.size, tasks, on_bytes));
        if (!is_all)
            return {};
        if (auto finished = writer.finish(); finished || there == 0)
            return finished;
        input = start;
    }
    GPUHOST_TRY(anew, incoming.write_anew(member.hex, member.size));
    GPUHOST_TRY(is_all,
                write_rest(input, anew, member.size, tasks, goes_on ? [](std::uint64_t) {} : on_bytes));
    return is_all ? anew.finish() : Result<void>();
}

} // namespace

std::string incoming_of(std::string_view name) {
    return std::string(incoming_directory) + "/" + std::string(name);
}

std::string incoming_manifest(std::string_view name) {
    return incoming_of(name) + "/manifest.p7s";
}

Result<void> receive_blobs(const Root& root, BundleReader& bundle, const HostFacts& host,
                           const OnBytes& on_bytes) {
    const std::string& digest = bundle.signed_manifest().digest;
    GPUHOST_TRY(incoming, Incoming::open(root, digest));
    const BlobStore store(root);
    std::mutex one_at_a_time;
    const auto tell = [&](std::uint64_t bytes) {
        const std::lock_guard lock(one_at_a_time);
        if (on_bytes)
            on_bytes(bytes);
    };
    const auto skips = [&](const Member& member) {
        const bool here = !member.is_blob() || !host.needs(member) || store.has(member.hex, member.size);
        if (here)
            tell(member.size);
        return here;
    };
    GPUHOST_CHECK(each_member(bundle, incoming.seeks_slowly() ? 1 : bundle.input().readers(), skips,
                              [&](BundleInput& body, const Member& member, const Tasks& tasks) {
                                  return receive_blob(body, incoming, member, tasks, tell);
                              }));
    return root.write_atomic(incoming_manifest(digest), bundle.signed_manifest().der);
}

} // namespace gpuhost::images
