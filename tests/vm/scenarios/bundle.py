# SPDX-License-Identifier: Apache-2.0
"""Signed bundles on a real host: made and imported by the installed package, with its users and sandboxes."""

from rig.case import case
from rig.modules import VERSIONS

from . import expect

SPEC = """[Bundle]
Name=site-images
Generation={generation}

[Image registry.example/team/app:v1]
Layout=/payload/images/layout
"""
KEYS = "/payload/images/site"
STORE = "/var/lib/gpuhost/store"


def create(host, generation, more=""):
    host.check(f"cat >/root/site.spec <<'END'\n{SPEC.format(generation=generation)}{more}END")
    host.ctl_ok("bundle", "create", "/root/site.spec", "-o", f"/root/{generation}.bundle",
                "--sign-key", f"{KEYS}/bundle.key", "--cert", f"{KEYS}/bundle.pem")


@case("a bundle whose signer is not trusted is refused", start="installed")
def no_trust(host):
    create(host, 1)
    refused = host.ctl("bundle", "import", "/root/1.bundle")
    assert refused.rc == 12 and "/etc/gpuhost/trust.d" in refused.err, f"{refused}"
    assert host.check(f"find {STORE} -type f") == ""


@case("a signed bundle is imported offline, owned by a separate user", start="installed", makes="bundled")
def import_bundle(host):
    create(host, 2)
    host.check(f"cp {KEYS}/ca.pem /etc/gpuhost/trust.d/site.pem")
    host.ctl_ok("bundle", "import", "/root/2.bundle")
    owners = set(host.check(f"find {STORE}/sha256 -type f -printf '%U:%m\\n'").split())
    assert owners == {host.check("id -u gpuhost-store").strip() + ":444"}, f"owners: {owners}"
    bad = host.check(f"cd {STORE}/sha256; for f in *; do echo \"$f  $f\"; done | sha256sum --quiet -c")
    assert bad == "", bad
    listed = host.ctl_json("bundle", "list")["bundles"]
    assert [b["generation"] for b in listed] == [2] and listed[0]["blobs"] == len(host.check(f"ls {STORE}/sha256").split()), f"{listed}"
    again = host.ctl_ok("bundle", "import", "/root/2.bundle")
    assert "/root" not in again.out


@case("an import completes after its worker is killed", start="bundled")
def killed(host):
    host.check("gpuhostctl bundle remove site-images")
    create(host, 3)
    host.check(f"(until [ -n \"$(find {STORE}/incoming -size +1M 2>/dev/null)\" ] && pkill -KILL -u gpuhost-store; do :; done) & gpuhostctl bundle import /root/3.bundle; wait", 240)
    listed = host.ctl_json("bundle", "list")["bundles"]
    assert [b["generation"] for b in listed] == [3], f"{listed}"


@case("apply swaps to the driver of an imported bundle", start="installed")
def whole_upgrade(host):
    version = VERSIONS[1]
    kernel = host.check("uname -r").strip()
    create(host, 5, f"[Driver {version}]\nPackages={' '.join(host.payload_debs(version))}\n"
                    f"[Modules {version} {kernel}]\nFiles=/payload/modules/{version}/*.ko\n")
    host.check(f"cp {KEYS}/ca.pem /etc/gpuhost/trust.d/site.pem")
    host.ctl_ok("bundle", "import", "/root/5.bundle")
    expect.no_driver(host)
    host.check(f"printf '[Driver]\\nVersion={version}\\n' >/etc/gpuhost/gpuhostd.conf")
    host.ctl_ok("reload")
    host.ctl_ok("apply")
    expect.driver(host, version, host.srcversions(version))


