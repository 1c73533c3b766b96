# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base daemon/cluster/kube daemon/cluster/node daemon/cluster/policy daemon/http
daemon_cluster_libcluster_a_SOURCES += \
    %D%/admission.cpp \
    %D%/admission.hpp \
    %D%/election.cpp \
    %D%/election.hpp \
    %D%/fleet_document.cpp \
    %D%/fleet_document.hpp \
    %D%/fleet_watch.cpp \
    %D%/fleet_watch.hpp \
    %D%/gate_keeper.cpp \
    %D%/gate_keeper.hpp \
    %D%/grant.cpp \
    %D%/grant.hpp \
    %D%/leader.cpp \
    %D%/leader.hpp \
    %D%/term.cpp \
    %D%/term.hpp
