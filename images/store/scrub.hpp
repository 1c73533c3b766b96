// SPDX-License-Identifier: Apache-2.0
// Reads every blob of this host again. A blob's name says that it was whole once; a disk may have lost it since.
//
// What is damaged loses its name, so that nobody is served it and the next import of its bundle brings it again. That
// is done at the end, when all is read: one that was interrupted has done nothing, and a disk that is away for a while
// takes nothing with it: what could not be read is read once more at the end. What was found is kept in scrub.json beside the blobs, for `status`, which asks the store and
// the catalogue whether it is still so.
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/base/root.hpp"
#include "images/store/catalogue.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace gpuhost::images {

constexpr std::string_view scrub_file = "/var/lib/gpuhost/store/scrub.json";

struct Damage {
    OwnedBlob blob;
    std::vector<std::string> bundles; ///< that own it, in order
    std::string why; ///< "missing", "its bytes are not those of its digest", or why it can't be read
    bool missing = false;
    bool readable = true; ///< twice the same bytes, which are not those of its name
    std::uint64_t inode = 0;
    std::uint64_t changed_ns = 0; ///< st_ctim: an inode's number may be another file's by the end
    bool removed = false;
};

struct Scrub {
    std::uint64_t finished = 0; ///< seconds since 1970
    std::uint64_t blobs = 0;    ///< that were asked for
    std::uint64_t bytes = 0;    ///< that were read
    std::vector<Damage> damages;
    std::map<std::string, std::string>
        bundles;                       ///< that have damages: what identifies them, as in their records
    std::vector<std::string> problems; ///< bundles whose blobs are not known
};

class Scrubber {
  public:
    /// `root` must outlive it. Reads the catalogue; a bundle that is damaged there is one of the problems.
    [[nodiscard]] static base::Result<Scrubber> open(const base::Root& root);

    [[nodiscard]] std::uint64_t total_bytes() const { return total_bytes_; }
    /// `on_bytes` is told of each part that was read. What bundles that went meanwhile wanted is no damage.
    [[nodiscard]] Scrub run(const std::function<void(std::uint64_t)>& on_bytes = {}) const;

  private:
    struct Bundle {
        std::string name;
        std::vector<OwnedBlob> blobs; ///< sorted
    };
    /// Each blob once, in order, with the names of those that own it.
    void for_each(const std::function<void(const OwnedBlob&, std::vector<std::string>)>& take) const;

    explicit Scrubber(const base::Root& root) : root_(&root) {}

    const base::Root* root_;
    std::vector<Bundle> bundles_;
    std::uint64_t blobs_ = 0;
    std::uint64_t total_bytes_ = 0;
    std::vector<std::string> problems_;
};

[[nodiscard]] base::Result<void> write_scrub(const base::Root& root, const Scrub& scrub);
/// What the last one found and is still so, as to_json() makes it. Null if there was none.
[[nodiscard]] base::Json last_scrub(const base::Root& root);

/// {"finished", "blobs", "bytes", "damaged": [{"digest", "size", "bundles", "why", "removed"}…], "more": n,
/// "manifests": {bundle: digest}, "problems": [text]}: the first thousand, and how many more there are.
[[nodiscard]] base::Json to_json(const Scrub& scrub);

} // namespace gpuhost::images
