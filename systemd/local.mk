# SPDX-License-Identifier: Apache-2.0
# Installed as they are: add to a dist_…_DATA. With paths inside: keep FOO.in, add FOO to nodist_…_DATA and
# FOO.in to EXTRA_DIST, and FOO to CLEANFILES.
systemdunitdir = $(SYSTEMD_UNITDIR)
systemdpresetdir = $(SYSTEMD_PRESETDIR)
systemdcatalogdir = $(SYSTEMD_CATALOGDIR)
sysusersdir = $(SYSTEMD_SYSUSERSDIR)
tmpfilesdir = $(SYSTEMD_TMPFILESDIR)
dbuspolicydir = $(datadir)/dbus-1/system.d
dbusservicesdir = $(datadir)/dbus-1/system-services
dbusinterfacesdir = $(datadir)/dbus-1/interfaces
polkitactionsdir = $(datadir)/polkit-1/actions

dist_dbusinterfaces_DATA = %D%/org.gpuhost1.xml

systemd_units = %D%/gpuhostd.service %D%/gpuhost-ready.service %D%/gpuhost-registry.service %D%/gpuhost-scrub.service %D%/gpuhost-images.service \
    %D%/gpuhost-peers.service %D%/gpuhost-fetch.service %D%/gpuhost-cdi.service %D%/gpuhost-runtime.service %D%/gpuhost-cluster.service \
    %D%/gpuhost-metrics.service %D%/gpuhost-textfile.service %D%/gpuhost-devices.service
dist_systemdunit_DATA = %D%/gpuhost-registry.socket %D%/gpuhost-scrub.timer %D%/gpuhost-images.path %D%/gpuhost-cdi.path %D%/gpuhost-cdi.timer \
    %D%/gpuhost-runtime.path %D%/gpuhost-runtime.timer %D%/gpuhost-images.timer %D%/gpuhost-peers.socket %D%/gpuhost-fetch.socket %D%/gpuhost-fetch.timer \
    %D%/gpuhost-metrics.socket %D%/gpuhost-textfile.timer %D%/gpuhost-devices.path
nodist_systemdunit_DATA = $(systemd_units)
EXTRA_DIST += $(systemd_units:=.in)
CLEANFILES += $(systemd_units)
dist_dbuspolicy_DATA = %D%/org.gpuhost1.conf
dist_dbusservices_DATA = %D%/org.gpuhost1.service
dist_polkitactions_DATA = %D%/org.gpuhost1.policy
dist_systemdpreset_DATA = %D%/90-gpuhost.preset
dist_systemdcatalog_DATA = %D%/gpuhost.catalog
# gpuhostctl config cat --defaults prints it; a host test compares both.
dist_doc_DATA = %D%/gpuhostd.conf
EXTRA_DIST += %D%/SANDBOXING.md %D%/gpuhost.sysusers %D%/gpuhost.tmpfiles

# These units start gpuhost-images.service, which is After= them.
image_users = containerd.service docker.service podman.socket crio.service k3s.service k3s-agent.service \
    rke2-server.service rke2-agent.service
install-data-local: install-systemd-wants
install-systemd-wants:
	for unit in $(image_users); do \
	    $(MKDIR_P) '$(DESTDIR)$(systemdunitdir)'/$$unit.wants && \
	    ln -sf ../gpuhost-images.service '$(DESTDIR)$(systemdunitdir)'/$$unit.wants/ || exit; \
	done
uninstall-local: uninstall-systemd-wants
uninstall-systemd-wants:
	for unit in $(image_users); do \
	    rm -f '$(DESTDIR)$(systemdunitdir)'/$$unit.wants/gpuhost-images.service; \
	    rmdir '$(DESTDIR)$(systemdunitdir)'/$$unit.wants 2>/dev/null || :; \
	done

# Installs these two with names that end in .conf.
install-data-local: install-systemd-conf
install-systemd-conf:
	$(MKDIR_P) '$(DESTDIR)$(sysusersdir)' '$(DESTDIR)$(tmpfilesdir)'
	$(INSTALL_DATA) $(srcdir)/systemd/gpuhost.sysusers '$(DESTDIR)$(sysusersdir)/gpuhost.conf'
	$(INSTALL_DATA) $(srcdir)/systemd/gpuhost.tmpfiles '$(DESTDIR)$(tmpfilesdir)/gpuhost.conf'
uninstall-local: uninstall-systemd-conf
uninstall-systemd-conf:
	rm -f '$(DESTDIR)$(sysusersdir)/gpuhost.conf' '$(DESTDIR)$(tmpfilesdir)/gpuhost.conf'
.PHONY: install-systemd-wants uninstall-systemd-wants install-systemd-conf uninstall-systemd-conf
