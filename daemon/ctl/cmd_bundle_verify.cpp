// SPDX-License-Identifier: Apache-2.0
#include "daemon/content/sha256.hpp"
#include "daemon/ctl/bundle_files.hpp"
#include "daemon/ctl/byte_meter.hpp"
#include "daemon/ctl/session.hpp"
#include "daemon/ctl/text.hpp"
#include "daemon/ctl/verbs_bundle.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace gpuhost::ctl {

using base::Errc;
using base::Result;

namespace {

constexpr std::array options{trust_option, option::json};

struct Verified {
    std::uint64_t members = 0;
    std::uint64_t bytes = 0;
    std::uint64_t absent = 0;
};

Result<void> verify_member(images::BundleReader& bundle, const images::Member& member, ByteMeter& meter) {
    content::Sha256 hash;
    std::vector<char> buffer(std::size_t{1} << 20U);
    while (bundle.left() > 0) {
        const auto block = std::span(buffer).first(
            static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), bundle.left())));
        GPUHOST_CHECK(bundle.read(block));
        hash.update({block.data(), block.size()});
        meter.add(block.size());
    }
    if (hash.finish() == member.hex)
        return {};
    return base::fail(Errc::BadContent, bundle.input().name() + ": " + member.place() + " is damaged",
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
    for (;;) {
        GPUHOST_TRY(member, bundle.next());
        if (member == nullptr)
            return verified;
        GPUHOST_CHECK(verify_member(bundle, *member, meter));
        ++verified.members;
        verified.bytes += member->size;
    }
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
        "Bundle " + manifest.name + ", generation " + std::to_string(manifest.generation) +
        ", is whole and signed by " + printable(bundle.signer().subject) + ": " +
        plural(verified.members, "member", "members") + ", " + human_bytes(verified.bytes) +
        (verified.absent == 0 ? "" : "; it leaves out " + plural(verified.absent, "blob", "blobs")) + ".\n");
    return 0;
}

} // namespace

const Verb bundle_verify_verb{
    "bundle verify",
    "FILE…|-",
    "check a bundle's signature and all of its content",
    "Reads a bundle from its first byte to its last: the signature, against the certificates in "
    "/etc/gpuhost/trust.d or "
    "those of --trust, then each member against its digest. Needs no daemon and no privileges.",
    1,
    100'000,
    options,
    run,
};

} // namespace gpuhost::ctl
