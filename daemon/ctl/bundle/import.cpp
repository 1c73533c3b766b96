// SPDX-License-Identifier: Apache-2.0
#include "daemon/client/bundle_call.hpp"
#include "daemon/ctl/bundle/files.hpp"
#include "daemon/ctl/bundle/verbs.hpp"
#include "daemon/ctl/cli/follow.hpp"
#include "daemon/ctl/cli/session.hpp"

#include <array>

namespace gpuhost::ctl {
namespace {

constexpr Option allow_downgrade{"allow-downgrade", "", "take an older generation than the one that is here"};
constexpr Option unsigned_images{"unsigned", "", "take images that nobody signed"};
constexpr Option name{"name", "NAME", "call that bundle so; else after the file"};
constexpr Option image_name{"image-name", "REPOSITORY:TAG", "call its one image so; else as it says itself"};
constexpr std::array options{allow_downgrade, unsigned_images, name,        image_name,
                             option::dry_run, option::no_wait, option::json};

base::Result<int> run(Session& session) {
    GPUHOST_TRY(files, open_bundle_files(session.arguments().words()));
    client::Options wanted;
    if (session.arguments().has(allow_downgrade))
        wanted.emplace("allow-downgrade", true);
    if (session.arguments().has(unsigned_images))
        wanted.emplace("unsigned", true);
    for (const Option& option : {name, image_name})
        if (auto called = session.arguments().value(option)) {
            if (!session.arguments().has(unsigned_images))
                return base::fail(base::Errc::InvalidArgument,
                                  "--" + std::string(option.name) + " is for --unsigned",
                                  "A signed bundle has its names inside.");
            wanted.emplace(option.name, *std::move(called));
        }
    return run_operation(session, client::request_of(client::bundle_call("Import", {files}), wanted));
}

} // namespace

const Verb bundle_import_verb{
    "bundle import",
    "FILE…|DIRECTORY|-",
    "bring in a signed bundle",
    "Takes one bundle: its file, all volumes of it in their order, or standard input. The signature is "
    "verified "
    "against the certificates in /etc/gpuhost/trust.d before anything is written. Only what is missing is "
    "written; "
    "nothing of the bundle can be seen until all of it is here. An import that was interrupted goes on where "
    "it ended. With --unsigned it is an archive as 'docker save' writes it, or an OCI image layout in a tar "
    "or a "
    "directory; AllowUnsigned= in gpuhostd.conf(5) must allow that.",
    1,
    100'000, // input_files.hpp has the real limit, with its own error
    options,
    run,
};

} // namespace gpuhost::ctl
