# SPDX-License-Identifier: Apache-2.0
"""gpuhostctl report: the archive's content, its mode, and that it has no secrets."""
import fcntl
import os
import signal
import tarfile

import programs
import tap
from fake_host import NEW, FakeHost, prepare, write

ALREADY_EXISTS = 5
SECRET = "hunter2planted"
KEY = f"-----BEGIN PRIVATE KEY-----\n{SECRET}\n-----END PRIVATE KEY-----\n"
# A secret in each file that a report reads, in the file's own format, where people may write one.
PLANTED = {
    "/etc/gpuhost/gpuhostd.conf.d/50-site.conf": f"# {SECRET}\n[Driver]\nHolderPolicy=wait\nSigningKey=pkcs11:x?pin-value={SECRET}\n[Peers]\nProxy=http://joe:{SECRET}@proxy:3128\n"
                                                "[Devices]\nConfigFile=/etc/gpuhost/slices.yaml\n",
    "/etc/gpuhost/slices.yaml": f"version: v1\n# {SECRET}\nclient-key-data: {SECRET}\nsharing: {{}}\n",
    "/run/gpuhost-cluster/status.json": f'{{"node": "gpu01", "server": "https://joe:{SECRET}@api", "bearer": "{SECRET}"}}',
    "/etc/cdi/site.yaml": f"cdiVersion: 0.6.0\nkind: site/x\ndevices:\n- name: a\n  containerEdits: {{env: [API_TOKEN={SECRET}]}}\n",
    "/etc/modprobe.d/site.conf": f"# password: {SECRET}\nblacklist nouveau # {SECRET}\noptions nvidia NVreg_EnableGpuFirmware=0\noptions wifi psk={SECRET}\ninstall nvidia /bin/false\ninstall x curl -u {SECRET}\n",
    "/proc/cmdline": f"ro intel_iommu=on nvidia-drm.modeset=1 rd.luks.passphrase=\"correct {SECRET} battery\" BOOT_IMAGE=http://joe:{SECRET}@pxe/vmlinuz netroot=iscsi:joe:{SECRET}@san::::x\n",
    "/etc/os-release": f'ID=debian\nSUPPORT_URL="https://joe:{SECRET}@support"\n# {SECRET}\n',
    "/var/lib/dpkg/status": f"Package: containerd\nStatus: install ok installed\nVersion: 1.7\nDescription: {SECRET}\n\n",
    "/proc/driver/nvidia/registry": "Binary: \"\"\n",
    "/proc/driver/nvidia/gpus/0000:65:00.0/information": "Model: H100\n",
    "/etc/hostname": "gpu01\n",
    "/var/lib/gpuhost/cluster/kubeconfig": f"users:\n- user: {{token: {SECRET}}}\n",
    "/var/lib/gpuhost/cluster/client.pem": KEY,
    "/usr/lib/modprobe.d/site.conf": f"remove y curl {SECRET} x\n",
}


def members(path):
    with tarfile.open(path) as archive:
        return [(member.name.split("/")[-1], member.mode, archive.extractfile(member).read().decode()) for member in archive]


def check_mounted(t, host, path):
    for name, content in PLANTED.items():
        write(host.path(name), content)
    os.umask(0)
    run = host.ctl("report", path, f"--root={host.root}")
    t.ok(run.returncode == 0 and "journal.txt" in run.stderr and not run.stdout,
         "report writes the archive and lists its content", run.stderr)
    t.equal(os.stat(path).st_mode & 0o777, 0o600, "the archive is readable only by root")
    found = members(path)
    listed = [line.split()[0] for line in host.ctl("report", "--list").stdout.splitlines()[1:]]
    t.equal([name for name, _, _ in found], listed, "report --list prints the archive's members in order")
    t.ok(all(mode == 0o600 for _, mode, _ in found), "the archive's members are readable only by root")
    text = {name: content for name, _, content in found}
    t.equal([name for name in text if SECRET in text[name]], [], "no planted secret is in the archive")
    for name, wanted in (("config.txt", "[Driver] HolderPolicy=wait # /etc/gpuhost/gpuhostd.conf.d/50-site.conf:3\n"),
                         ("config.txt", "[Driver] SigningKey=pkcs11:x?pin-value=[masked]\n"), ("config.txt", "unknown key 'Proxy' in [Peers]"),
                         ("config-file.json", "/etc/gpuhost/slices.yaml:3: client-key-data is not a field of NVIDIA's device plugin"),
                         ("cluster.json", '"server": "https://[masked]@api"'), ("driver-files.txt", 'Binary: ""'),
                         ("modules.txt", "# /proc/cmdline\nro intel_iommu=on nvidia-drm.modeset=1 rd.luks.passphrase=[left out] BOOT_IMAGE=[left out] netroot=[left out]\n"),
                         ("modules.txt", "site.conf\nblacklist nouveau\noptions nvidia NVreg_EnableGpuFirmware=0\noptions wifi [left out]\n"
                                         "install nvidia /bin/false\ninstall x [left out]\n"),
                         ("modules.txt", "site.conf\nremove y [left out]\n"),
                         ("os-release", "ID=debian\n"), ("packages.txt", "containerd 1.7\n"), ("inventory.json", '"kernels"'),
                         ("journal.txt", "mounted system"), ("doctor.json", '"check": "space"'), ("drivers.json", "mounted system")):
        t.ok(wanted in text[name], f"{name} keeps other content: {wanted}", text[name][:2000])


