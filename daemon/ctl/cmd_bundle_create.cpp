// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/clock.hpp"
#include "daemon/base/ini.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/ctl/bundle_signing.hpp"
#include "daemon/ctl/byte_meter.hpp"
#include "daemon/ctl/output_file.hpp"
#include "daemon/ctl/session.hpp"
#include "daemon/ctl/small_file.hpp"
#include "daemon/ctl/text.hpp"
#include "daemon/ctl/verbs_bundle.hpp"
#include "images/create.hpp"

#include <array>
#include <cstdlib>

namespace gpuhost::ctl {

using base::Errc;
using base::Result;

namespace {

constexpr std::array options{output_option, sign_key_option, certificate_option, passphrase_option,
                             option::json};

/// https://reproducible-builds.org/specs/source-date-epoch/
Result<std::uint64_t> time_of_creation() {
    const char* const epoch = std::getenv("SOURCE_DATE_EPOCH"); // NOLINT(concurrency-mt-unsafe): one thread
    if (epoch == nullptr)
        return base::realtime_us() / 1'000'000;
    if (const auto seconds = base::parse_uint(epoch))
        return *seconds;
    return base::fail(Errc::InvalidArgument, "SOURCE_DATE_EPOCH is no number of seconds");
}

Result<int> run(Session& session) {
    const std::string& path = session.arguments().words()[0];
    GPUHOST_TRY(target, chosen_output(session));
    GPUHOST_TRY(text, read_small_file(path, base::ini_size_limit));
    GPUHOST_TRY(spec, images::parse_bundle_spec(text, path));
    GPUHOST_TRY(key, chosen_key(session));
    GPUHOST_TRY(created, time_of_creation());
    GPUHOST_TRY(contents, images::collect(spec, {directory_of(path), directory_of(target), created}));
    GPUHOST_TRY(file, OutputFile::create(target));
    std::uint64_t bytes = 0;
    GPUHOST_CHECK(images::write_bundle(
        file.fd(), contents.manifest, key,
        [&](const images::Member& member) { return contents.open(member); },
        [&](std::uint64_t n) { bytes += n; }));
    GPUHOST_CHECK(file.finish());
    const std::size_t count = contents.manifest.images.size();
    if (session.wants_json())
        session.print_json({{"file", target},
                            {"name", spec.name},
                            {"generation", spec.generation},
                            {"images", count},
                            {"bytes", bytes}});
    else
        session.note("Wrote bundle " + spec.name + ", generation " + std::to_string(spec.generation) +
                     ", with " + plural(count, "image", "images") + " and " + human_bytes(bytes) + " to " +
                     target + ".\n");
    return 0;
}

} // namespace

const Verb bundle_create_verb{
    "bundle create",
    "SPEC",
    "make a signed bundle",
    "Makes one file of all that SPEC names, signed with the key of --sign-key. gpuhost-bundle(5) describes "
    "both. Images come from OCI image layouts and from archives as 'docker save' writes them. The "
    "file is a tar that skopeo and containerd read as an OCI image layout. With SOURCE_DATE_EPOCH set, and a "
    "key whose "
    "signatures have no chance in them, the same input makes the same bytes. Needs no daemon and no "
    "privileges.",
    1,
    1,
    options,
    run,
};

} // namespace gpuhost::ctl
