// SPDX-License-Identifier: Apache-2.0
// Reads every blob of this host again. A blob's name proves that it was whole once; the disk may have damaged
// it since.
//
// A damaged blob is removed from the store: it is no longer served, and the next import of its bundle
// restores it. This happens at the end, after all blobs are read: an interrupted scrub changes nothing.
// Unreadable blobs are read once more at the end, so a disk that was absent for a while loses none.
// scrub.json beside the blobs keeps the result for `status`, which compares it with the current store and
// catalogue.
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
    std::vector<std::string> bundles; ///< its owners, sorted
    /// "missing", "digest mismatch", or the error on reading it.
    std::string why;
    bool missing = false;
    bool readable = true; ///< two reads gave the same wrong bytes
    std::uint64_t inode = 0;
    std::uint64_t changed_ns = 0; ///< st_ctim: detects that the inode number was reused meanwhile
    bool removed = false;
};

struct Scrub {
    std::uint64_t finished = 0; ///< seconds since 1970
    std::uint64_t blobs = 0;    ///< number of blobs checked
    std::uint64_t bytes = 0;    ///< bytes read
    std::vector<Damage> damages;
    /// Bundles with damages: name → identity of the manifest, as in their records.
    std::map<std::string, std::string> bundles;
    std::vector<std::string> problems; ///< bundles whose blobs are unknown
};

class Scrubber {
  public:
    /// Reads the catalogue. Lists a bundle with a damaged entry as a problem. `root` must outlive the result.
    [[nodiscard]] static base::Result<Scrubber> open(const base::Root& root);

    [[nodiscard]] std::uint64_t total_bytes() const { return total_bytes_; }
    /// Reads all blobs. `on_bytes` receives the size of each part read. Blobs of bundles that were removed
    /// meanwhile do not count as damage.
    [[nodiscard]] Scrub run(const std::function<void(std::uint64_t)>& on_bytes = {}) const;

  private:
    struct Bundle {
        std::string name;
        std::vector<OwnedBlob> blobs; ///< sorted
    };
    /// Calls `take` with each blob once, in order, with the names of its owners.
    void for_each(const std::function<void(const OwnedBlob&, std::vector<std::string>)>& take) const;

    explicit Scrubber(const base::Root& root) : root_(&root) {}

    const base::Root* root_;
    std::vector<Bundle> bundles_;
    std::uint64_t blobs_ = 0;
    std::uint64_t total_bytes_ = 0;
    std::vector<std::string> problems_;
};

[[nodiscard]] base::Result<void> write_scrub(const base::Root& root, const Scrub& scrub);
/// Returns what the last scrub found and is still true, in the form of to_json(); null if there was none.
[[nodiscard]] base::Json last_scrub(const base::Root& root);

/// Returns {"finished", "blobs", "bytes", "damaged": [{"digest", "size", "bundles", "why", "removed"}…],
/// "more": n, "manifests": {bundle: digest}, "problems": [text]}. "damaged" has at most the first thousand,
/// "more" the number of the others.
[[nodiscard]] base::Json to_json(const Scrub& scrub);

} // namespace gpuhost::images
