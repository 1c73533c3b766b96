# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base daemon/ctl/bundle daemon/ctl/cdi daemon/ctl/cli daemon/ctl/cluster
#   daemon/ctl/config daemon/ctl/driver daemon/ctl/fleet daemon/ctl/gpu daemon/ctl/host
#   daemon/ctl/image daemon/ctl/operation daemon/ctl/runtime daemon/ctl/secure_boot daemon/ctl/toolkit
#   daemon/settings
noinst_LIBRARIES += %D%/libctl.a
%C%_libctl_a_CPPFLAGS = $(AM_CPPFLAGS) $(SYSTEMD_CFLAGS)
%C%_libctl_a_SOURCES = \
    %D%/completion.cpp \
    %D%/completion.hpp \
    %D%/completion_bash.cpp \
    %D%/completion_zsh.cpp \
    %D%/families.cpp
include daemon/ctl/bundle/local.mk
include daemon/ctl/cdi/local.mk
include daemon/ctl/cli/local.mk
include daemon/ctl/cluster/local.mk
include daemon/ctl/collect/local.mk
include daemon/ctl/config/local.mk
include daemon/ctl/dashboard/local.mk
include daemon/ctl/doctor/local.mk
include daemon/ctl/driver/local.mk
include daemon/ctl/fleet/local.mk
include daemon/ctl/gpu/local.mk
include daemon/ctl/host/local.mk
include daemon/ctl/image/local.mk
include daemon/ctl/operation/local.mk
include daemon/ctl/report/local.mk
include daemon/ctl/runtime/local.mk
include daemon/ctl/secure_boot/local.mk
include daemon/ctl/toolkit/local.mk
include daemon/ctl/upgrade/local.mk

bin_PROGRAMS += gpuhostctl
gpuhostctl_LDADD = $(ctl_libs)
gpuhostctl_SOURCES = daemon/programs/gpuhostctl.cpp

EXTRA_PROGRAMS += %D%/make-completion
CLEANFILES += %D%/make-completion
%C%_make_completion_LDADD = $(ctl_libs)
%C%_make_completion_SOURCES = %D%/make_completion.cpp

# For changes of verbs. The generated scripts are in the source, because a cross build can't run its programs.
.PHONY: completion
completion: %D%/make-completion
	for shell in bash:gpuhostctl zsh:_gpuhostctl; do \
	    script=$(srcdir)/packaging/completion/$${shell#*:} && \
	    %D%/make-completion $${shell%:*} <$$script >completion.tmp && cat completion.tmp >$$script && rm completion.tmp || exit; \
	done