def check_links(t, host, path):
    """Links of a mounted system are not followed outside it, and its pipes are not read."""
    outside = os.path.join(host.scratch, "of-the-host")
    write(outside, "what the host has\n")
    os.symlink(outside, host.path("/proc/driver/nvidia/link"))
    os.mkfifo(host.path("/proc/driver/nvidia/pipe"))
    run = host.ctl("report", path, "--force", f"--root={host.root}")
    text = {name: content for name, _, content in members(path)}
    t.ok(run.returncode == 0 and "registry <==" in text["driver-files.txt"],
         "report has the driver's files despite links and pipes", run.stderr, text["driver-files.txt"])
    t.equal([name for name in text if "what the host has" in text[name]], [],
            "report follows no link out of the mounted system")


def check_config_file(t, host, path):
    """A file of ConfigFile= that can't be read, or that no setting names, does not end the report."""
    file, settings = host.path("/etc/gpuhost/slices.yaml"), host.path("/etc/gpuhost/gpuhostd.conf.d/50-site.conf")

    def reported():
        run = host.ctl("report", path, "--force", f"--root={host.root}")
        return run.returncode, {name: content for name, _, content in members(path)}["config-file.json"]

    os.unlink(file)
    returned, text = reported()
    t.ok(returned == 0 and "/etc/gpuhost/slices.yaml: No such file" in text, "report continues without the file of ConfigFile=", returned, text)
    os.mkfifo(file)
    returned, text = reported()
    t.ok(returned == 0 and '"problems": [\n' in text, "report reads no pipe of ConfigFile=", returned, text)
    os.unlink(file)
    write(file, "#" * (2 << 20))
    returned, text = reported()
    t.ok(returned == 0 and len(text) < 1000, "report leaves out a large file of ConfigFile=", returned, text[:1000])
    write(settings, "[Driver]\n")
    returned, text = reported()
    t.ok(returned == 0 and '"file": ""' in text and '"problems": []' in text, "report says that ConfigFile= is empty", returned, text)


def check_hang(t, host, path):
    """A file with a lease blocks other processes that open it, as a hung driver does."""
    stuck = "/proc/driver/nvidia/gpus/0000:65:00.0/information"
    signal.signal(signal.SIGIO, signal.SIG_IGN)  # the kernel's request to release the lease
    with open(host.path(stuck), "r+", encoding="utf-8") as file:
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        run = host.ctl("report", path, "--force", f"--root={host.root}")
    text = {name: content for name, _, content in members(path)}
    t.ok(run.returncode == 0 and f"{stuck} <==\n[can't be read: cat timed out after" in text["driver-files.txt"],
         "report continues after a driver file that hangs", run.stderr, text["driver-files.txt"])
    t.ok("registry <==\nBinary: " in text["driver-files.txt"],
         "report has the driver's other files", text["driver-files.txt"])
    for name in ("doctor.json", "inventory.json"):
        t.ok(f"reading '{stuck}' timed out" in text[name],
             f"{name} reports the file that hangs", text[name])


