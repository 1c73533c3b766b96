# SPDX-License-Identifier: Apache-2.0
EXTRA_DIST += \
    .clang-tidy \
    %D%/autotools/git-version \
    %D%/autotools/m4/gpuhost_flags.m4 \
    %D%/build-deb \
    %D%/debian/changelog \
    %D%/debian/control \
    %D%/debian/copyright \
    %D%/debian/gpuhost-tools.install \
    %D%/debian/gpuhost-tools.lintian-overrides \
    %D%/debian/gpuhostd-cockpit.install \
    %D%/debian/gpuhostd-cockpit.lintian-overrides \
    %D%/debian/gpuhostd.install \
    %D%/debian/gpuhostd.lintian-overrides \
    %D%/debian/gpuhostd.postrm \
    %D%/debian/gpuhostd.prerm \
    %D%/debian/rules \
    %D%/debian/source/format \
    %D%/release/common.py \
    %D%/release/debs.py \
    %D%/release/install \
    %D%/release/install-debs \
    %D%/release/install-rpms \
    %D%/release/make-release \
    %D%/release/rpms.py \
    %D%/release/sbom.py \
    %D%/rpm/gpuhostd.spec.in \
    %D%/selinux/gpuhost.fc \
    %D%/selinux/gpuhost.te

# The tarball has it for dnf builddep, which runs before configure.
EXTRA_DIST += %D%/rpm/gpuhostd.spec
CLEANFILES += %D%/rpm/gpuhostd.spec

include %D%/cockpit/local.mk

# For administrators of a cluster.
kubernetesdir = $(datadir)/gpuhost/kubernetes
dist_kubernetes_DATA = %D%/kubernetes/host.yaml %D%/kubernetes/host-policy.yaml
# In a separate directory, because hosts with EvictAs=kubelet must not have these rights.
kubernetesevictdir = $(kubernetesdir)/evict
dist_kubernetesevict_DATA = %D%/kubernetes/evict/host-evict.yaml
# In a separate directory, because the GPU Operator installs its own definition.
kubernetescrddir = $(kubernetesdir)/crd
dist_kubernetescrd_DATA = %D%/kubernetes/crd/cluster-policy-crd.yaml

# The Helm chart of the same manifests, which its templates read from files/. helm/gpuhost-VERSION.tgz is the chart
# in one file, for a release.
helmchartdir = $(datadir)/gpuhost/helm/gpuhost
dist_helmchart_DATA = %D%/helm/gpuhost/values.schema.json %D%/helm/gpuhost/values.yaml
nodist_helmchart_DATA = %D%/helm/gpuhost/Chart.yaml
helmtemplatesdir = $(helmchartdir)/templates
dist_helmtemplates_DATA = \
    %D%/helm/gpuhost/templates/NOTES.txt \
    %D%/helm/gpuhost/templates/_token.tpl \
    %D%/helm/gpuhost/templates/bootstrap-token.yaml \
    %D%/helm/gpuhost/templates/candidates.yaml \
    %D%/helm/gpuhost/templates/policy.yaml \
    %D%/helm/gpuhost/templates/rights.yaml
helmfilesdir = $(helmchartdir)/files
helmfiles_DATA = $(dist_kubernetes_DATA) $(dist_kubernetesevict_DATA)
EXTRA_DIST += %D%/helm/gpuhost/Chart.yaml.in
CLEANFILES += %D%/helm/gpuhost/Chart.yaml
helm_archive = helm/gpuhost-$(VERSION).tgz
$(helm_archive): $(dist_helmchart_DATA) $(nodist_helmchart_DATA) $(dist_helmtemplates_DATA) $(helmfiles_DATA)
	rm -rf helm
	$(MAKE) $(AM_MAKEFLAGS) DESTDIR= helmchartdir=$(abs_builddir)/helm/gpuhost \
	    install-dist_helmchartDATA install-nodist_helmchartDATA install-dist_helmtemplatesDATA install-helmfilesDATA
	tar --sort=name --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX --mtime=@$(source_date) -C helm -cf - gpuhost | gzip -n9 >$@.tmp
	mv $@.tmp $@
clean-local: clean-helm
.PHONY: clean-helm
clean-helm:
	rm -rf helm