@case("upgrade brings in a bundle from a stick, loads its driver, and repeats", start="installed")
def upgraded(host):
    version = VERSIONS[1]
    kernel = host.check("uname -r").strip()
    create(host, 9, f"[Driver {version}]\nPackages={' '.join(host.payload_debs(version))}\n"
                    f"[Modules {version} {kernel}]\nFiles=/payload/modules/{version}/*.ko\n")
    host.check("mkdir -p /media/stick && mount -t tmpfs stick /media/stick && mv /root/9.bundle /media/stick/site.bundle")
    refused = host.ctl("upgrade", "/media/stick/site.bundle")
    assert refused.rc == 12 and "/etc/gpuhost/trust.d" in refused.err and "Done: nothing." in refused.err, f"{refused}"
    host.check(f"cp {KEYS}/ca.pem /etc/gpuhost/trust.d/site.pem")
    checked = host.ctl_ok("upgrade", "/media/stick/site.bundle", "--dry-run")
    assert f"the swap to driver {version}" in checked.out, f"{checked}"
    expect.no_driver(host)
    done = host.ctl_ok("upgrade", "/media/stick/site.bundle")
    assert done.out.splitlines()[-1].startswith(f"OK: driver {version} serves "), f"{done}"
    expect.driver(host, version, host.srcversions(version))
    before = [one["kind"] for one in host.ctl_json("operation", "list")]
    host.ctl_ok("upgrade", version)
    assert [one["kind"] for one in host.ctl_json("operation", "list")] == before
    host.check("umount /media/stick")


@case("a bundle that was modified is refused, the earlier generation stays", start="bundled")
def altered(host):
    create(host, 4)
    host.check("printf X | dd of=/root/4.bundle bs=1 seek=200000 conv=notrunc status=none")
    before = host.check(f"ls {STORE}/sha256")
    host.check(f"rm {STORE}/sha256/*")  # else the import would skip the blobs that it has
    refused = host.ctl("bundle", "import", "/root/4.bundle")
    assert refused.rc == 9, f"{refused}"
    assert host.check(f"ls {STORE}/sha256") == "" and host.ctl_json("bundle", "list")["bundles"][0]["generation"] == 2
    host.ctl_ok("bundle", "import", "/root/2.bundle")
    assert host.check(f"ls {STORE}/sha256") == before


@case("an unsigned archive is imported only with AllowUnsigned=yes", start="bundled")
def unsigned(host):
    host.check("cp -r /payload/images/layout /root/layout && tar -cf /root/airgap.tar -C /root/layout .")
    refused = host.ctl("bundle", "import", "--unsigned", "/root/airgap.tar")
    assert refused.rc == 8 and "AllowUnsigned=yes" in refused.err, f"{refused}"
    host.check("printf '[Images]\\nAllowUnsigned=yes\\n' >/etc/gpuhost/gpuhostd.conf")
    host.ctl_ok("reload")
    host.ctl_ok("bundle", "import", "--unsigned", "/root/airgap.tar")
    listed = {b["name"]: b.get("unsigned", False) for b in host.ctl_json("bundle", "list")["bundles"]}
    assert listed == {"site-images": False, "airgap": True}, f"{listed}"
    assert host.check(f"ls {STORE}/incoming") == ""
    host.ctl_ok("bundle", "remove", "airgap")


@case("gpuhost-scrub removes a damaged blob, importing the bundle again restores it", start="bundled")
def scrub(host):
    host.check("systemctl start gpuhost-scrub")
    blob = host.check(f"ls -S {STORE}/sha256 | head -n 1").strip()
    host.check(f"chmod 644 {STORE}/sha256/{blob} && printf X | dd of={STORE}/sha256/{blob} bs=1 seek=9 conv=notrunc status=none && sync")
    result = host.run("systemctl start gpuhost-scrub")
    log = host.check("journalctl -b -u gpuhost-scrub -o cat")
    assert result.rc != 0 and f"sha256:{blob} of site-images" in log and "Import these bundles again: site-images" in log, f"{result} {log}"
    assert host.run(f"test -e {STORE}/sha256/{blob}").rc != 0
    assert "import again site-images" in host.ctl_ok("status").out
    host.ctl_ok("bundle", "import", "/root/2.bundle")
    host.check("systemctl start gpuhost-scrub")
    assert host.check("systemctl is-enabled gpuhost-scrub.timer gpuhost-images.path gpuhost-images.timer").split() == ["enabled"] * 3


