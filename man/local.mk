# SPDX-License-Identifier: Apache-2.0
# Pages in scdoc's format. The dist tarball has the built pages, so that packagers need no scdoc.
man_sources = \
    %D%/gpuhost-bundle.5.scd \
    %D%/gpuhost-cdi-hook.8.scd \
    %D%/gpuhost-cluster.8.scd \
    %D%/gpuhost-devices.8.scd \
    %D%/gpuhost-exporter.8.scd \
    %D%/gpuhost-peers.8.scd \
    %D%/gpuhost-policy.5.scd \
    %D%/gpuhost-registry.8.scd \
    %D%/gpuhost.7.scd \
    %D%/gpuhostctl-bundle.1.scd \
    %D%/gpuhostctl-cdi.1.scd \
    %D%/gpuhostctl-cluster.1.scd \
    %D%/gpuhostctl-config.1.scd \
    %D%/gpuhostctl-dashboard.1.scd \
    %D%/gpuhostctl-driver.1.scd \
    %D%/gpuhostctl-fleet.1.scd \
    %D%/gpuhostctl-gpu.1.scd \
    %D%/gpuhostctl-image.1.scd \
    %D%/gpuhostctl-operation.1.scd \
    %D%/gpuhostctl-runtime.1.scd \
    %D%/gpuhostctl-secure-boot.1.scd \
    %D%/gpuhostctl-toolkit.1.scd \
    %D%/gpuhostctl-upgrade.1.scd \
    %D%/gpuhostctl.1.scd \
    %D%/gpuhostd.8.scd \
    %D%/gpuhostd.conf.5.scd \
    %D%/org.gpuhost1.5.scd
man_pages = $(man_sources:.scd=)
dist_man_MANS += $(man_pages)
EXTRA_DIST += $(man_sources)
MAINTAINERCLEANFILES += $(man_pages)

man/%: man/%.scd
	$(AM_V_GEN)$(MKDIR_P) $(@D) && $(SCDOC) <$< >$@.tmp && mv $@.tmp $@