# Prepares a new kernel before it boots: Debian's packages run postinst.d and header_postinst.d, other systems
# run systemd's kernel-install(8).
kernelinstalldir = $(prefix)/lib/kernel/install.d
dist_kernelinstall_SCRIPTS = %D%/kernel/10-gpuhost.install
kernelpostinstdir = $(sysconfdir)/kernel/postinst.d
dist_kernelpostinst_SCRIPTS = %D%/kernel/gpuhost
kernelheaderpostinstdir = $(sysconfdir)/kernel/header_postinst.d
dist_kernelheaderpostinst_SCRIPTS = %D%/kernel/gpuhost

# Keeps GPU drivers out of the initramfs images of dracut and initramfs-tools.
dist_gpuhostlibexec_SCRIPTS = %D%/initramfs/gpuhost-initramfs
dracutconfdir = $(prefix)/lib/dracut/dracut.conf.d
dist_dracutconf_DATA = %D%/initramfs/50-gpuhost.conf
initramfshooksdir = $(datadir)/initramfs-tools/hooks
dist_initramfshooks_SCRIPTS = %D%/initramfs/gpuhost

# 'kubectl gpuhost' and its completion.
dist_bin_SCRIPTS = %D%/kubectl/kubectl-gpuhost %D%/kubectl/kubectl_complete-gpuhost

bashcompletiondir = $(BASH_COMPLETION_DIR)
dist_bashcompletion_DATA = %D%/completion/gpuhostctl
zshcompletiondir = $(ZSH_COMPLETION_DIR)
dist_zshcompletion_DATA = %D%/completion/_gpuhostctl

# deb builds the packages of this tree in deb/, rpm in rpm/. release builds those of the system that it runs on, and
# makes a directory in release/ that installs them on a host without a network; RELEASE_KEY=NAME signs it with that
# key of gpg. RPMBUILD_OPTIONS=--nocheck skips the tests of rpm. Times in the packages are $SOURCE_DATE_EPOCH, else
# the last commit's, else the changelog's, so that two builds are equal.
source_date = $${SOURCE_DATE_EPOCH:-$$(git -C $(srcdir) log -1 --format=%ct 2>/dev/null || date -d "$$(sed -n '/^ -- .*>  /{s///p;q}' $(srcdir)/%D%/debian/changelog)" +%s)}
packages_kind = $(if $(wildcard /etc/debian_version),deb,rpm)
.PHONY: deb format release rpm tidy
deb: dist
	rm -f deb/*.deb
	SOURCE_DATE_EPOCH=$(source_date) $(srcdir)/%D%/build-deb $(distdir).tar.xz deb
rpm: dist %D%/rpm/gpuhostd.spec
	rm -rf rpm
	SOURCE_DATE_EPOCH=$(source_date) rpmbuild -bb --define '_topdir $(abs_builddir)/rpm/work' --define '_sourcedir $(abs_builddir)' \
	    --define '_rpmdir $(abs_builddir)/rpm' --define '_build_name_fmt %%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm' \
	    --define '_buildhost localhost' --define 'use_source_date_epoch_as_buildtime 1' --define 'clamp_mtime_to_source_date_epoch 1' \
	    $(RPMBUILD_OPTIONS) $(filter %.spec,$^)
	rm -rf rpm/work
release: $(packages_kind) $(helm_archive)
	SOURCE_DATE_EPOCH=$(source_date) $(srcdir)/%D%/release/make-release --$(packages_kind)s $(packages_kind) --chart $(helm_archive) --output release $(if $(RELEASE_KEY),--key '$(RELEASE_KEY)')

# For developers: format corrects the format; tidy runs clang-tidy on all sources, or on $TIDY_FILES.
format:
	cd $(top_srcdir) && $(CLANG_FORMAT) -i $$(find $(sources) tests -path tests/vm/guest -prune -o -name '*.[ch]pp' -print)
tidy: config.h $(kubelet_headers)
	cd $(top_srcdir) && printf '%s\n' $${TIDY_FILES:-$$(find $(sources) -name '*.cpp')} | \
	    xargs -P $${TIDY_JOBS:-2} -I '{}' $(CLANG_TIDY) --quiet --warnings-as-errors='*' '{}' -- \
	    -std=c++20 $(DEFS) $(AM_CPPFLAGS) $(installed_cppflags) -iquote $(abs_top_builddir) $(SYSTEMD_CFLAGS) $(KMOD_CFLAGS) \
	    $(ARCHIVE_CFLAGS) $(CRYPTO_CFLAGS) -isystem $(abs_top_builddir)/daemon/rpc
