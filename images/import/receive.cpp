// SPDX-License-Identifier: Apache-2.0
#include "images/import/receive.hpp"

#include "daemon/base/page_buffer.hpp"
#include "images/import/blob_stream.hpp"
#include "images/import/each_member.hpp"
#include "images/store/blob_store.hpp"

#include <algorithm>
#include <mutex>
#include <span>

namespace gpuhost::images {

using base::Errc;
using base::Result;
using base::Root;

namespace {

/// Bytes that are read, hashed and written at once; they fit into a CPU's cache.
constexpr std::size_t block_bytes = 1U << 20U;

/// Copies the rest of a blob from `input` to `writer`. Returns false if it stopped because another blob
/// failed. The error of that blob is in `tasks`.
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

/// Writes one blob from a bundle. If an interrupted import left bytes of it, keeps them and appends the rest.
/// If the digest is then wrong, a power cut may have damaged those bytes, so the whole blob is read again
/// from the bundle's file. A pipe cannot be read again, so from a pipe only a blob that is already complete
/// is kept.
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

/// Writes one blob from a stream. Returns false if its digest is wrong; the file is then removed, and the
/// sender, which detects this too, sends the blob again. If the frame's offset is 0, the bytes of an
/// interrupted import are discarded: the sender found that they cannot be used.
Result<bool> receive_from(BlobStream& stream, const BlobStream::Blob& blob, const Incoming& incoming,
                          std::span<char> buffer, const OnBytes& on_bytes) {
    const Member& member = *blob.member;
    GPUHOST_TRY(writer, blob.first == 0 ? incoming.write_anew(member.hex, member.size)
                                        : incoming.write(member.hex, member.size));
    if (writer.written() < blob.first)
        return base::fail(Errc::Interrupted,
                          "blob sha256:" + member.hex +
                              ": fewer bytes were received earlier than the sender assumes",
                          "Fetch the bundle again.");
    GPUHOST_CHECK(stream.skip(writer.written() - blob.first)); // an interrupted import left these bytes
    if (on_bytes)
        on_bytes(writer.written());
    while (stream.left() > 0) {
        const auto block =
            buffer.first(static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), stream.left())));
        GPUHOST_CHECK(stream.read(block));
        GPUHOST_CHECK(writer.write(block));
        if (on_bytes)
            on_bytes(block.size());
    }
    const auto finished = writer.finish();
    if (!finished && finished.error().code != Errc::BadContent)
        return base::fail(finished.error());
    return finished.has_value();
}

} // namespace

std::string incoming_of(std::string_view name) {
    return std::string(incoming_directory) + "/" + std::string(name);
}

std::string incoming_manifest(std::string_view name) {
    return incoming_of(name) + "/manifest.p7s";
}

std::vector<const Member*> missing_members(const Root& root, const BundleManifest& manifest,
                                           const HostFacts& host) {
    const BlobStore store(root);
    std::vector<const Member*> missing;
    for (const Member& member : manifest.members)
        if (member.is_blob() && host.needs(member) && !store.has(member.hex, member.size))
            missing.push_back(&member);
    return missing;
}

std::string received_path(const std::string& digest, const std::string& hex) {
    return incoming_of(digest) + "/" + hex;
}

std::uint64_t received_bytes(const Root& root, const std::string& digest, const std::string& hex) {
    const auto st = root.lstat(received_path(digest, hex));
    return st ? static_cast<std::uint64_t>(st->st_size) : 0;
}

std::uint64_t received_bytes(const Root& root, const std::string& digest) {
    std::uint64_t bytes = 0;
    for (const std::string& hex : root.list(incoming_of(digest)).value_or(std::vector<std::string>()))
        bytes += received_bytes(root, digest, hex);
    return bytes;
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

Result<void> receive_blobs(const Root& root, const SignedManifest& bundle, BundleInput& input,
                           const HostFacts& host, const OnBytes& on_bytes) {
    GPUHOST_TRY(incoming, Incoming::open(root, bundle.digest));
    BlobStream stream(input, missing_members(root, bundle.manifest, host));
    const base::PageBuffer buffer(block_bytes);
    for (;;) {
        GPUHOST_TRY(blob, stream.next());
        if (blob.member == nullptr)
            break;
        GPUHOST_TRY(whole, receive_from(stream, blob, incoming, buffer.span(), on_bytes));
        if (whole)
            stream.received(*blob.member);
    }
    return root.write_atomic(incoming_manifest(bundle.digest), bundle.der);
}

} // namespace gpuhost::images