@case("an imported bundle starts gpuhost-images, which finds no container runtime", start="bundled")
def placing(host):
    host.ctl_ok("image", "pin", "registry.example/team/app:v1")  # no containerd runs here
    before = host.check("systemctl show -P InactiveEnterTimestampMonotonic gpuhost-images")
    create(host, 6)
    host.ctl_ok("bundle", "import", "/root/6.bundle")
    host.check(f"for i in $(seq 100); do [ \"$(systemctl show -P InactiveEnterTimestampMonotonic gpuhost-images)\" != {before.strip()} ] && exit; "
               "sleep 0.2; done; exit 1")
    assert host.check("systemctl show -P Result gpuhost-images").strip() == "success", host.check("journalctl -b -u gpuhost-images -o cat")
    assert host.ctl_json("status")["components"]["images"]["observed"]["placement"]["runtimes"] == []
    host.ctl_ok("image", "unpin", "registry.example/team/app:v1")


@case("apt installs a bundle's packages offline until the bundle is removed", start="installed")
def packages(host):
    host.check("""mkdir -p /root/repository /root/p/DEBIAN && cd /root
printf 'Package: site-hello\\nVersion: 1.0\\nArchitecture: all\\nMaintainer: site\\nDescription: hello\\n' >p/DEBIAN/control
dpkg-deb --build p repository/site-hello.deb >/dev/null
cd repository && {
    dpkg-deb -f site-hello.deb
    echo "Filename: ./site-hello.deb"; echo "Size: $(stat -c %s site-hello.deb)"; echo "SHA256: $(sha256sum <site-hello.deb | cut -d ' ' -f 1)"
} >Packages""")
    create(host, 8, "[Packages debian-12]\nRepository=/root/repository\n")
    host.check(f"cp {KEYS}/ca.pem /etc/gpuhost/trust.d/site.pem")
    host.ctl_ok("bundle", "import", "/root/8.bundle")
    source = "/etc/apt/sources.list.d/gpuhost-site-images.sources"
    warned = host.check("journalctl -b -u gpuhostd -o cat | grep 'apt rejects' || true")
    assert warned == "", warned  # apt ran in the worker's sandbox
    host.check("apt-get -y install site-hello")
    assert host.check("dpkg-query -W -f '${Version}' site-hello") == "1.0"
    host.check(f"rm {source}")
    assert source in host.ctl("apply", "--dry-run").out
    applied = host.ctl("apply")
    assert applied.rc == 8 and "no driver is chosen" in applied.err, f"{applied}"
    host.check(f"test -e {source}")
    host.ctl_ok("bundle", "remove", "site-images")
    host.check(f"test ! -e {source} && apt-get -y remove site-hello")
    gone = host.run("apt-get -y install site-hello")
    assert gone.rc != 0 and "site-hello" in gone.err, f"{gone}"