def check_rpm(t, host, path):
    """Package versions on a host with rpm."""
    tools = os.path.join(host.scratch, "rpm")
    write(os.path.join(tools, "rpm"), "#!/bin/sh\necho $* >&2\nprintf 'kernel-core 5.14.0-1.el9.x86_64\\nbash 5.1-1.el9.x86_64\\nnvidia-driver 3:550.1-1.el9.x86_64\\n'\n")
    os.chmod(os.path.join(tools, "rpm"), 0o755)
    os.remove(host.path("/var/lib/dpkg/status"))
    os.makedirs(host.path("/usr/lib/sysimage/rpm"))
    environment = {**host.environment, "PATH": tools + ":" + os.environ["PATH"]}
    programs.run([os.path.join(tap.TOP_BUILDDIR, "gpuhostctl"), "report", path, "--force", f"--root={host.root}"], env=environment)
    text = {name: content for name, _, content in members(path)}
    t.equal(text["packages.txt"], "kernel-core 5.14.0-1.el9.x86_64\nnvidia-driver 3:550.1-1.el9.x86_64\n",
            "packages.txt has kernel and driver packages of rpm")


def check_existing(t, host, path):
    before = os.stat(path).st_ino
    run = host.ctl("report", path, f"--root={host.root}")
    t.ok(run.returncode == ALREADY_EXISTS and "--force" in run.stderr and os.stat(path).st_ino == before,
         "report does not overwrite an existing file", run.returncode, run.stderr)
    run = host.ctl("report", path, "--force", f"--root={host.root}")
    t.ok(run.returncode == 0 and os.stat(path).st_ino != before,
         "report --force replaces an existing file", run.stderr)
    run = host.ctl("report", "/nonexistent/x.tar.gz", f"--root={host.root}")
    t.ok(run.returncode != 0 and "/nonexistent/x.tar.gz" in run.stderr,
         "report to a missing directory fails", run.stderr)


JOURNALCTL = f"""#!/bin/sh
for one; do
    case $one in
    --grep=*) printf '%s\\n' 'nvidia 0000:65:00.0: enabled' 'Kernel command line: nvidia-drm.modeset=1 luks.key={SECRET}' '[drm] [nvidia-drm] loaded' ' os_x+0x1/0x2f [nvidia]' |
        grep -P "${{one#--grep=}}" ;;
    --unit=*) echo "gpuhostd: the server answered: token={SECRET}" ;;
    esac
done
"""


def programs_with_secrets(directory):
    """Writes a journalctl with secrets, and a systemctl and an lspci, which have none."""
    for name, text in (("journalctl", JOURNALCTL), ("systemctl", "#!/bin/sh\necho systemctl\n"), ("lspci", "#!/bin/sh\necho lspci\n")):
        write(os.path.join(directory, name), text)
        os.chmod(os.path.join(directory, name), 0o755)


def check_host(t, host, path):
    """A report with a running daemon: its documents, and output of system programs."""
    tools = os.path.join(host.scratch, "tools")
    programs_with_secrets(tools)
    environment = {**host.environment, "PATH": tools + ":" + os.environ["PATH"]}
    run = programs.run([os.path.join(tap.TOP_BUILDDIR, "gpuhostctl"), "report", path, "--force"], env=environment)
    t.equal(run.returncode, 0, "report on a running host succeeds")
    text = {name: content for name, _, content in members(path)}
    t.equal([name for name in text if SECRET in text[name]], [],
            "no secret of other programs is in the archive")
    for name, wanted in (("status.json", '"components"'), ("drivers.json", NEW), ("history.json", '"changes"'), ("operations.json", '"driver.swap"'),
                         ("plan.json", '"steps"'), ("journal.txt", "gpuhostd: the server answered: token=[masked]"),
                         ("kernel.txt", "[drm] [nvidia-drm] loaded\n os_x+0x1/0x2f [nvidia]\nnvidia 0000:65:00.0: enabled\n"),
                         ("units.txt", "systemctl"), ("pci.txt", "lspci")):
        t.ok(wanted in text[name], f"{name} contains {wanted}", text[name][:500])


def main():
    t = tap.Tap()
    host = FakeHost()
    try:
        prepare(host)
        host.start_daemon()
        host.settle()
        path = os.path.join(host.scratch, "report.tar.gz")
        check_mounted(t, host, path)
        check_existing(t, host, path)
        check_host(t, host, path)
        check_links(t, host, path)
        check_config_file(t, host, path)
        check_hang(t, host, path)
        check_rpm(t, host, path)
    finally:
        host.close()
    t.done()


main()
