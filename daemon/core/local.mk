# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base
noinst_LIBRARIES += %D%/libcore.a
%C%_libcore_a_SOURCES = \
    %D%/artifact.cpp \
    %D%/artifact.hpp \
    %D%/cluster_desired.cpp \
    %D%/cluster_desired.hpp \
    %D%/component.hpp \
    %D%/driver_filter.hpp \
    %D%/file_version.cpp \
    %D%/file_version.hpp \
    %D%/former_names.cpp \
    %D%/former_names.hpp \
    %D%/job.cpp \
    %D%/job.hpp \
    %D%/journal.cpp \
    %D%/journal.hpp \
    %D%/plan.cpp \
    %D%/plan.hpp \
    %D%/record.cpp \
    %D%/record.hpp \
    %D%/registry_hosts.hpp \
    %D%/settings.cpp \
    %D%/settings.hpp \
    %D%/settings_drop_in.cpp \
    %D%/settings_drop_in.hpp \
    %D%/settings_load.cpp \
    %D%/step.cpp \
    %D%/step.hpp \
    %D%/steps_around.hpp \
    %D%/transaction.cpp \
    %D%/transaction.hpp
