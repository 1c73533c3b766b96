// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "daemon/base/page_buffer.hpp"
#include "daemon/content/crypto/sha256.hpp"
#include "daemon/ctl/bundle/files.hpp"
#include "daemon/ctl/bundle/verbs.hpp"
#include "daemon/ctl/cli/byte_meter.hpp"
#include "daemon/ctl/cli/session.hpp"
#include "daemon/ctl/cli/text.hpp"
#include "daemon/ctl/cli/wrap.hpp"
#include "images/import/each_member.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <mutex>
#include <span>

namespace gpuhost::ctl {

using base::Errc;
using base::Result;

namespace {

constexpr std::array options{trust_option, option::json};

constexpr std::size_t block_bytes = 1U << 20U;
using OnBytes = std::function<void(std::uint64_t)>;

struct Verified {
    std::uint64_t members = 0;
    std::uint64_t bytes = 0;
    std::uint64_t absent = 0;
};

Result<void> verify_member(images::BundleInput& input, const images::Member& member,
                           const images::Tasks& tasks, const OnBytes& on_bytes) {
    content::Sha256 hash;
    const base::PageBuffer buffer(
        static_cast<std::size_t>(std::min<std::uint64_t>(block_bytes, member.size)));
    for (std::uint64_t left = member.size; left > 0 && !tasks.failed();) {
        const auto block =
            buffer.span().first(static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), left)));
        GPUHOST_CHECK(input.read(block));
        hash.update({block.data(), block.size()});
        left -= block.size();
        on_bytes(block.size());
    }
    if (tasks.failed() || hash.finish() == member.hex)
        return {};
    return base::fail(Errc::BadContent, input.name() + ": " + member.place() + ": digest mismatch",
                      "Copy the file again.");
}

Result<Verified> verify(images::BundleReader& bundle, const Screen& err) {
    Verified verified;
    std::uint64_t total = 0;
    for (const images::Member& member : bundle.manifest().members) {
        verified.absent += member.absent ? 1 : 0;
        total += member.absent ? 0 : member.size;
    }
    ByteMeter meter(err, "verifying", total);
    std::mutex one_at_a_time;
    const auto tell = [&](std::uint64_t bytes) {
        const std::lock_guard lock(one_at_a_time);
        meter.add(bytes);
    };
    const auto skips_none = [&](const images::Member& member) {
        ++verified.members;
        verified.bytes += member.size;
        return false;
    };
    GPUHOST_CHECK(images::each_member(bundle, bundle.input().readers(), skips_none,
                                      [&](auto& body, const auto& member, const auto& tasks) {
                                          return verify_member(body, member, tasks, tell);
                                      }));
    return verified;
}

Result<int> run(Session& session) {
    GPUHOST_TRY(files, open_bundle_files(session.arguments().words()));
    GPUHOST_TRY(trust, chosen_trust(session));
    GPUHOST_TRY(input, bundle_input(files));
    GPUHOST_TRY(bundle, images::BundleReader::open(std::move(input), trust));
    GPUHOST_TRY(verified, verify(bundle, session.err()));
    const images::BundleManifest& manifest = bundle.manifest();
    if (session.wants_json()) {
        session.print_json({{"name", manifest.name},
                            {"generation", manifest.generation},
                            {"signer", bundle.signer().subject},
                            {"members", verified.members},
                            {"bytes", verified.bytes},
                            {"absent", verified.absent}});
        return 0;
    }
    session.print(
        fit(session.out(),
            "Bundle " + manifest.name + ", generation " + std::to_string(manifest.generation) +
                ", is intact and signed by " + printable(bundle.signer().subject) + ": " +
                plural(verified.members, "member", "members") + ", " + human_bytes(verified.bytes) +
                (verified.absent == 0 ? "" : "; it leaves out " + plural(verified.absent, "blob", "blobs")) +
                ".\n"));
    return 0;
}

constexpr std::array examples{
    Example{"bundle verify site.bundle", "check signature and digests before carrying it to a host"}};

} // namespace

const Verb bundle_verify_verb{
    "bundle verify",
    "FILE…|-",
    "check a bundle's signature and all of its content",
    "Reads a whole bundle, and checks its signature and the digest of each member. Trusts the certificates "
    "in /etc/gpuhost/trust.d, or those of --trust. Needs no daemon and no privileges.",
    1,
    100'000,
    options,
    run,
    examples,
};

} // namespace gpuhost::ctl