@case("a lost blob is fetched from a peer by sandboxed units", start="bundled")
def fetched(host):
    host.check("mkdir -p /etc/gpuhost/peers && cp /payload/images/peers/host/*.pem /etc/gpuhost/peers/")
    host.check("printf '[Peers]\\nPeers=127.0.0.1:2990 127.0.0.1:2991\\nDomains=rack.example\\n' >/etc/gpuhost/gpuhostd.conf")
    host.ctl_ok("reload")
    host.check("systemctl start gpuhost-peers.socket gpuhost-fetch.socket")
    host.check("mkdir -p /root/peer/var/lib/gpuhost && cp -a /var/lib/gpuhost/store /var/lib/gpuhost/catalogue /root/peer/var/lib/gpuhost/")
    host.check("systemd-run -q -u other-host systemd-socket-activate -l 127.0.0.1:2991 -E CREDENTIALS_DIRECTORY=/etc/gpuhost/peers "
               "/usr/sbin/gpuhost-registry --peers --root=/root/peer")
    blob = host.check(f"ls -S {STORE}/sha256 | head -n 1").strip()
    host.check(f"rm {STORE}/sha256/{blob}")
    assert host.run("runuser -u nobody -- gpuhostctl bundle fetch site-images").rc != 0
    host.ctl_ok("bundle", "fetch", "site-images")
    assert host.check(f"sha256sum <{STORE}/sha256/{blob}").split()[0] == blob
    assert "is already on this host and complete" in host.ctl_ok("bundle", "fetch", "site-images").err
    for unit in ("gpuhost-peers", "gpuhost-fetch"):
        assert host.check(f"systemctl show -P Result {unit}").strip() == "success", host.check(f"journalctl -b -u {unit} -o cat")
    asked = host.check("journalctl -b -u gpuhost-fetch -o cat")
    assert "DNS" in asked and "exited with status" not in asked, asked  # it has no peers, but the sandbox permits the request
    served = host.check("journalctl -b -u gpuhost-peers -o cat")
    assert "Started" in served and "Failed" not in served, served


@case("gpuhost-cluster sends requests over TLS as the user gpuhost", start="bundled")
def cluster(host):
    """The registry for peers replaces the API server and answers 404. Only the client's user and sandbox
    matter."""
    host.check("mkdir -p /etc/gpuhost/peers && cp /payload/images/peers/host/*.pem /etc/gpuhost/peers/ && systemctl start gpuhost-peers.socket")
    host.check("echo token >/root/token")
    none = host.ctl("cluster", "status")
    assert none.rc != 0 and "cluster join" in none.err, f"{none}"
    host.ctl_ok("cluster", "join", "https://127.0.0.1:2990", "--ca=/etc/gpuhost/peers/ca.pem", "--token-file=/root/token", "--no-wait")
    assert host.check("systemctl is-enabled gpuhost-cluster").strip() == "enabled"
    assert host.check("stat -c '%U:%G %a' /etc/gpuhost/cluster/bootstrap-kubeconfig").strip() == "root:gpuhost 640"
    host.check("for i in $(seq 100); do [ -e /var/lib/gpuhost/cluster/pending-key.pem ] && break; sleep 0.2; done")
    assert host.check("stat -c '%U %a' /var/lib/gpuhost/cluster/pending-key.pem").strip() == "gpuhost 600"
    assert "is joining" in host.ctl_ok("cluster", "status").out
    host.ctl_ok("cluster", "leave")
    assert host.check("ls -A /var/lib/gpuhost/cluster /etc/gpuhost/cluster | grep pem || true").strip() == ""
    host.check("""cd /etc/gpuhost/cluster && cp ../peers/*.pem . && cat >kubeconfig <<'END'
apiVersion: v1
kind: Config
current-context: c
clusters: [{name: s, cluster: {server: "https://127.0.0.1:2990", certificate-authority: ca.pem}}]
users: [{name: h, user: {client-certificate: cert.pem, client-key: key.pem}}]
contexts: [{name: c, context: {cluster: s, user: h}}]
END
chgrp gpuhost * && chmod 0640 * && systemctl start gpuhost-cluster""")
    host.check("for i in $(seq 100); do grep -q disconnected /run/gpuhost-cluster/status.json && break; sleep 0.2; done")
    shown = host.ctl_ok("cluster", "status").out
    assert "unreachable" in shown and "404" in shown, shown  # TLS succeeded and the request was answered
    assert host.check("ps -o user= -C gpuhost-cluster").strip() == "gpuhost"
    assert host.check("systemctl is-active gpuhost-cluster").strip() == "active"
    said = host.check("journalctl -b -u gpuhost-cluster -o cat")
    assert "can't watch node" in said and "Failed" not in said, said
    host.check("systemctl stop gpuhost-cluster gpuhost-peers.socket && rm -r /etc/gpuhost/cluster/* /etc/gpuhost/peers")
