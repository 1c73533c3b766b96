# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base daemon/cluster/kube
daemon_cluster_libcluster_a_SOURCES += \
    %D%/check.cpp \
    %D%/check.hpp \
    %D%/fields.cpp \
    %D%/fields.hpp \
    %D%/gate.cpp \
    %D%/gate.hpp \
    %D%/ignored.cpp \
    %D%/merge.cpp \
    %D%/merge.hpp \
    %D%/policy.cpp \
    %D%/policy.hpp \
    %D%/source.cpp \
    %D%/source.hpp \
    %D%/texts.cpp \
    %D%/texts.hpp \
    %D%/toolkit_tag.cpp \
    %D%/toolkit_tag.hpp \
    %D%/unknown_fields.cpp \
    %D%/unknown_fields.hpp \
    %D%/windows.cpp \
    %D%/windows.hpp
