// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "daemon/ctl/bundle/files.hpp"
#include "daemon/ctl/bundle/output.hpp"
#include "daemon/ctl/bundle/signing.hpp"
#include "daemon/ctl/bundle/verbs.hpp"
#include "daemon/ctl/cli/session.hpp"
#include "daemon/ctl/cli/text.hpp"

#include <algorithm>
#include <array>
#include <map>

namespace gpuhost::ctl {

using base::Errc;
using base::Result;
using images::BundleReader;
using images::Member;

namespace {

constexpr std::array options{output_option,     volume_size_option, sign_key_option, certificate_option,
                             passphrase_option, trust_option,       option::json};

Result<BundleReader> open_bundle(const std::vector<client::InputFile>& files,
                                 const content::TrustAnchors& trust) {
    GPUHOST_TRY(input, bundle_input(files));
    if (!input.seekable())
        return base::fail(Errc::InvalidArgument, "'" + files.front().name + "' is not a regular file",
                          "Save the bundle to a file first: a pipe can be read only once.");
    return BundleReader::open(std::move(input), trust);
}

/// Returns the offset of each member in the bundle, by the digest of the member.
Result<std::map<std::string, std::uint64_t>> offsets_of(BundleReader& bundle) {
    std::map<std::string, std::uint64_t> offsets;
    for (;;) {
        GPUHOST_TRY(member, bundle.next());
        if (member == nullptr)
            return offsets;
        offsets.emplace(member->hex, bundle.input().position());
    }
}

struct Delta {
    images::BundleManifest manifest;
    std::uint64_t left_out = 0;
    std::uint64_t bytes = 0; ///< total size of the included members
};

/// Returns true if the older bundle had the member for all hosts for which the newer bundle has it. The delta
/// then omits the member.
bool was_for_all_of(const Member& older, const Member& newer) {
    const auto has = [&](const std::string& host) {
        return std::find(older.hosts.begin(), older.hosts.end(), host) != older.hosts.end();
    };
    return older.hosts.empty() ||
           (!newer.hosts.empty() && std::all_of(newer.hosts.begin(), newer.hosts.end(), has));
}

Delta delta_of(const images::BundleManifest& older, const images::BundleManifest& newer) {
    std::map<std::string_view, const Member*> known;
    for (const Member& member : older.members)
        if (member.is_blob())
            known.emplace(member.hex, &member);
    Delta delta{newer, 0, 0};
    for (Member& member : delta.manifest.members) {
        const auto old = member.is_blob() ? known.find(member.hex) : known.end();
        member.absent = member.absent || (old != known.end() && was_for_all_of(*old->second, member));
        delta.left_out += member.absent ? 1 : 0;
        delta.bytes += member.absent ? 0 : member.size;
    }
    return delta;
}

Result<int> run(Session& session) {
    const auto& words = session.arguments().words();
    GPUHOST_TRY(target, chosen_output(session));
    GPUHOST_TRY(volume_size, chosen_volume_size(session));
    GPUHOST_TRY(key, chosen_key(session));
    GPUHOST_TRY(trust, chosen_trust(session));
    GPUHOST_TRY(old_files, open_bundle_files(std::span(words).first(1)));
    GPUHOST_TRY(new_files, open_bundle_files(std::span(words).last(1)));
    GPUHOST_TRY(older, open_bundle(old_files, trust));
    GPUHOST_TRY(newer, open_bundle(new_files, trust));
    GPUHOST_TRY(offsets, offsets_of(newer));
    const Delta delta = delta_of(older.manifest(), newer.manifest());
    const auto open = [&](const Member& member) -> Result<images::MemberBytes> {
        GPUHOST_TRY(input, bundle_input(new_files));
        GPUHOST_CHECK(input.skip(offsets.at(member.hex)));
        return [input](std::span<char> buffer) mutable -> Result<std::size_t> {
            GPUHOST_CHECK(input.read(buffer));
            return buffer.size();
        };
    };
    BundleFiles files(target, volume_size);
    GPUHOST_CHECK(images::write_bundle(files, delta.manifest, key, open));
    GPUHOST_CHECK(files.finish());
    if (session.wants_json())
        session.print_json({{"file", target},
                            {"files", files.names()},
                            {"name", delta.manifest.name},
                            {"generation", delta.manifest.generation},
                            {"absent", delta.left_out},
                            {"bytes", delta.bytes}});
    else
        session.note("Wrote a delta to generation " + std::to_string(delta.manifest.generation) +
                     " of bundle " + delta.manifest.name + ", which leaves out " +
                     plural(delta.left_out, "blob", "blobs") + " and has " + human_bytes(delta.bytes) +
                     ", to " + described(files) + ".\n");
    return 0;
}

constexpr std::array examples{Example{"bundle diff 1.bundle 2.bundle -o 1-2.bundle --sign-key=site.p12",
                                      "make a bundle for hosts that have the first one"}};

} // namespace

const Verb bundle_diff_verb{
    "bundle diff",
    "OLD NEW",
    "make a bundle of NEW without the blobs of OLD",
    "Makes a bundle that is NEW without the blobs of OLD, for hosts that have OLD. Other hosts refuse it and "
    "name some of the blobs that they lack; 'bundle show' names all. For a bundle in volumes, name the first "
    "one, PATH.001. With --volume-size the result is split into volumes. Needs no daemon and no privileges.",
    2,
    2,
    options,
    run,
    examples,
};

} // namespace gpuhost::ctl
