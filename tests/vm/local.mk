# SPDX-License-Identifier: Apache-2.0
# make check-vm: the package in a virtual machine with NVIDIA's real modules. Needs root, QEMU, mmdebstrap and
# the guest kernel's headers (./bootstrap check installs them). Without them it prints the reason and exits
# with 77.
TESTS += %D%/rig_test.py
EXTRA_DIST += \
    %D%/check-vm \
    %D%/demo \
    %D%/guest/Kbuild \
    %D%/guest/agent \
    %D%/guest/fakegpu.c \
    %D%/guest/init \
    %D%/guest/stuckexit/Kbuild \
    %D%/guest/stuckexit/stuckexit.c \
    %D%/guest/vm-agent.service \
    %D%/inputs.list \
    %D%/prepare \
    %D%/rig/__init__.py \
    %D%/rig/accel.py \
    %D%/rig/cache.py \
    %D%/rig/case.py \
    %D%/rig/control_plane.py \
    %D%/rig/debian.py \
    %D%/rig/disklog.py \
    %D%/rig/guest.py \
    %D%/rig/host.py \
    %D%/rig/image.py \
    %D%/rig/inputs.py \
    %D%/rig/modules.py \
    %D%/rig/payload.py \
    %D%/rig/runner.py \
    %D%/rig/say.py \
    %D%/rig/system.py \
    %D%/rig/tap.py \
    %D%/rig_test.py \
    %D%/scenarios/__init__.py \
    %D%/scenarios/bad_modules.py \
    %D%/scenarios/boot.py \
    %D%/scenarios/build.py \
    %D%/scenarios/bundle.py \
    %D%/scenarios/containers.py \
    %D%/scenarios/crash.py \
    %D%/scenarios/devices.py \
    %D%/scenarios/documents.py \
    %D%/scenarios/downgrade.py \
    %D%/scenarios/expect.py \
    %D%/scenarios/failures.py \
    %D%/scenarios/gpus.py \
    %D%/scenarios/holders.py \
    %D%/scenarios/import_crash.py \
    %D%/scenarios/initramfs.py \
    %D%/scenarios/install.py \
    %D%/scenarios/kernels.py \
    %D%/scenarios/kubernetes.py \
    %D%/scenarios/own_driver.py \
    %D%/scenarios/package.py \
    %D%/scenarios/rescue.py \
    %D%/scenarios/runtimes.py \
    %D%/scenarios/swap.py \
    %D%/scenarios/upgrade.py \
    tests/bench/vm_boot \
    tests/bench/vm_downtime

.PHONY: check-vm bench-vm
check-vm: deb
	$(PYTHON) $(top_srcdir)/tests/vm/check-vm --deb deb/gpuhostd_*.deb
bench-vm: deb
	$(PYTHON) $(top_srcdir)/tests/bench/vm_downtime --deb deb/gpuhostd_*.deb
	$(PYTHON) $(top_srcdir)/tests/bench/vm_boot --deb deb/gpuhostd_*.deb
